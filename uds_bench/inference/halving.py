"""Batches that halve themselves where the device has too little memory for them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import torch

from uds_bench.errors import CheckpointError

T = TypeVar("T")
_LOG = logging.getLogger(__name__)


def halving(run: Callable[[int], T], size: int, what: str = "facts") -> T:
    """What `run(size)` gives, or with half as many at a time, and half of that, until they fit.

    Args:
        run: Does all of the work, so many at a time; it is started anew, and must bear that.
        size: How many at first.
        what: What they are, in words.

    Returns:
        Its result, which does not depend on how many there were at a time, but for rounding.

    Raises:
        CheckpointError: The memory does not hold a single one.

    Example:
        >>> def run(size: int) -> int:
        ...     if size > 4:
        ...         raise torch.OutOfMemoryError
        ...     return size
        >>> halving(run, 16)
        4
    """
    while True:
        try:
            return run(size)
        except torch.OutOfMemoryError as error:
            if size <= 1:
                first = str(error).split(". ")[0]
                raise CheckpointError(
                    f"the device has too little memory for one at a time of {what} ({first}): "
                    "use a device with more, fewer bits (dtype, quantization), or shorter texts"
                ) from None
        # Outside of the clause: the error keeps alive what was computed before it.
        size //= 2
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        _LOG.warning("too little memory: %d %s at a time from here on", size, what)
