"""What everything stands on: files, reading of images, lookup by name."""
