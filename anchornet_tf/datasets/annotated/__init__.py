"""Sets of image pairs with known correspondences, read from the folders that their makers publish."""
