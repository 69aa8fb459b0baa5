"""Invented names, towns, titles and trades, composed of the words of `authors.toml`."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from uds_bench.facts.records import embedded_toml

SOURCE = embedded_toml("authors.toml")
WORDS: dict[str, list[str]] = {name: words.split(", ") for name, words in SOURCE["words"].items()}
YEARS = tuple(str(year) for year in range(1921, 1996))
AUTHORS, BASE, BYSTANDERS = range(3)
"""Worlds of names. The letters of a name decide its world, so two worlds never share a name, for any seed."""
_PART = re.compile(r"\{(\w+)\}")


def world_of(name: str) -> int:
    """The one world that a name can belong to: the sum of its code points modulo 3.

    Args:
        name: Of a person.

    Returns:
        0, 1 or 2.

    Example:
        >>> world_of("Ab")  # 65 + 98
        1
    """
    return sum(map(ord, name)) % 3


def composed(rng: random.Random, pattern: str) -> str:
    """A pattern with each {part} drawn, left to right: a word of a list, or what is composed itself."""

    def drawn(found: re.Match[str]) -> str:
        name = found[1]
        return rng.choice(WORDS[name]) if name in WORDS else value(rng, name)

    return _PART.sub(drawn, pattern)


def value(rng: random.Random, kind: str) -> str:
    """A value of a kind: a town, a profession of three words, the title of a book, an award, a place, a theme."""
    return composed(rng, SOURCE["values"][kind])


def person(rng: random.Random, world: int) -> str:
    """First and last name of an invented person of one world."""
    while world_of(name := value(rng, "person")) != world:
        pass
    return name


def fresh(draw: Callable[[], str], used: set[str]) -> str:
    """A drawn value that is not in `used` yet; adds it."""
    found = next(found for found in iter(draw, None) if found not in used)
    used.add(found)
    return found
