"""Where models run, what of the machine is theirs, and how many facts go through one at a time."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from uds_bench.errors import ConfigurationError

VISIBLE = "CUDA_VISIBLE_DEVICES"
BATCH_SIZE = "UDS_BENCH_BATCH_SIZE"
"""Environment variable of who chooses it, as the processes that score have the environment of the one above them."""
CGROUPS = Path("/sys/fs/cgroup")
"""Where Linux tells a container's limits."""
_DEVICE = re.compile(r"cpu|cuda(:[0-9]+)?")


def cores() -> int:
    """Processor cores that this process may use.

    Returns:
        1 or more: those that `taskset`, a scheduler or a container leave it, where the system says so, or else all of
        the machine.

    Example:
        >>> 1 <= cores() <= os.cpu_count()
        True
    """
    usable = getattr(os, "sched_getaffinity", None)
    found = len(usable(0)) if usable is not None else os.cpu_count() or 1
    match _limit("cpu.max") or _limit("cpu/cpu.cfs_quota_us") + _limit("cpu/cpu.cfs_period_us"):
        case [quota, period] if quota.isdigit():  # microseconds of computing in each so many; else `max` or -1
            return max(1, min(found, math.ceil(int(quota) / int(period))))
    return found


def memory() -> int:
    """Main memory that processes may use.

    Returns:
        Bytes: those of the machine, or as many as its container has.

    Example:
        >>> memory() > 1 << 28
        True
    """
    limits = _limit("memory.max") + _limit("memory/memory.limit_in_bytes")
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([machine, *map(int, filter(str.isdigit, limits))])


def _limit(name: str) -> list[str]:
    """The words of a limit, of version 2 or 1 of cgroups; none where there is no such limit."""
    try:
        return (CGROUPS / name).read_text().split()
    except OSError:
        return []


def is_device(word: object) -> bool:
    """Whether a word names where models run: a document may hold any.

    Example:
        >>> is_device("cuda:1"), is_device("auto"), is_device("-pno:uds")
        (True, False, False)
    """
    return isinstance(word, str) and _DEVICE.fullmatch(word) is not None


def resolve_device(value: str, option: str = "--uds-device", here: bool = True) -> str:
    """`cpu` or `cuda`; of `cuda:1` this process, and those that it starts, see that GPU alone from here on.

    `here`: models run on this machine. Raises ConfigurationError for another word, and for CUDA where there is none.
    """
    word, _, number = value.partition(":")
    if value != "auto" and not is_device(value):
        raise ConfigurationError(f"{option}: {value!r} is not a device: choose auto, cpu or cuda, or one GPU as cuda:1")
    if value == "cpu" or (value == "cuda" and not here):
        return value
    if number:
        seen = os.environ[VISIBLE].split(",") if VISIBLE in os.environ else None
        # A number that CUDA does not know hides all.
        os.environ[VISIBLE] = number if seen is None else seen[int(number)] if int(number) < len(seen) else "-1"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if word == "cuda":
        raise ConfigurationError(
            f"{option} {value}: this machine has no usable CUDA device (torch.cuda.is_available() is False): "
            "choose cpu, or install a CUDA build of torch"
        )
    return "cpu"


def at_a_time(size: int) -> int:
    """How many facts, prompts or answers go through a model at first.

    Args:
        size: How many where nobody asked for a number.

    Returns:
        As many as `UDS_BENCH_BATCH_SIZE` says, or `size`; 1 or more.

    Raises:
        ConfigurationError: What it says is no batch size.

    Example:
        >>> with batches("4", "--uds-batch-size"):
        ...     at_a_time(16)
        4
    """
    return _number(os.environ.get(BATCH_SIZE, ""), BATCH_SIZE) or size


@contextmanager
def batches(asked: str, option: str) -> Iterator[None]:
    """Meanwhile so many go through models; "" leaves it as it is. Raises ConfigurationError for what is no number."""
    before = os.environ.get(BATCH_SIZE)
    _number(before or "", BATCH_SIZE)
    if _number(asked, option):
        os.environ[BATCH_SIZE] = asked
    try:
        yield
    finally:
        os.environ.pop(BATCH_SIZE, None)
        if before is not None:
            os.environ[BATCH_SIZE] = before


def _number(text: str, named: str) -> int:
    if text and not (text.isascii() and text.isdigit() and int(text)):
        raise ConfigurationError(f"{named}: {text!r} is no batch size: give a number, 1 or more")
    return int(text or 0)
