"""Stage 1: one bank of anchor filters per class."""
