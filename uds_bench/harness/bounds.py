"""The claims: what each says, its default bound and where that comes from, and the controls that keep it honest.

No source publishes pass thresholds. Bounds marked "ours" are choices; a manifest may tighten them freely and loosen
them only with a waiver. This is the one place where they stand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from uds_bench.verdicts import Relation

Kind = Literal["threshold", "equivalence", "ordering", "identity"]


@dataclass(frozen=True)
class ClaimSpec:
    """`bound` with `relation`: what the interval is held against; for an identity, the tolerance of the fast path.

    `must_fail`, `must_pass`: the controls, in words; `unit`: what intervals resample;
    `loosened_from`: the bound that a waiver has replaced by a looser one.
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
    loosened_from: float | None = None

    @property
    def audit(self) -> str:
        return self.id.partition(".")[0]


_SPECS = (
    ClaimSpec(
        "depth.self_patch",
        "identity",
        "Patching the full model with its own states changes nothing, at any layer.",
        "==",
        1e-5,
        "follows from the definition (UDS guide, section 3.2): exact by hook, 1e-5 on the fast path",
        must_fail="the published variant: a hidden state taken after the final norm",
    ),
    ClaimSpec(
        "depth.retain_is_one",
        "identity",
        "The retain model, as its own yardstick, counts as fully erased: UDS is 1 for every fact.",
        "==",
        1e-5,
        "follows from the definition (UDS guide, section 3.3): exact by hook, 1e-5 on the fast path",
        must_fail="the full model, and the negative pool: other models that never knew",
    ),
    ClaimSpec(
        "depth.last_layer_is_lens",
        "identity",
        "Patching the last layer gives what the logit lens reads there.",
        "==",
        1e-5,
        "follows from the definition (UDS guide, section 3.2): exact by hook, 1e-5 on the fast path",
        must_fail="the published variant: a hidden state taken after the final norm",
    ),
    ClaimSpec(
        "depth.frozen",
        "identity",
        "The score formula gives the recorded scores for frozen activation drops.",
        "==",
        1e-6,
        "goldens/depth/frozen.json, scores by a plain implementation of UDS guide, section 3",
        must_fail="the same drops with one layer's made a hundredth larger",
    ),
    ClaimSpec(
        "depth.order",
        "ordering",
        "Models that were trained on less of the forget set score deeper: full < nested retains < retain.",
        ">",
        0.0,
        "UDS guide, appendix G; intervals of paired differences",
        must_fail="the same scores with their labels shuffled",
    ),
    ClaimSpec(
        "depth.score",
        "threshold",
        "The forgotten facts cannot be recovered from the candidate's activations.",
        ">=",
        0.70,
        "ours (published pool means .49 / .85); the pools' own cut where a manifest has pools of two or more",
        must_fail="models that know: the positive pool",
        must_pass="models that never knew: the negative pool",
    ),
    ClaimSpec(
        "depth.hidden",
        "threshold",
        "What generation calls forgotten is not merely hidden: depth agrees.",
        ">=",
        0.50,
        "ours: generation says forgotten where the upper bound of entity accuracy is at most this share "
        "of the full model's; a larger share catches more",
        must_fail="words of a model that never knew over the activations of one that knows",
        must_pass="a model that never knew",
    ),
)

CLAIMS: dict[str, ClaimSpec] = {spec.id: spec for spec in _SPECS}
