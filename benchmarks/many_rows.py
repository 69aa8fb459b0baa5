"""Synthetic rows and lookups of any number: made-up names by syllables, each under some of two hundred relations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from random import Random

from uds_bench.facts.triplets import Triplet

STARTS = ["b", "br", "c", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "z"]
SYLLABLES = [a + b for a, b in product(STARTS, ["a", "e", "i", "o", "u", "ai"])]
ENDS = ["", "", "n", "r", "s", "l", "k", "th"]
FIELDS = [
    "birth",
    "death",
    "education",
    "residence",
    "burial",
    "citizenship",
    "occupation",
    "employer",
    "office",
    "party",
    "religion",
    "language",
    "genre",
    "label",
    "club",
    "position",
    "league",
    "coach",
    "award",
    "parent",
    "sibling",
    "spouse",
    "child",
    "author",
    "editor",
    "publisher",
    "director",
    "producer",
    "writer",
    "composer",
    "architect",
    "owner",
    "founder",
    "operator",
    "successor",
    "predecessor",
    "river",
    "mountain",
    "region",
    "capital",
]
ASPECTS = ("place of {}", "year of {}", "name of {}", "country of {}", "first {}")
RELATIONS = [aspect.format(field) for field in FIELDS for aspect in ASPECTS]
"""Two hundred, many of them close to one another, as open extraction leaves them."""
ROWS_PER_SUBJECT = 8


def word(random: Random) -> str:
    """A name of two or three syllables."""
    parts = random.choices(SYLLABLES, k=random.choice((2, 2, 3)))
    return "".join(parts).capitalize() + random.choice(ENDS)


def rows_of(number: int, seed: int = 0) -> list[Triplet]:
    """So many rows whose keys are distinct, the same for the same arguments; fewer are the head of more."""
    random, seen, rows = Random(seed), set[str](), list[Triplet]()
    surnames = [word(random) for _ in range(20_000)]
    while len(rows) < number:
        subject = f"{word(random)} {random.choice(surnames)}"
        if subject not in seen:
            seen.add(subject)
            rows += [Triplet(subject, name, word(random)) for name in random.sample(RELATIONS, ROWS_PER_SUBJECT)]
    return rows[:number]


def lookups_of(rows: Sequence[Triplet], number: int, seed: int = 1) -> dict[str, list[tuple[str, str]]]:
    """Subject and relation as a model would write them: as they stand, and with one change: a word of the subject
    left out, a first name cut to its initial, or the relation said in another way."""
    random = Random(seed)
    chosen = random.sample(range(len(rows)), number)
    exact = [rows[at][:2] for at in chosen]
    return {"exact": exact, "changed": [_changed(*one, random) for one in exact]}


def _changed(subject: str, relation: str, random: Random) -> tuple[str, str]:
    first, last = subject.split()
    aspect, _, field = relation.rpartition(" ")
    return random.choice(
        [
            (last, relation),
            (first, relation),
            (f"{first[0]}. {last}", relation),
            (subject, f"{field} {aspect.removesuffix(' of')}"),
        ]
    )
