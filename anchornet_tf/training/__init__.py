"""Training from image labels: stage 1, stage 2 and what they share."""
