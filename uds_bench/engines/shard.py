"""A share of what is to be scored, for machines that know nothing of each other: groups by content, one in so many."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uds_bench.errors import ConfigurationError, UdsError
from uds_bench.storage import content_key

if TYPE_CHECKING:
    from uds_bench.scoring.runner import ScoreRequest, ScoreRunner

_FORM = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")


@dataclass(frozen=True)
class Shard:
    """The share `at` of `of`, counted from 1. A checkpoint under an attack is in one share, whatever it is called."""

    at: int
    of: int

    def __str__(self) -> str:
        return f"{self.at}/{self.of}"

    def has(self, key: str) -> bool:
        """Whether a group of that key is in this share."""
        return int(key, 16) % self.of == self.at - 1

    def share(self, runner: ScoreRunner, requests: Iterable[ScoreRequest]) -> list[ScoreRequest]:
        """Those of the requests that are in this share. What cannot be read is in one share too, by its name."""
        return [request for request in requests if self.has(_key(runner, request))]


def _key(runner: ScoreRunner, request: ScoreRequest) -> str:
    try:
        return runner.group_key(request)
    except UdsError:
        return content_key(request.place)


def read_shard(text: str, option: str = "--shard") -> Shard | None:
    """A share as it is written, such as `2/8`; None where nothing is.

    Raises ConfigurationError for anything else.

    Example:
        >>> read_shard("2/8"), read_shard("")
        (Shard(at=2, of=8), None)
    """
    if not text:
        return None
    found = _FORM.fullmatch(text)
    at, of = map(int, found.groups()) if found else (0, 0)
    if not 1 <= at <= of:
        raise ConfigurationError(f"{option}: {text!r} is no share: write it as 2/8, from 1/8 to 8/8")
    return Shard(at, of)
