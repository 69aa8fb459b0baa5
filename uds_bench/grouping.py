"""Rows by what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

K = TypeVar("K")
T = TypeVar("T")


def grouped(rows: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """The rows of each kind, in the order in which kinds come.

    Example:
        >>> grouped([3, 1, 2], lambda number: number % 2)
        {1: [3, 1], 0: [2]}
    """
    found: dict[K, list[T]] = {}
    for one in rows:
        found.setdefault(key(one), []).append(one)
    return found
