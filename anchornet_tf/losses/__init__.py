"""The training losses: one function per equation of the paper."""
