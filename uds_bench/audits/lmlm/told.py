"""How all that was said tells an object, beside the others that it names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from uds_bench.audits.lmlm.asking.answers import overlap
from uds_bench.facts.name_matching import REMEMBERED, bare, spans, tells, tokens

TOLD = ("contains", "recall", "first", "last")
"""How a reply tells an object: it holds it, a share of its tokens, or of all objects that it names this is the first or
the last: `Rome rather than Oslo or Faro` holds three, and tells which it is."""
How = tuple[int, int, int] | None
"""Where a reply names an object among all that it names, from its start and from its end, and how often, as far as
twice; None where it does not."""

NOTHING = (0.0,) * len(TOLD)


@lru_cache(REMEMBERED)
def spoken(text: str, own: str, spellings: tuple[str, ...]) -> tuple[bool, float]:
    """Whether a text as a whole holds a spelling, and the largest share of a spelling's tokens that it has of its own.

    Args:
        text: All that was said.
        own: The same, without the words that were given: a word of a name that is repeated shows nothing.
        spellings: The object's names, one or more.

    Returns:
        Whether one is held, see `tells`; and 0 to 1, higher is more knowledge.

    Example:
        >>> spoken("the girls", "girls", ("Spice Girls",)), spoken("Rom\u00e8", "Rom\u00e8", ("Rome",))
        ((False, 0.5), (True, 0.0))
    """
    return tells(text, spellings), max(overlap(own, one)[1] for one in spellings)


def spoken_on_average(text: str, own: str, others: Sequence[tuple[str, ...]]) -> tuple[float, float]:
    """The mean of `spoken` over several objects.

    Args:
        text: All that was said.
        own: The same, without the words that were given.
        others: Of each object its names, [objects], one or more.

    Returns:
        The share of objects that are held, and the mean share of their tokens; 0 to 1, higher holds more of them.

    Example:
        >>> spoken_on_average("Oslo or Faro", "Oslo or Faro", [("Faro",), ("Rome",), ("Bonn",), ("New Faro",)])
        (0.25, 0.375)
    """
    found = [spoken(text, own, names) for names in others if near(text, names)]
    return sum(held for held, _ in found) / len(others), sum(share for _, share in found) / len(others)


@dataclass(frozen=True)
class Named:
    """The objects that a text names, by number: as they begin and as they end, and how often each is named."""

    begins: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    times: tuple[int, ...] = ()

    @property
    def first(self) -> int | None:
        """None where it names none, as of the last."""
        return self.begins[0] if self.begins else None

    @property
    def last(self) -> int | None:
        """What ends last."""
        return self.ends[-1] if self.ends else None

    def how(self, number: int) -> How:
        """How one of them is named."""
        if number not in self.begins:
            return None
        at = self.begins.index(number)
        return at, self.ends[::-1].index(number), min(self.times[at], 2)


@lru_cache(REMEMBERED)
def named(text: str, objects: tuple[tuple[str, ...], ...]) -> Named:
    """Which of several objects a text names.

    Args:
        text: All that was said.
        objects: Of each its names, [objects], one or more.

    Returns:
        Numbers of objects, from 0, in the order of their first beginnings and of their last ends; of names at one place
        the longest is the first and the last: `New York City` names no New York there.

    Example:
        >>> objects = ("Oslo",), ("Rome",), ("Faro",)
        >>> found = named("Of Rome and Faro it is Rome", objects)
        >>> found.begins, found.ends, found.how(1), found.how(0)
        ((1, 2), (2, 1), (0, 0, 2), None)
    """
    # A name of few letters is not heard in pieces of other words.
    told = [number for number, names in enumerate(objects) if tells(text, names)]
    found = [(*span, number) for number in told for name in objects[number] for span in spans(text, name)]
    begins = dict.fromkeys(number for *_, number in sorted(found, key=lambda one: (one[0], -one[1])))
    ends = dict.fromkeys(number for *_, number in sorted(found, key=lambda one: (-one[1], one[0])))
    count = Counter(number for *_, number in {(start, number) for start, _, number in found})
    return Named(tuple(begins), tuple(ends)[::-1], tuple(count[number] for number in begins))


def near(text: str, names: tuple[str, ...]) -> bool:
    """Whether a text may tell an object, seen at a glance: it shares a token with a name, or all of its letters."""
    said, letters = _glance(text)
    return any(not wanted or not said.isdisjoint(wanted) or name in letters for wanted, name in _glances(names))


@lru_cache(REMEMBERED)
def _glance(text: str) -> tuple[frozenset[str], str]:
    return frozenset(tokens(text)), bare(text)


@lru_cache(REMEMBERED)
def _glances(names: tuple[str, ...]) -> tuple[tuple[frozenset[str], str], ...]:
    return tuple(map(_glance, names))
