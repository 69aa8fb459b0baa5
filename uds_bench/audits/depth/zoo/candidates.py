"""The candidates of the zoo profile: eight methods at two strengths, NPO with hardly a retain term, and no method.

Where nothing else is said, strong is 40 steps at 1e-3, five epochs over the forget facts as in the shorter half of the
published sweep, and weak a quarter of the steps at half the rate. The settings of single methods were chosen on the
draws @1 and @2 of the zoo, by what they cost, whether they silence the answers and whether they spare the retain
authors: never by their depth, and never on the draw that is judged.
"""

from __future__ import annotations

from typing import Any

from uds_bench.audits.depth.zoo.recipes import Unlearned
from uds_bench.methods.method import KINDS, Method, MethodName

STRONG: dict[str, Any] = {"steps": 40, "lr": 1e-3}
WEAK: dict[str, Any] = {"steps": 10, "lr": 5e-4}


def _from_full(name: MethodName, **settings: Any) -> Unlearned:
    return Unlearned("full", KINDS.get(name, Method)(name, **settings))


MODELS: dict[str, Unlearned] = {
    "identity": _from_full("identity", steps=0, lr=0.0),
    "grad_diff": _from_full("grad_diff", **STRONG),
    "grad_diff_weak": _from_full("grad_diff", **WEAK),
    "npo": _from_full("npo", steps=120, lr=1e-3, beta=0.03),
    "npo_weak": _from_full("npo", steps=7, lr=5e-4, beta=0.1),
    "npo_low_alpha": _from_full("npo", steps=120, lr=1e-3, beta=0.03, alpha=0.1),
    "simnpo": _from_full("simnpo", **STRONG, beta=4.5),
    "simnpo_weak": _from_full("simnpo", **WEAK, beta=4.5),
    "idk": _from_full("idk_nll", **STRONG),
    "idk_weak": _from_full("idk_nll", **WEAK),
    "idk_dpo": _from_full("idk_dpo", **STRONG),
    "idk_dpo_weak": _from_full("idk_dpo", **WEAK),
    "alt_po": _from_full("alt_po", steps=120, lr=1e-3),
    "alt_po_weak": _from_full("alt_po", **WEAK),
    # States there are 3.4 long: the published 10, in units of another model's, costs the retain authors as well.
    "rmu": _from_full("rmu", **STRONG, layer=2, scale=3.0, alpha=5.0),
    "rmu_weak": _from_full("rmu", **WEAK, layer=2, scale=3.0, alpha=5.0),
    "undial": _from_full("undial", **STRONG, beta=10.0),
    "undial_weak": _from_full("undial", **WEAK, beta=10.0),
}
