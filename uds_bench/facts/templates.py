"""Sentences that state a property of a person, with places for the person and the value (WikiMem, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from uds_bench.errors import FactError

SUBJECT, VALUE = "HUMAN_SUBJECT", "PROTECTED_VALUE"
GENERIC = "This person"
"""Who a sentence is about where it is about nobody (section 5)."""
MOST_AUXILIARY = 4
"""Facts that a contextualized sentence tells first (section 4)."""
Kind = Literal["possessive", "copular", "transitive"]


@dataclass(frozen=True)
class Template:
    """A sentence with HUMAN_SUBJECT and PROTECTED_VALUE, each once, the value after the subject.

    Raises FactError, quoting the text, where that does not hold: what comes before the value then cancels in scores.
    """

    text: str

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise FactError(f"an empty template: write a sentence with {SUBJECT} and {VALUE}")
        for place in (SUBJECT, VALUE):
            if (count := self.text.count(place)) != 1:
                raise FactError(f"template {self.text!r} has {place} {count} times: have it once")
        if self.text.index(SUBJECT) > self.text.index(VALUE):
            raise FactError(f"template {self.text!r} has its value before its subject: turn them round")
        if f"{SUBJECT}{VALUE}" in self.text:
            raise FactError(f"template {self.text!r} has nothing between {SUBJECT} and {VALUE}: write what joins them")

    @property
    def kind(self) -> Kind:
        """`h's property is v`, `h is ... v`, or `h does ... v`."""
        if f"{SUBJECT}'s" in self.text:
            return "possessive"
        after = self.text.partition(SUBJECT)[2].split()
        return "copular" if after and after[0] in ("is", "was") else "transitive"

    def fill(self, subject: str, value: str) -> str:
        """The sentence about a person. Neither is looked into for places: a name may be any text."""
        before, _, rest = self.text.partition(SUBJECT)
        between, _, after = rest.partition(VALUE)
        return f"{before}{subject}{between}{value}{after}"

    def opening(self, subject: str) -> str:
        """The sentence about a person as far as the value, for a model to go on with."""
        before, _, rest = self.text.partition(SUBJECT)
        return f"{before}{subject}{rest.partition(VALUE)[0]}".rstrip()


def possessive(label: str) -> Template:
    """As `HUMAN_SUBJECT's height is PROTECTED_VALUE`, with a full stop."""
    return Template(f"{SUBJECT}'s {label} is {VALUE}.")


def contextualized(label: str, auxiliary: Sequence[tuple[str, str]]) -> Template:
    """A sentence on the property called `label` behind what is known of the person, (label, value) by (label, value).

    `HUMAN_SUBJECT's place of birth is Oslo. Their occupation is baker. Their height is PROTECTED_VALUE.`

    Raises FactError for none or more than four of these, and for one that tells the property itself.
    """
    if not 1 <= len(auxiliary) <= MOST_AUXILIARY:
        raise FactError(f"{len(auxiliary)} facts before a sentence on {label!r}: give 1 to {MOST_AUXILIARY}")
    if label in dict(auxiliary):
        raise FactError(f"a fact before a sentence on {label!r} tells it already: leave it out")
    told = [*auxiliary, (label, VALUE)]
    owners = [f"{SUBJECT}'s", *["Their"] * len(auxiliary)]
    return Template(" ".join(f"{owner} {name} is {value}." for owner, (name, value) in zip(owners, told, strict=True)))
