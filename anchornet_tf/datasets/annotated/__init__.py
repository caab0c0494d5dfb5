"""Published sets of image pairs with known correspondences, read from their makers' folders."""
