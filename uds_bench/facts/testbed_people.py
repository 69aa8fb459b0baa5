"""The embedded testbed: invented people of every part, and how they are asked about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from uds_bench.facts.profiles import Profile, ask, document, people, styles
from uds_bench.facts.testbed import Item, Part, Testbed


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
class Asking:
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


def embedded_testbed(sizes: Sizes | None = None, asking: Asking | None = None, seed: int = 0) -> Testbed:
    """All that is asked of them."""
    asking = asking or Asking()
    folk = placed(sizes, seed)
    return Testbed(item for one in folk for item in items_of(one.profile, one.part, one.group, asking, seed))


def documents(sizes: Sizes | None = None, seed: int = 0) -> Iterator[dict[str, str | None]]:
    """The same people as whole texts, in every style (Lacuna, section 3.1): id, person, part, group, style and text."""
    for one in placed(sizes, seed):
        told = {"id": one.profile.id, "person": one.profile.name, "part": one.part, "group": one.group}
        yield from ({**told, "style": style, "text": document(one.profile, style)} for style in styles())


def items_of(profile: Profile, part: Part, group: str | None, asking: Asking, seed: int = 0) -> Iterator[Item]:
    """Everything that is asked of one person."""
    for field in asking.fields:
        plain = ask(profile, field, asking.questions, seed, most=asking.tellings, drawn=asking.drawn)
        other = ask(profile, field, asking.paraphrases, seed, paraphrased=True, most=asking.tellings)
        told = tuple(one.question for one in plain), tuple(one.question for one in other)
        yield Item(f"{profile.id}/{field}", profile.name, part, field, profile.values[field], *told, group)
