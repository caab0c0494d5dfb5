"""Keras layers: one public layer per file."""
