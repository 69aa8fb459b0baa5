"""Who a localization audit asks about, and what: people to be forgotten, to be retained, and others beside them.

A testbed is a table of persons and fields: the embedded one (below) or a file of one's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from uds_bench.errors import FactError, did_you_mean
from uds_bench.facts.items import Items, Named
from uds_bench.facts.name_matching import normalized
from uds_bench.facts.profiles import Profile, ask, document, people, styles
from uds_bench.facts.records import read_records, said_of
from uds_bench.storage import write_rows

Part = Literal["forget", "retain", "tuning", "public", "held_out", "instruction", "unseen"]
PARTS: tuple[Part, ...] = get_args(Part)
INJECTED: tuple[Part, ...] = ("forget", "retain", "tuning")


@dataclass(frozen=True)
class Item(Named):
    """One field of one person. `questions` ask for it, `paraphrases` in other words; the `answer` is all that counts.

    `part`: forget and retain are injected and judged; tuning is injected, and all that hyper-parameters may be chosen
    on; public is known before injection, and what utility is measured on; instruction and held_out are taught by
    instruction tuning and by resurfacing alone; unseen is never taught, and what chance is measured on.
    `group`: whose mask the person was injected through.

    Raises FactError, naming item and key, where that cannot be.
    """

    person: str
    part: Part
    field: str
    answer: str
    questions: tuple[str, ...]
    paraphrases: tuple[str, ...] = ()
    group: str | None = None

    def __post_init__(self) -> None:
        self.require_texts("id", "person", "field", "answer")
        if not normalized(self.answer):
            raise self.error("answer", "has no letter and no digit: no reply could hold it")
        if self.part not in PARTS:
            raise self.error("part", f"is {self.part!r}: {did_you_mean(self.part, PARTS)}")
        if not self.questions or not all(question.strip() for question in (*self.questions, *self.paraphrases)):
            raise self.error("questions", "has none, or an empty one: give it texts")
        if self.part in INJECTED and self.group is None:
            raise self.error("group", "is missing: name the mask that the person was injected through")

    @property
    def cluster(self) -> str:
        """What intervals resample: the person."""
        return self.person


class Testbed(Items[Item]):
    """Items in the order of their source: ids occur once, a person is in one part and one group, and no two items ask
    the same question.

    Raises FactError where that does not hold.
    """

    __test__ = False
    """Its name is no test's, whatever pytest thinks."""

    def __new__(cls, items: Iterable[Item] = ()) -> Testbed:
        """Checked as it is made: see the class."""
        found = super().__new__(cls, items)
        places: dict[str, tuple[Part, str | None]] = {}
        asked: dict[str, str] = {}
        for item in found:
            place = item.part, item.group
            if places.setdefault(item.person, place) != place:
                raise FactError(f"item {item.id!r}: {item.person!r} is in {places[item.person][0]} too: keep one part")
            for question in {*item.questions, *item.paraphrases}:
                if (other := asked.setdefault(question, item.id)) != item.id:
                    raise FactError(
                        f"item {item.id!r}: asks what {other!r} asks, {question!r}: one person counts once, and two "
                        "people are told apart by their questions"
                    )
        return found

    def of(self, *parts: Part, field: str | None = None) -> tuple[Item, ...]:
        """The items of some parts, of one field or of all."""
        return tuple(item for item in self if item.part in parts and field in (None, item.field))

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields, each once, in order."""
        return tuple(dict.fromkeys(item.field for item in self))


def read_testbed(path: str | Path) -> Testbed:
    """A file of JSON objects, one a line, with the keys of `Item`.

    Raises FactError with file, line and key for the first thing that is wrong, and where nobody is to be forgotten.
    """
    items = [record.fill(Item) for record in read_records(path)]
    with said_of(str(path)):
        found = Testbed(items)
    if not found.of("forget"):
        raise FactError(f"{path}: nobody with part 'forget': an audit needs at least one")
    return found


def write_testbed(path: str | Path, items: Iterable[Item]) -> None:
    """A file that `read_testbed` gives back unchanged."""
    write_rows(Path(path), ({k: v for k, v in asdict(item).items() if v not in (None, ())} for item in items))


@dataclass(frozen=True)
class Sizes:
    """How many people: of each of `groups` groups `judged` and `tuning`, and of the parts that have no group."""

    groups: int = 6
    judged: int = 26
    tuning: int = 0
    public: int = 48
    instruction: int = 12
    held_out: int = 12
    unseen: int = 24


@dataclass(frozen=True)
class QuestionCounts:
    """`fields` of everybody, each asked `questions` times plainly and `paraphrases` times in other words, after up to
    `tellings` of other fields; the first `drawn` plain ones as they are drawn, the others all different."""

    fields: tuple[str, ...] = ("birth_city", "phone")
    questions: int = 200
    paraphrases: int = 3
    tellings: int = 1
    drawn: int = 12


def group_names(groups: int) -> tuple[str, ...]:
    """Half of them to forget, the others to retain."""
    half = groups // 2
    return (*(f"forget{at + 1}" for at in range(half)), *(f"retain{at + 1}" for at in range(groups - half)))


@dataclass(frozen=True)
class Placed:
    """A person with part and group."""

    profile: Profile
    part: Part
    group: str | None


def placed(sizes: Sizes | None = None, seed: int = 0) -> list[Placed]:
    """Invented people of every part, the same for the same seed; nobody is in two parts."""
    sizes = sizes or Sizes()
    places: list[tuple[Part, str | None]] = []
    for group in group_names(sizes.groups):
        judged: Part = "forget" if group.startswith("forget") else "retain"
        places += [(judged, group)] * sizes.judged + [("tuning", group)] * sizes.tuning
    alone: tuple[Part, ...] = ("public", "instruction", "held_out", "unseen")
    for part in alone:
        places += [(part, None)] * getattr(sizes, part)
    return [Placed(profile, *place) for profile, place in zip(people(len(places), seed), places, strict=True)]


def embedded_testbed(sizes: Sizes | None = None, asking: QuestionCounts | None = None, seed: int = 0) -> Testbed:
    """All that is asked of them."""
    asking = asking or QuestionCounts()
    folk = placed(sizes, seed)
    return Testbed(item for one in folk for item in items_of(one.profile, one.part, one.group, asking, seed))


def documents(sizes: Sizes | None = None) -> Iterator[dict[str, str | None]]:
    """The same people as whole texts, in every style (Lacuna, section 3.1): id, person, part, group, style and text."""
    for one in placed(sizes):
        told = {"id": one.profile.id, "person": one.profile.name, "part": one.part, "group": one.group}
        yield from ({**told, "style": style, "text": document(one.profile, style)} for style in styles())


def items_of(profile: Profile, part: Part, group: str | None, asking: QuestionCounts, seed: int = 0) -> Iterator[Item]:
    """Everything that is asked of one person."""
    for field in asking.fields:
        plain = ask(profile, field, asking.questions, seed, most=asking.tellings, drawn=asking.drawn)
        other = ask(profile, field, asking.paraphrases, seed, paraphrased=True, most=asking.tellings)
        told = tuple(one.question for one in plain), tuple(one.question for one in other)
        yield Item(f"{profile.id}/{field}", profile.name, part, field, profile.values[field], *told, group)
