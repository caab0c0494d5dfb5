"""How good correspondences are: plain functions on arrays, usable alone."""
