"""One claim: what it says, what it is held against, and which controls keep it honest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from uds_bench.errors import ConfigurationError
from uds_bench.verdicts import Relation

Kind = Literal["threshold", "equivalence", "ordering", "identity", "golden", "outcome"]
"""`outcome`: a rule joins several numbers into one word; its bound is the one that the rule holds rates against."""


@dataclass(frozen=True)
class ClaimSpec:
    """`bound` with `relation`: what the interval is held against; for an identity, the tolerance of the fast path.

    `must_fail`, `must_pass`: the controls, in words; `unit`: what intervals resample;
    `needs`: the bound in words, with {} for its value, where it reads otherwise than relation and value;
    `advice`: what to do where a candidate fails it; `loosened_from`: the bound that a waiver has replaced by a looser
    one; `evidence`: the level of a claim whose numbers do not come from the run's checkpoints. Raises
    ConfigurationError for a threshold that is neither a least nor a most.
    """

    id: str
    kind: Kind
    statement: str
    relation: Relation
    bound: float
    origin: str
    unit: str = "authors"
    must_fail: str = ""
    must_pass: str = ""
    needs: str = ""
    advice: str = ""
    loosened_from: float | None = None
    evidence: str = ""

    def __post_init__(self) -> None:
        if self.kind == "threshold" and self.relation not in (">=", "<="):
            raise ConfigurationError(
                f"claim {self.id}: relation {self.relation!r} is of no threshold: give '>=' or '<='"
            )

    @property
    def audit(self) -> str:
        """The audit that its id begins with."""
        return self.id.partition(".")[0]

    @property
    def read_by(self) -> str:
        """The relation that its bound is shown with; "" if `needs` says it in words."""
        return "" if self.needs else self.relation

    @property
    def needs_control(self) -> bool:
        """Whether it may pass only beside a control; a golden needs none, as it is compared with what was recorded."""
        return bool(self.must_fail) and self.kind != "golden"


TOLERANCE = 1e-4
"""How far a value may lie from its golden. Specimens have shipped weights: between SSE4 and AVX-512 kernels their
scores move by 2.8e-8."""
UTILITY_FLOOR = 0.8
"""Share of what is not to be forgotten that must be left (UDS guide, section 4.1: the filter of robustness)."""
KEEP_MORE = "it lost what it should keep: unlearn with a retain term, fewer steps or a smaller rate."
"""Advice of every claim about what was not to be forgotten."""
GOLDEN_CONTROL = "a value further from the golden than its tolerance"
