"""Fits the probability that a match is right to pairs whose correspondences are known."""
