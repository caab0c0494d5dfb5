"""Descriptors: each turns images into feature maps. See `registry.get_descriptor`."""
