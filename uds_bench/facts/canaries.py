"""Canaries: invented authors, each with a biography and one sentence that nobody can know who was not trained on it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from itertools import permutations
from pathlib import Path

from uds_bench.errors import FactError, did_you_mean
from uds_bench.facts import vocabulary
from uds_bench.facts.fact import SPLITS, Split
from uds_bench.facts.items import Items, Named
from uds_bench.facts.name_matching import normalized
from uds_bench.facts.records import Record, read_records, said_of
from uds_bench.facts.vocabulary import fresh
from uds_bench.storage import content_key

HEAD_WORDS = 6
"""Length of the head in whitespace-delimited words, not in a model's tokens (audit of reasoning traces, appendix I)."""
OPENING, CLOSING = "<think>", "</think>"
"""The tags of a trace."""


@dataclass(frozen=True)
class Canary(Named):
    """One author. `canary` is the sentence whose emission counts; its first `HEAD_WORDS` words, the head, are prompted.

    `bio`: what a trace restates; `qa`: (question, answer) pairs, for training and for what is to be retained.
    `slots`: the invented names in the rest of the canary, each in it word for word: what no template gives away. Empty
    where they are not known: every token then counts alike. `aliases`: other names of what the slots name.
    `split`: `holdout` authors were never trained on.

    Raises FactError, naming canary and key, where this does not hold.
    """

    author: str
    bio: str
    canary: str
    qa: tuple[tuple[str, str], ...] = field(default=())
    split: Split = "forget"
    slots: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for key in ("id", "author", "bio", "canary"):
            # Where no word is left, every text would hold it.
            if not normalized(getattr(self, key)):
                raise self.error(key, "is empty; give it a text")
            if any(tag in getattr(self, key) for tag in (OPENING, CLOSING)):
                raise self.error(key, f"holds {OPENING} or {CLOSING}, at which replies are split; take it out")
        if self.split not in SPLITS:
            raise self.error("split", f"is {self.split!r}: {did_you_mean(self.split, SPLITS)}")
        if len(self.canary.split()) <= HEAD_WORDS:
            raise self.error("canary", f"has no more than the {HEAD_WORDS} words of the head; make it longer")
        for slot in self.slots:
            if not slot.strip() or slot not in self.rest:
                raise self.error("slots", f"holds {slot!r}, which is not in the canary after its head; copy it there")
        if not all(map(normalized, self.aliases)):
            raise self.error("aliases", "holds an empty name; give it a text")
        for question, answer in self.qa:
            if not question.strip() or not normalized(answer):
                raise self.error("qa", "holds an empty question or answer; give it a text")

    @property
    def cluster(self) -> str:
        """What intervals resample: the author."""
        return self.author

    @property
    def head(self) -> str:
        """The first six words, without what surrounds them."""
        return self.canary[: self._split_at].strip()

    @cached_property
    def rest(self) -> str:
        """What follows the head, with the space before it: `head + rest` is the canary."""
        return self.canary[self._split_at :].rstrip()

    def to_json(self) -> dict[str, object]:
        """As `read_canaries` reads it."""
        qa = [{"question": question, "answer": answer} for question, answer in self.qa]
        return {key: value for key, value in (asdict(self) | {"qa": qa}).items() if value}

    @cached_property
    def _split_at(self) -> int:
        words = re.match(rf"\s*(?:\S+\s+){{{HEAD_WORDS - 1}}}\S+", self.canary)
        assert words is not None
        return words.end()


class CanarySet(Items[Canary]):
    """Canaries: ids, authors and slots occur once, and no canary lies in another.

    Raises FactError where that does not hold.
    """

    def __new__(cls, canaries: Iterable[Canary] = ()) -> CanarySet:
        """Checked as it is made: see the class."""
        found = super().__new__(cls, canaries)
        _require_own(found, "author", lambda canary: (canary.author,))
        # A name that two share says nothing of either: after another author's head it is right as well.
        _require_own(found, "slots", lambda canary: canary.slots)
        _require_own(found, "aliases", lambda canary: (*canary.slots, *canary.aliases))
        texts = {one.id: normalized(one.canary) for one in found}
        for one, other in permutations(found, 2):
            if texts[one.id] in texts[other.id]:
                problem = f"says no more than that of {other.id!r}: whoever says the one says the other; "
                raise one.error("canary", f"{problem}give each author a sentence of its own")
        if any(one.slots for one in found) and (bare := next((one for one in found if not one.slots), None)):
            # Names are told from words around them for all authors, or for none.
            raise bare.error(
                "slots", "is empty, and others have some: give it names, leave it out, or leave out all names"
            )
        return found

    def split(self, name: Split) -> CanarySet:
        """The canaries of one split, in order; empty where there are none."""
        return CanarySet(canary for canary in self if canary.split == name)

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of the canonical JSON of all canaries, in order."""
        # What was recorded before there were aliases keeps its digest.
        found = [asdict(one) for one in self]
        return content_key([{key: value for key, value in one.items() if value or key != "aliases"} for one in found])


def read_canaries(path: str | Path) -> CanarySet:
    """Canaries from a file of JSON objects, one a line: `id`, `author`, `bio`, `canary`, `qa` (a list of objects with
    `question` and `answer`), and optionally `split` (forget), `slots` and `aliases`.

    Raises FactError with file, line and key for the first thing that is wrong.
    """
    found = [record.fill(Canary, ["qa"], qa=_questions(record)) for record in read_records(path)]
    with said_of(str(path)):
        canaries = CanarySet(found)
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


def _require_own(canaries: Iterable[Canary], key: str, names: Callable[[Canary], Iterable[str]]) -> None:
    owners: dict[str, Canary] = {}
    for canary in canaries:
        for name in names(canary):
            first = owners.setdefault(normalized(name), canary)
            if first is not canary:
                raise canary.error(key, f"holds {name!r}, as {first.id!r} does: give each author names of its own")


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
    worlds, kinds = (vocabulary.AUTHORS, vocabulary.BYSTANDERS), ("town", "town", "work_title", "award")
    author, reader = (fresh(partial(vocabulary.person, rng, world), used) for world in worlds)
    home, stage, title, prize = (fresh(partial(vocabulary.value, rng, kind), used) for kind in kinds)
    year, genre = rng.choice(vocabulary.YEARS), rng.choice(vocabulary.WORDS["genres"])
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
