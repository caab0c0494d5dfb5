"""Whole models and what they are saved as."""
