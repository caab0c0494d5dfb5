"""Keras layers: one public layer a file."""
