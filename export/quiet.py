"""Keeps libraries from reporting every step of what they do."""

import contextlib
import logging
from collections.abc import Iterator


@contextlib.contextmanager
def libraries(*names: str) -> Iterator[None]:
    """Shows only errors of some loggers while the block runs.

    Args:
        *names: Names of loggers, which are mostly those of the libraries.
    """
    loggers = [logging.getLogger(name) for name in names]
    before = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
