"""How all that was said tells an object, beside the others that it names."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Sequence
from functools import lru_cache

from uds_bench.audits.lmlm.asking.answers import overlap
from uds_bench.facts.letters import REMEMBERED, reading, spelling
from uds_bench.facts.name_matching import bare, forms, spans, tells, tokens
from uds_bench.facts.shown import heard, readings

TOLD = ("contains", "recall", "first", "last")
"""How a reply tells an object: it holds it, a share of its tokens, or of all objects that it names this is the first or
the last: `Rome rather than Oslo or Faro` holds three, and tells which it is."""
Names = tuple[str, ...]
"""What an object goes by, one name or more."""
Signs = frozenset[tuple[Hashable, ...]]
"""What a reply shows of an object that it names, each a name and what is shown; none where it does not name it."""
UNNAMED: Signs = frozenset()

WORD = re.compile(r"\w+")
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


@lru_cache(REMEMBERED)
def mentions(text: str, objects: tuple[Names, ...]) -> tuple[tuple[int, int, int], ...]:
    """Where a text names several objects.

    Args:
        text: All that was said.
        objects: Of each its names, [objects].

    Returns:
        Of each mention where it begins and ends, in characters as `plain` has them, and the object's number, from 0. In
        order; of those that begin at one place the longest is first.

    Example:
        >>> mentions("New York City, or Rome", (("New York",), ("New York City",), ("Rome",)))
        ((0, 13, 1), (0, 8, 0), (18, 22, 2))
    """
    return _mentions(text, objects)[1]


@lru_cache(REMEMBERED)
def _mentions(text: str, objects: tuple[Names, ...]) -> tuple[str, tuple[tuple[int, int, int], ...]]:
    """The same, and the reading of the text that they stand in: the first in which most of the objects do. What stands
    in another one alone, and `3.5m` for 3.5, is at the beginning."""
    # A name of few letters is not heard in pieces of other words.
    told = [number for number, names in enumerate(objects) if near(text, names) and tells(text, names)]
    placed = [
        (one, {number: [span for name in objects[number] for span in spans(one, name)] for number in told})
        for one in readings(text)
    ]
    read, places = max(placed, key=lambda one: sum(map(bool, one[1].values())))
    found = {(*span, number) for number, spans_ in places.items() for span in spans_ or [(0, 0)]}
    return read, tuple(sorted(found, key=lambda one: (one[0], -one[1], one[2])))


def first_and_last(text: str, objects: tuple[Names, ...]) -> tuple[Names | None, Names | None]:
    """What begins first and what ends last of the objects that a text names; of names at one place the longest:
    `New York City` names no New York there.

    Args:
        text: All that was said.
        objects: Of each its names, [objects].

    Returns:
        Two of them; None where it names none.

    Example:
        >>> first_and_last("Of Rome and Faro it is Rome", (("Faro",), ("Oslo",), ("Rome",)))
        (('Rome',), ('Rome',))
    """
    found = mentions(text, objects)
    if not found:
        return None, None
    last = max(found, key=lambda one: (one[1], -one[0]))
    return objects[found[0][2]], objects[last[2]]


@lru_cache(REMEMBERED)
def signs(text: str, names: Names, objects: tuple[Names, ...]) -> Signs:
    """How a text names an object among several: where, how often, in which case, and what stands around it.

    Args:
        text: All that was said.
        names: The object's names.
        objects: Of each its names, [objects]; the object is one of them.

    Returns:
        Signs: its place among the objects named, from the first and from the last; how often it is named; of each
        mention the objects, words and marks around it, how many words stand before it, and how it is spelled: in which
        case and kinds of letters, by which of its names.

    Example:
        >>> found = signs("Faro, Oslo, or surely ROME", ("Rome",), (("Faro",), ("Oslo",), ("Rome",)))
        >>> [one for one in sorted(found, key=str) if one[0] in ("at", "case", "behind")]
        [('at', 2), ('behind', 'surely'), ('case', True, False, False)]
    """
    own, (text, found) = objects.index(names), _mentions(text, objects)
    read = reading(text)
    if all(number != own for *_, number in found):
        return UNNAMED
    begins = list(dict.fromkeys(number for *_, number in found))
    by_end = sorted(found, key=lambda one: (one[1], -one[0]))
    ends = list(dict.fromkeys(number for *_, number in reversed(by_end)))
    times = len({start for start, _, number in found if number == own})
    shown: set[tuple[Hashable, ...]] = {
        ("at", begins.index(own)),
        ("before the last", ends.index(own)),
        ("times", times),
    }
    by_bare = {bare(name): at for at, name in reversed([*enumerate(names)])}
    starts, stops = [start for start, *_ in found], [stop for _, stop, _ in by_end]
    begin_words = [word.start() for word in WORD.finditer(read.text)]
    for start, end, number in found:
        if number == own:
            ended, begun = bisect_right(stops, start), bisect_left(starts, end)
            before, earlier = by_end[ended - 1][1:] if ended else (0, None)
            after, later = found[begun][::2] if begun < len(found) else (len(read.text), None)
            gaps = read.text[before:start], read.text[end:after]
            words = [WORD.findall(gap) for gap in gaps]
            behind, ahead = (next(iter(said[at:]), "") for said, at in zip(words, (-1, 0), strict=True))
            shown |= {("behind", behind), ("ahead", ahead), ("between", behind, ahead), ("marks", *map(_marks, gaps))}
            shown |= {(side, word) for side, said in zip(("before", "after"), words, strict=True) for word in said}
            shown |= {
                ("behind object", earlier),
                ("ahead object", later),
                ("words before", bisect_left(begin_words, start)),
                ("by name", by_bare.get(bare(read.text[start:end]), -1)),
            }
            first, last = read.places[start], read.places[end - 1] + 1
            name = text[first:last] if start < end else ""
            shown |= {("case", name.isupper(), name.islower(), name.istitle()), ("spelled", *spelling(name))}
            shown |= {("raw behind", text[:first][-1:]), ("raw ahead", text[last : last + 1])}
    return frozenset(shown)


def _marks(gap: str) -> str:
    """What parts words: signs and white space."""
    return " ".join(WORD.split(gap))


def near(text: str, names: tuple[str, ...]) -> bool:
    """Whether a text may tell an object, seen at a glance: it shares a token with a name, or all of its letters."""
    said, letters = _glance(text)
    for wanted, spelled in _names(names):  # asked millions of times, where generators cost most
        if not wanted or not said.isdisjoint(wanted):
            return True
        for name in spelled:
            if name in letters:
                return True
    return False


@lru_cache(REMEMBERED)
def _glance(text: str) -> tuple[frozenset[str], str]:
    texts = heard(text)
    letters = " ".join(bare(one, folds_all=True) for one in texts)
    return frozenset(token for one in texts for token in tokens(one)), letters


@lru_cache(REMEMBERED)
def _names(names: tuple[str, ...]) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    return tuple(
        (frozenset(tokens(name)), frozenset(bare(one, folds_all=True) for one in forms(name))) for name in names
    )
