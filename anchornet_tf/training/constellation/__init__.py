"""Part-like channels of a trunk, found from images with class labels (Simon and Rodner, 2015)."""
