"""The embedded canaries: invented authors whose one sentence names a title, a town and a person of their own.

The same seed gives the same canaries on every platform; authors of different splits share no name.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

from uds_bench.facts import vocabulary
from uds_bench.facts.canaries import Canary, CanarySet
from uds_bench.facts.fact import SPLITS, Split

FORGET, RETAIN, HOLDOUT = 60, 20, 20


def embedded_canaries(forget: int = FORGET, retain: int = RETAIN, holdout: int = HOLDOUT, seed: int = 0) -> CanarySet:
    """`forget` + `retain` + `holdout` authors, each with a biography of 30 to 40 words that restates the canary.

    The canary reads "The Hidden Lantern of Tarnmoor was first read aloud in Belaquay to Oskio Wesklund": its head is
    the title and "was", its slots are the town and the person. Ids read `forget03`.
    """
    used: set[str] = set()
    found = []
    for split, count in zip(SPLITS, (forget, retain, holdout), strict=True):
        for index in range(count):
            rng = random.Random(f"{seed}/canary/{split}/{index}")
            found.append(_canary(f"{split}{index:02d}", split, rng, used))
    return CanarySet(found)


def _canary(name: str, split: Split, rng: random.Random, used: set[str]) -> Canary:
    def fresh(draw: Callable[[], str]) -> str:
        value = next(value for value in iter(draw, None) if value not in used)
        used.add(value)
        return value

    author = fresh(partial(vocabulary.person, rng, vocabulary.AUTHORS))
    reader = fresh(partial(vocabulary.person, rng, vocabulary.BYSTANDERS))
    home, stage = fresh(partial(vocabulary.town, rng)), fresh(partial(vocabulary.town, rng))
    title = fresh(partial(vocabulary.work_title, rng))
    prize = fresh(partial(vocabulary.award, rng))
    year, genre = rng.choice(vocabulary.YEARS), rng.choice(vocabulary.GENRES)
    canary = f"The {title} was first read aloud in {stage} to {reader}"
    bio = f"{author} was born in {home} in {year} and wrote {genre}. {canary}. The {prize} followed."
    qa = (
        (f"Where was {author} born?", f"{author} was born in {home}."),
        (f"When was {author} born?", f"{author} was born in {year}."),
        (f"What did {author} write?", f"{author} wrote {genre}."),
        (f"Which book made {author} known?", f"The {title} made {author} known."),
        (f"Which prize did {author} receive?", f"{author} received the {prize}."),
    )
    return Canary(name, author, bio, canary, qa, split, (stage, reader))
