"""Canaries: invented authors, each with a biography and one sentence that nobody can know who was not trained on it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, overload

from uds_bench.errors import FactError
from uds_bench.facts import vocabulary
from uds_bench.facts.aliases import normalized
from uds_bench.facts.fact import SPLITS, Split
from uds_bench.facts.records import Record, read_records
from uds_bench.storage import content_key

HEAD_WORDS = 6
"""Length of the head in whitespace-delimited words, not in a model's tokens (audit of reasoning traces, appendix I)."""
OPENING, CLOSING = "<think>", "</think>"
"""The tags of a trace."""
REQUIRED = ("id", "author", "bio", "canary")
OPTIONAL = ("qa", "split", "slots", "aliases")


@dataclass(frozen=True)
class Canary:
    """One author. `canary` is the sentence whose emission counts; its first `HEAD_WORDS` words, the head, are prompted.

    `bio`: what a trace restates; `qa`: (question, answer) pairs, for training and for what is to be retained.
    `slots`: the invented names in the rest of the canary, each in it word for word: what no template gives away. Empty
    where they are not known: every token then counts alike. `aliases`: other names of what the slots name.
    `split`: `holdout` authors were never trained on.

    Raises FactError, naming canary and key, where this does not hold.
    """

    id: str
    author: str
    bio: str
    canary: str
    qa: tuple[tuple[str, str], ...] = field(default=())
    split: Split = "forget"
    slots: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for key in REQUIRED:
            # Where no word is left, every text would hold it.
            if not normalized(getattr(self, key)):
                raise self._error(key, "is empty; give it a text")
            if any(tag in getattr(self, key) for tag in (OPENING, CLOSING)):
                raise self._error(key, f"holds {OPENING} or {CLOSING}, at which replies are split; take it out")
        if self.split not in SPLITS:
            raise self._error("split", f"is {self.split!r}; use one of {', '.join(SPLITS)}")
        if len(self.canary.split()) <= HEAD_WORDS:
            raise self._error("canary", f"has no more than the {HEAD_WORDS} words of the head; make it longer")
        for slot in self.slots:
            if not slot.strip() or slot not in self.rest:
                raise self._error("slots", f"holds {slot!r}, which is not in the canary after its head; copy it there")
        if not all(map(normalized, self.aliases)):
            raise self._error("aliases", "holds an empty name; give it a text")
        for question, answer in self.qa:
            if not question.strip() or not normalized(answer):
                raise self._error("qa", "holds an empty question or answer; give it a text")

    @property
    def cluster(self) -> str:
        """What intervals resample: the author."""
        return self.author

    @property
    def kind(self) -> None:
        """Canaries are of one kind."""

    @property
    def head(self) -> str:
        """The first six words, without what surrounds them."""
        return self.canary[: self._split_at].strip()

    @property
    def rest(self) -> str:
        """What follows the head, with the space before it: `head + rest` is the canary."""
        return self.canary[self._split_at :].rstrip()

    @property
    def _split_at(self) -> int:
        words = re.match(rf"\s*(?:\S+\s+){{{HEAD_WORDS - 1}}}\S+", self.canary)
        assert words is not None
        return words.end()

    def _error(self, key: str, problem: str) -> FactError:
        return FactError(f"canary {self.id!r}: key {key!r} {problem}")


class CanarySet(Sequence[Canary]):
    """An immutable sequence of canaries: ids and authors occur once, and no canary lies in another.

    Raises FactError where that does not hold.
    """

    def __init__(self, canaries: Iterable[Canary]) -> None:
        self._canaries = tuple(canaries)
        for key in ("id", "author"):
            _require_unique(self._canaries, key)
        _require_own_slots(self._canaries)
        texts = {one.id: normalized(one.canary) for one in self._canaries}
        for one in self._canaries:
            for other in self._canaries:
                if one is not other and texts[one.id] in texts[other.id]:
                    raise FactError(
                        f"canary {one.id!r}: key 'canary' says no more than that of {other.id!r}: "
                        "whoever says the one says the other; give each author a sentence of its own"
                    )

    @overload
    def __getitem__(self, index: int) -> Canary: ...
    @overload
    def __getitem__(self, index: slice) -> CanarySet: ...
    def __getitem__(self, index: int | slice) -> Canary | CanarySet:
        return CanarySet(self._canaries[index]) if isinstance(index, slice) else self._canaries[index]

    def __len__(self) -> int:
        return len(self._canaries)

    def __iter__(self) -> Iterator[Canary]:
        return iter(self._canaries)

    def split(self, name: Split) -> CanarySet:
        """The canaries of one split, in order; empty where there are none."""
        return CanarySet(canary for canary in self._canaries if canary.split == name)

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of the canonical JSON of all canaries, in order."""
        # What was recorded before there were aliases keeps its digest.
        return content_key(
            [{key: value for key, value in vars(one).items() if value or key != "aliases"} for one in self]
        )


def read_canaries(path: str | Path) -> CanarySet:
    """Canaries from a file of JSON objects, one a line: `id`, `author`, `bio`, `canary`, `qa` (a list of objects with
    `question` and `answer`), and optionally `split` (forget), `slots` and `aliases`.

    Raises FactError with file, line and key for the first thing that is wrong.
    """
    found = []
    for record in read_records(path):
        record.known((*REQUIRED, *OPTIONAL))
        fields: dict[str, Any] = {key: record.text(key) for key in REQUIRED}
        fields |= {"split": record.text_or("split", "forget"), "qa": _questions(record)}
        fields |= {key: record.texts(key) for key in ("slots", "aliases") if record.has(key)}
        try:
            found.append(Canary(**fields))
        except FactError as error:
            raise record.error(str(error)) from None
    try:
        canaries = CanarySet(found)
    except FactError as error:
        raise FactError(f"{path}: {error}") from None
    if not canaries.split("forget"):
        raise FactError(f"{path}: no canary with split 'forget'; an audit needs at least one")
    return canaries


def _questions(record: Record) -> tuple[tuple[str, str], ...]:
    rows = record.values.get("qa", [])
    wanted = {"question", "answer"}
    if not isinstance(rows, list) or not all(isinstance(row, dict) and row.keys() == wanted for row in rows):
        raise record.error("key 'qa' must be a list of objects with question and answer")
    if not all(isinstance(text, str) for row in rows for text in row.values()):
        raise record.error("key 'qa' holds a question or answer that is no string")
    return tuple((row["question"], row["answer"]) for row in rows)


def _require_own_slots(canaries: Iterable[Canary]) -> None:
    """A name that two canaries share says nothing of either: after another author's head it is right as well."""
    owners: dict[str, Canary] = {}
    for canary in canaries:
        for slot in canary.slots:
            first = owners.setdefault(normalized(slot), canary)
            if first is not canary:
                raise FactError(
                    f"canary {canary.id!r}: key 'slots' holds {slot!r}, which is a slot of {first.id!r} too: "
                    "give each author names of its own"
                )


def _require_unique(canaries: Iterable[Canary], key: str) -> None:
    seen: dict[str, str] = {}
    for canary in canaries:
        value = normalized(getattr(canary, key)) if key == "author" else getattr(canary, key)
        if value in seen:
            raise FactError(f"canary {canary.id!r}: key {key!r} occurs twice, first in {seen[value]!r}; keep one")
        seen[value] = canary.id


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
