"""Whole models, and the files and folders that they are saved to."""
