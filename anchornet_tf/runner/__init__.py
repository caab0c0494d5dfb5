"""Runs benchmarks: every descriptor with every matcher, scored against ground truth."""
