"""Synthetic people with all that is known of them: questions about an attribute, and whole texts (Lacuna, section 3).

`profiles.toml` holds the attributes and how each is told; everything else follows from it and a seed.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

from uds_bench.facts.records import embedded_toml
from uds_bench.facts.vocabulary import WORDS, composed

FIELDS = ("email", "birth_city", "phone", "drivers_license")
"""The attributes that unlearning is judged on (Lacuna, section 3.1)."""
MOST_TELLINGS = 4
"""Other attributes that a question mentions first: 0 to so many (appendix B)."""
PLAIN_QUESTIONS = 3
"""Questions of an attribute that are taught and asked; those after them are paraphrases."""
MOST_DRAWS = 100
"""How often a question that was asked already is drawn anew."""
PRONOUNS = ("his", "her", "their")
PART = re.compile(r"[#%]|\{(\w+)\}")


@dataclass(frozen=True)
class Profile:
    """One person. `values`: by attribute; `their`: the possessive pronoun."""

    id: str
    first: str
    last: str
    their: str
    values: Mapping[str, str]

    @property
    def name(self) -> str:
        """First and last name."""
        return f"{self.first} {self.last}"


@dataclass(frozen=True)
class ProfileQuestion:
    """A question about one attribute of a person, and its answer."""

    profile: str
    attribute: str
    question: str
    answer: str


@cache
def attributes() -> tuple[str, ...]:
    """All attributes, those with questions of their own first."""
    return tuple(_source()["attributes"])


@cache
def styles() -> tuple[str, ...]:
    """Kinds of texts."""
    return tuple(style["name"] for style in _source()["styles"])


def people(count: int, seed: int) -> tuple[Profile, ...]:
    """So many people, no two of one name; the first of a larger number are the same people."""
    generator, found = random.Random(f"profiles {seed}"), dict[str, Profile]()
    while len(found) < count:
        first, last = _first(generator), _last(generator)
        if f"{first} {last}" not in found:
            of = random.Random(f"{seed} {first} {last}")
            values = {name: _composed(row["value"], first, last, of) for name, row in _source()["attributes"].items()}
            found[f"{first} {last}"] = Profile(f"p{len(found):04}", first, last, of.choice(PRONOUNS), values)
    return tuple(found.values())


def ask(
    profile: Profile,
    attribute: str,
    number: int,
    seed: int,
    paraphrased: bool = False,
    most: int = MOST_TELLINGS,
    drawn: int = 0,
) -> tuple[ProfileQuestion, ...]:
    """So many questions for one attribute: `First Last, [telling, ...] question` with 0 to `most` tellings of others.

    The first `drawn` come as they are drawn, so that short ones come again and again; of those after them none is alike
    another one, as long as there are more. The same in is the same out; paraphrased ones share no question with plain
    ones.
    """
    generator = random.Random(f"{seed} {profile.id} {profile.name} {attribute} {paraphrased}")
    questions = _phrasings(attribute, "questions")
    chosen = questions[PLAIN_QUESTIONS:] if paraphrased else questions[:PLAIN_QUESTIONS]
    others = [name for name in attributes() if name != attribute]
    filled = cache(partial(_filled, profile))  # the same few tellings are drawn again and again
    known: set[str] = set()
    found = []
    for at in range(number):
        for _ in range(MOST_DRAWS):
            mentioned = generator.sample(others, generator.randint(0, most))
            tellings = [filled(generator.choice(_phrasings(other, "tellings")), other) for other in mentioned]
            question = filled(chosen[at % len(chosen)], attribute)
            text = f"{', '.join([profile.name, *tellings])}. {question}"
            if at < drawn or text not in known:
                break
        known.add(text)
        found.append(ProfileQuestion(profile.id, attribute, text, profile.values[attribute]))
    return tuple(found)


def document(profile: Profile, style: str) -> str:
    """All that is known of a person as one text."""
    told = {row["name"]: row for row in _source()["styles"]}[style]
    lines = [_filled(profile, told["line"], name) for name in attributes()]
    return " ".join([_filled(profile, told["open"]), *lines, _filled(profile, told["close"])])


def cross_fields(fields: Sequence[str] = FIELDS) -> dict[str, str]:
    """For each field that is forgotten the other one that is retained beside it (Lacuna, section 4)."""
    if len(fields) < 2:
        raise ValueError("a field is retained beside another one: give two or more")
    return {field: fields[(at + 1) % len(fields)] for at, field in enumerate(fields)}


def _phrasings(attribute: str, what: str) -> list[str]:
    source = _source()
    told: list[str] = source["attributes"][attribute].get(what, source["general"][what])
    return told


def _filled(profile: Profile, text: str, attribute: str | None = None) -> str:
    named = {} if attribute is None else {"value": profile.values[attribute], "label": _label(attribute)}
    return text.format(
        subject=profile.name,
        their=profile.their,
        Their=profile.their.capitalize(),
        **{**{name: value for name, value in profile.values.items() if name not in named}, **named},
    )


def _label(attribute: str) -> str:
    label: str = _source()["attributes"][attribute]["label"]
    return label


def _composed(pattern: str, first: str, last: str, generator: random.Random) -> str:
    """A value: each sign and part of its pattern drawn anew."""

    def drawn(found: re.Match[str]) -> str:
        match found[0], found[1]:
            case "#", _:
                return generator.choice(string.digits)
            case "%", _:
                return generator.choice(string.ascii_uppercase)
            case _, "slug":
                return f"{first}.{last}".lower()
            case _, "first":
                return _first(generator)
            case _, "last":
                return _last(generator)
            case _, "town":
                starts, middles, ends = (WORDS[f"town_{part}"] for part in ("starts", "middles", "ends"))
                return "".join(generator.choice(part) for part in (starts, [*middles, ""], ends))
            case _, "age":
                return str(generator.randint(19, 88))
            case _, "day":
                return str(generator.randint(1, 28))
            case _, "year":
                return str(generator.randint(1936, 2005))
            case _, "byte":
                return str(generator.randint(1, 254))
            case _, name:
                listed: list[str] = _source()["words"][name]
                return generator.choice(listed)

    return PART.sub(drawn, pattern)


def _first(generator: random.Random) -> str:
    return composed(generator, "{first_starts}{first_ends}")


def _last(generator: random.Random) -> str:
    return composed(generator, "{last_starts}{last_middles}{last_ends}")


_source = partial(embedded_toml, "profiles.toml")
