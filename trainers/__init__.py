"""Programs that train: thin binaries around the library."""
