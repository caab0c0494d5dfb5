"""Image sets with image-level labels, and training batches drawn from them."""
