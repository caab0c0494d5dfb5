"""Measures of correspondence: what a flow or a set of box matches is worth against ground truth."""
