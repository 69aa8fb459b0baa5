"""The parts of a manifest that are no audit's: bounds, and verdicts known beforehand."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from uds_bench.manifest.tables import Table, problem
from uds_bench.manifest.types import Reason, claims


class Expectation(Table):
    """A verdict that a claim is known to come to, and why; it is shown apart and never as a pass."""

    verdict: Literal["fail", "undecided", "not applicable"]
    reason: Reason


Verdicts = dict[Literal["pass", "fail"], Annotated[tuple[str, ...], Field(strict=False)]]


def _each_once(verdicts: Verdicts) -> Verdicts:
    listed: set[str] = set()
    for word, subjects in verdicts.items():
        for subject in subjects:
            if subject in listed:
                raise problem(f"{subject!r} is declared already: name each subject once a claim", word)
            listed.add(subject)
    return verdicts


class Common(Table):
    """`specimens`: by claim, what each shipped model must come to."""

    thresholds: Annotated[dict[str, float], BeforeValidator(claims)] = Field(default_factory=dict)
    expect: Annotated[dict[str, Expectation], BeforeValidator(claims)] = Field(default_factory=dict)
    specimens: Annotated[dict[str, Annotated[Verdicts, AfterValidator(_each_once)]], BeforeValidator(claims)] = Field(
        default_factory=dict
    )
