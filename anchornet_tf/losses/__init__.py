"""The training losses: one equation of the paper a function."""
