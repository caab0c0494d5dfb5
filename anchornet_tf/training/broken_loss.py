"""The end of a training that went wrong."""


class BrokenLoss(RuntimeError):
    """A loss became NaN or infinite; the last checkpoint is from before."""
