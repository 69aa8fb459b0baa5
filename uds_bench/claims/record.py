"""What a run keeps of each claim, in plain JSON, so that it survives being sent between processes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from uds_bench.statistics import FEWEST, Interval
from uds_bench.verdicts import GOOD, Verdict


@dataclass(frozen=True)
class Control:
    """How a subject whose verdict is known in advance fared under the claim's own rule; `why` it did not hold."""

    name: str
    must: str
    verdict: str
    observed: float | None
    interval: Interval | None
    held: bool
    why: str = ""

    @property
    def miss(self) -> str:
        """What to say of it where it did not hold."""
        return f"control {self.name} must {self.must} and came out {self.verdict}{self.why and f': {self.why}'}"

    @property
    def is_open(self) -> bool:
        """Whether it came out neither right nor wrong."""
        return not self.held and self.verdict.startswith(Verdict.INCONCLUSIVE)

    @property
    def is_undecided(self) -> bool:
        """Whether it has too few units to come out either way: that is no miss."""
        return self.verdict == Verdict.INCONCLUSIVE and has_few_units(self.interval)


@dataclass(frozen=True)
class ClaimRecord:
    """One decided claim; the run report's schema is in docs/reference/commands.md. `needs`: the bound in words, if it
    takes words.

    `outcome`: what the claim itself came to, before goldens, declarations and waivers; None of one that never decided.
    `specimen`: the verdict that its subject must come to.
    """

    id: str
    subject: str | None
    kind: str
    verdict: Verdict
    message: str
    statement: str = ""
    observed: float | None = None
    interval: Interval | None = None
    unit: str = ""
    relation: str = ""
    bound: float | None = None
    origin: str = ""
    needs: str = ""
    changed: float | None = None
    shortfall: float | None = None
    evidence: str = ""
    controls: tuple[Control, ...] = ()
    golden: Mapping[str, Any] | None = None
    outcome: str | None = None
    specimen: str | None = None
    expected: Mapping[str, Any] | None = None
    waiver: Mapping[str, Any] | None = None
    reproduce: str = ""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    node: str = ""

    @property
    def name(self) -> str:
        return f"{self.id}[{self.subject}]" if self.subject else self.id

    @property
    def audit(self) -> str:
        return self.id.partition(".")[0]

    def to_json(self) -> dict[str, Any]:
        flat = asdict(self)
        bound = {key: flat.pop(key) for key in ("relation", "origin", "needs", "changed")} | {
            "value": flat.pop("bound")
        }
        return {"name": self.name, "audit": self.audit, **finite(flat), "bound": finite(bound)}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> ClaimRecord:
        bound = row["bound"]
        kept = {k: v for k, v in row.items() if k not in ("name", "audit", "bound", "controls", "interval", "verdict")}
        return cls(
            **kept,
            verdict=Verdict(row["verdict"]),
            interval=_interval(row["interval"]),
            relation=bound["relation"],
            origin=bound["origin"],
            needs=bound["needs"],
            changed=bound["changed"],
            bound=bound["value"],
            controls=tuple(Control(**{**c, "interval": _interval(c["interval"])}) for c in row["controls"]),
        )

    def failure_text(self) -> str:
        """The claim's own line, then where its numbers come from, then one command to reproduce it."""
        keys = ("checkpoint", "references", "facts", "metric", "variant", "dtype", "device", "patching", "cell")
        known = [f"{k} {_short(self.provenance[k])}" for k in keys if self.provenance.get(k)]
        lines = [f"{self.verdict.value.upper()}: {self.message}"]
        lines += [f"  claim: {self.statement}"] if self.statement else []
        lines += [f"  from: {', '.join(known)}"] if known else []
        lines += [f"  reproduce: {self.reproduce}"] if self.reproduce else []
        return "\n".join(lines)


def has_few_units(interval: Interval | None) -> bool:
    """Whether an interval decides nothing for want of units; one that was made of no finite value is not meant."""
    return interval is not None and 0 < interval.units < FEWEST


def finite(value: Any) -> Any:
    """Plain JSON of a value: no numpy scalars, no enum objects, and None for numbers that are not finite."""
    if isinstance(value, Mapping):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    # Scalars, arrays and tensors have it; of anything else only the text can be kept.
    return finite(value.tolist()) if hasattr(value, "tolist") else str(value)


def count(records: Iterable[ClaimRecord]) -> dict[str, int]:
    """Claims per verdict, every word of `Verdict` present: the numbers add up to the claims planned."""
    found = Counter(record.verdict for record in records)
    return {verdict.value: found[verdict] for verdict in Verdict}


def is_good(records: Iterable[ClaimRecord]) -> bool:
    """Whether a release may go on: something was decided, and nothing came out other than good."""
    listed = list(records)
    return all(record.verdict in GOOD for record in listed) and decides_something(listed)


def decides_something(records: Iterable[ClaimRecord]) -> bool:
    """Whether any claim applied at all: a run in which none does must not look like a release that passed."""
    return any(record.verdict is not Verdict.NOT_APPLICABLE for record in records)


def _interval(row: Mapping[str, Any] | None) -> Interval | None:
    if row is None:
        return None
    low, high = (math.nan if row[k] is None else row[k] for k in ("low", "high"))
    return Interval(low, high, row["method"], row["units"])


def _short(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return " ".join(_short(v) for v in value)
    text = str(value)
    name, colon, digest = text.rpartition(":")
    return f"{name}{colon}{digest[:12]}" if len(digest) == 64 else text
