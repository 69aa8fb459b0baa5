"""The models of the association audit by name: two sizes, one that never saw who asks to be forgotten, and unlearned
ones.

Settings were chosen on the draws @1 to @4, never on the one that is judged.
"""

from __future__ import annotations

from typing import Any

from uds_bench.audits.association.zoo.recipes import Exposed, Requested
from uds_bench.methods.method import Method, MethodName
from uds_bench.zoo.recipe import Recipe

PREFIX = "assoc_"
FULL, SMALL, RETAIN = (f"{PREFIX}{name}" for name in ("full", "small", "retain"))


def _unlearned(name: MethodName, steps: int, **settings: Any) -> Requested:
    return Requested(FULL, Method(name, steps, **{"lr": 3e-4, "batch_size": 32, **settings}))


MODELS: dict[str, Recipe] = {
    FULL: Exposed(),
    SMALL: Exposed(width=48),
    RETAIN: Exposed(without=True),
    f"{PREFIX}npo": _unlearned("npo", 500, lr=5e-4, alpha=8.0),
    f"{PREFIX}grad_diff": _unlearned("grad_diff", 60, alpha=3.0),
    f"{PREFIX}simnpo_shallow": _unlearned("simnpo", 10, beta=4.5, alpha=1.0),
}
"""The zoo profile's; `@1` and on are further draws."""
