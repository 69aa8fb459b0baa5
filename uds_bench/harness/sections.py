"""The sections of a manifest: which keys each takes, and of what type.

Validated with the manifest's folder as context; without one, names stay as they are written.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, field_serializer

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.harness import locate
from uds_bench.harness.audit_sections import Association, Bypass, Lmlm, Localization
from uds_bench.harness.section_types import (
    Checkpoint,
    Checkpoints,
    Count,
    File,
    Pool,
    Positive,
    Reason,
    claims,
    located,
    written,
)
from uds_bench.harness.tables import Table, problem


def _option(value: Any) -> int | str:
    if type(value) not in (int, str):
        raise ValueError(f"is {value!r}: it must be a number of authors, or the name of a split")
    return value  # type: ignore[no-any-return]


class Facts(Table):
    """`source` as in `facts.load_facts`, with `options` for it."""

    source: Annotated[str, located(locate.source)]
    forget: Annotated[int | str | None, PlainValidator(_option)] = None
    retain: Annotated[int | str | None, PlainValidator(_option)] = None
    annotations: File | None = None

    @property
    def options(self) -> dict[str, Any]:
        """What the manifest gives, as keyword arguments of `load_facts`."""
        return self.model_dump(exclude={"source"}, exclude_none=True)


class References(Table):
    """`nested`: models between full and retain, from the one that knows most to the one that knows least."""

    full: Checkpoint
    retain: Checkpoint
    nested: Checkpoints = Field(default_factory=dict)

    @field_serializer("nested")
    def _in_order(self, nested: dict[str, CheckpointSpec]) -> list[Any]:
        return [[name, written(spec)] for name, spec in nested.items()]


class Pools(Table):
    """Models that know (`positive`) and models that never knew (`negative`), by name."""

    positive: Pool = Field(default_factory=dict)
    negative: Pool = Field(default_factory=dict)


class Nf4(Table):
    """The NF4 attack has nothing to set."""


class Relearn(Table):
    """What the manifest sets of the relearning attack; None leaves it to the attack."""

    epochs: Count | None = None
    lr: Positive | None = None
    batch_size: Count | None = None


class Attacks(Table):
    """The attacks to run: those whose table is there."""

    nf4: Nf4 | None = None
    relearn: Relearn | None = None


class Expectation(Table):
    """A verdict that a claim is known to come to, and why; it is shown apart and never as a pass."""

    verdict: Literal["fail", "inconclusive", "warning", "not applicable"]
    reason: Reason


Verdicts = dict[Literal["pass", "fail", "warning"], Annotated[tuple[str, ...], Field(strict=False)]]


def _each_once(verdicts: Verdicts) -> Verdicts:
    listed: set[str] = set()
    for word, subjects in verdicts.items():
        for subject in subjects:
            if subject in listed:
                raise problem(f"{subject!r} is declared already: name each subject once a claim", word)
            listed.add(subject)
    return verdicts


Thresholds = Annotated[dict[str, float], BeforeValidator(claims)]
Expectations = Annotated[dict[str, Expectation], BeforeValidator(claims)]
Specimens = Annotated[dict[str, Annotated[Verdicts, AfterValidator(_each_once)]], BeforeValidator(claims)]


class Sections(Table):
    """All that a manifest file may hold; every section may be left out.

    `candidates` are for release, so each is gated. `sweep`: more unlearned models, which metrics are judged on and
    which no claim speaks of. `specimens`: by claim, what each shipped model must come to.
    """

    facts: Facts | None = None
    references: References | None = None
    candidates: Checkpoints = Field(default_factory=dict)
    sweep: Checkpoints = Field(default_factory=dict)
    pools: Pools = Pools()
    attacks: Attacks = Attacks()
    bypass: Bypass | None = None
    lmlm: Lmlm | None = None
    localization: Localization | None = None
    association: Association | None = None
    thresholds: Thresholds = Field(default_factory=dict)
    expect: Expectations = Field(default_factory=dict)
    specimens: Specimens = Field(default_factory=dict)
