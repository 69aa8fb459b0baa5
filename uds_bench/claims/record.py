"""What a run keeps of each claim: one model, written to JSON and read back from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, TypeAdapter, computed_field, model_validator
from pydantic.dataclasses import dataclass

from uds_bench.json_values import Number, Plain, Shown, finite
from uds_bench.verdicts import BAD, Cause, Decision, Flag, Verdict, cause_of

CONFIG = ConfigDict(extra="forbid")
FOLLOWS = ("name", "audit", "status")
VERDICTS_OF = {
    Flag.CLEARED: (Verdict.PASS,),
    Flag.CAUGHT: (Verdict.FAIL,),
    Flag.DECLARED: (*BAD, Verdict.NOT_APPLICABLE),
}
"""What a claim with a flag comes to; with any other flag it is one of `BAD`."""
UNTRIED = "untried"
"""What the control of a claim came to whose test tried none."""


@dataclass(frozen=True, config=CONFIG)
class Control:
    """How a subject whose verdict is known in advance fared under the claim's own rule; `why` it did not hold."""

    name: str
    must: str
    verdict: str
    observed: Number
    interval: Shown
    held: Annotated[bool, BeforeValidator(finite)]
    why: str = ""

    @classmethod
    def of(cls, name: str, must: Literal["fail", "pass"], found: Decision) -> Control:
        """One that was decided by a rule of its own."""
        return cls(name, must, found.verdict.value, found.observed, found.interval, found.verdict.value == must)

    @property
    def miss(self) -> str:
        """What to say of it where it did not hold."""
        return f"control {self.name} must {self.must} and came out {self.verdict}{self.why and f': {self.why}'}"

    @property
    def is_open(self) -> bool:
        """Whether it came out neither right nor wrong."""
        return not self.held and self.verdict.startswith(Verdict.UNDECIDED)

    @property
    def has_few_units(self) -> bool:
        """Whether it is over too few units to come out either way: that is no miss."""
        return self.verdict == Verdict.UNDECIDED and cause_of(self.interval) is Cause.UNITS


@dataclass(frozen=True, config=CONFIG)
class Bound:
    """What a claim's interval is held against, and who chose it; `needs`: it in words, where it takes words."""

    relation: str = ""
    value: Number = None
    origin: str = ""
    needs: str = ""


def label(id: str, subject: str | None) -> str:
    """A claim with its subject, as a manifest and a command line name it."""
    return f"{id}[{subject}]" if subject else id


@dataclass(frozen=True, config=CONFIG)
class ClaimRecord:
    """One decided claim. `cause`: why it is undecided. `flag`: what was known of it beforehand.

    `advice`: what to do where it stops a release. `outcome`: what the claim itself came to, before goldens,
    declarations and waivers; None of one that never decided. `specimen`: the verdict that its subject must come to.
    """

    id: str
    subject: str | None
    kind: str
    verdict: Verdict
    message: str
    cause: Cause | None = None
    flag: Flag | None = None
    statement: str = ""
    observed: Number = None
    interval: Shown = None
    unit: str = ""
    bound: Bound = field(default_factory=Bound)
    shortfall: Number = None
    evidence: str = ""
    controls: tuple[Control, ...] = ()
    golden: Plain = field(default_factory=dict)
    outcome: Verdict | None = None
    specimen: str | None = None
    expected: Plain = field(default_factory=dict)
    waiver: Plain = field(default_factory=dict)
    advice: str = ""
    reproduce: str = ""
    provenance: Plain = field(default_factory=dict)
    node: str = ""

    @model_validator(mode="before")
    @classmethod
    def _given(cls, row: Any) -> Any:
        """A row without what follows from the rest of it."""
        return {k: v for k, v in row.items() if k not in FOLLOWS} if isinstance(row, Mapping) else row

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        """A flag that goes with its verdict: no other is ever given, and one written by hand would hide a fail."""
        if self.flag and self.verdict not in VERDICTS_OF.get(self.flag, BAD):
            raise ValueError(f"is {self.flag}, which no {self.verdict} is")
        return self

    @computed_field  # type: ignore[prop-decorator]
    @property
    def name(self) -> str:
        """As a manifest and a command line name it."""
        return label(self.id, self.subject)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def audit(self) -> str:
        """The first part of its id."""
        return self.id.partition(".")[0]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def status(self) -> str:
        """The word that it is counted under: its flag, or its verdict."""
        return (self.flag or self.verdict).value

    @property
    def is_good(self) -> bool:
        """Whether a release may go on in spite of it."""
        return self.flag is not None or self.verdict in (Verdict.PASS, Verdict.NOT_APPLICABLE)

    @property
    def needs(self) -> str:
        """The bound in words; for an identity, how far off it may be, for an equivalence, how far from 0."""
        value = self.bound.value
        if self.bound.needs or value is None:
            return self.bound.needs
        if self.kind == "identity":
            return f"equal within {value:g}" if value else "exactly equal"
        return f"within ±{value:g} of 0" if self.kind == "equivalence" else f"{self.bound.relation} {value:.4g}"

    @property
    def cells(self) -> tuple[str, str, str]:
        """Observed, 95% interval with its units, and what is needed, as tables show them; "" for what there is not."""
        interval = self.interval
        return (
            "" if self.observed is None else f"{self.observed:.3f}",
            "" if interval is None else f"{interval.low:.3f} to {interval.high:.3f}, {interval.units} {self.unit}",
            self.needs,
        )

    def spelled(self, mark: Callable[[str], str] = str.upper) -> str:
        """Its status, marked where it stops a release, with its cause where there is one."""
        word = self.status if self.is_good else mark(self.status)
        return f"{word} ({self.cause})" if self.cause else word

    def to_json(self) -> dict[str, Any]:
        """Plain values that `from_json` makes the same record of."""
        row: dict[str, Any] = RECORD.dump_python(self, mode="json")
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> ClaimRecord:
        """The record of a row. Raises ValueError for one that is none."""
        return RECORD.validate_python(row)

    def failure_text(self, wordy: bool = False) -> str:
        """The claim's own line, what to do, and one command to reproduce it; `wordy`: where its numbers come from."""
        keys = ("checkpoint", "references", "facts", "metric", "variant", "dtype", "device", "patching", "cell")
        known = ", ".join(f"{k} {_short(self.provenance[k])}" for k in keys if wordy and self.provenance.get(k))
        cause = f" ({self.cause})" if self.cause else ""
        told = {"claim": self.statement, "from": known, "next": self.advice, "reproduce": self.reproduce}
        lines = [f"{self.verdict.value.upper()}{cause}: {self.message}"]
        return "\n".join([*lines, *(f"  {what}: {text}" for what, text in told.items() if text)])


RECORD: TypeAdapter[ClaimRecord] = TypeAdapter(ClaimRecord)
STATUSES = (*(verdict.value for verdict in Verdict), *(flag.value for flag in Flag))
"""The words that claims are counted under."""


def count(records: Iterable[ClaimRecord]) -> dict[str, int]:
    """Claims per status.

    Args:
        records: All claims of a run.

    Returns:
        How many came to each of `STATUSES`, every word present: the numbers add up to the claims planned.

    Example:
        >>> found = count([ClaimRecord("depth.score", "npo", "threshold", Verdict.PASS, "")])
        >>> found["pass"], found["fail"], sum(found.values())
        (1, 0, 1)
    """
    found = Counter(record.status for record in records)
    return {word: found[word] for word in STATUSES}


def is_good(records: Iterable[ClaimRecord]) -> bool:
    """Whether a release may go on: something was decided, and nothing came out other than good."""
    listed = list(records)
    return all(record.is_good for record in listed) and decides_something(listed)


def decides_something(records: Iterable[ClaimRecord]) -> bool:
    """Whether any claim applied at all: a run in which none does must not look like a release that passed."""
    return any(record.verdict is not Verdict.NOT_APPLICABLE for record in records)


def _short(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return " ".join(_short(v) for v in value)
    text = str(value)
    name, colon, digest = text.rpartition(":")
    return f"{name}{colon}{digest[:12]}" if len(digest) == 64 else text
