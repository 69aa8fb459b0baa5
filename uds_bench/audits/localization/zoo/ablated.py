"""The models of the localization audit's ablations: less room, whole heads and neurons, no room, and ascent alone.

Nothing was tuned for them: each has the settings of the model in `models` from which it differs in one thing.
"""

from __future__ import annotations

from typing import Any

from uds_bench.audits.localization.zoo.models import INJECTED, PREFIX, PRETRAINED, TUNED, removed
from uds_bench.audits.localization.zoo.recipes import Injected, Pretrained
from uds_bench.zoo.recipe import Recipe

HEADS = 8
"""With four heads six groups cannot have one each."""
COVERAGES = (0.01, 0.02, 0.05)
_ORACLE = TUNED["oracle_grad"][1]
_ASCENT: dict[str, Any] = {key: _ORACLE[key] for key in ("lr", "epochs")}

_INJECTIONS: dict[str, Recipe] = {
    **{f"{PREFIX}share{share * 100:02.0f}": Injected(PRETRAINED, share=share) for share in COVERAGES},
    f"{PREFIX}single": Injected(f"{PRETRAINED}_heads", share=1 / HEADS),
    f"{PREFIX}units": Injected(f"{PRETRAINED}_heads", share=1 / HEADS, whole_units=True),
    f"{PREFIX}units_slow": Injected(f"{PRETRAINED}_heads", share=1 / HEADS, whole_units=True, lr=1e-3),
}

MODELS: dict[str, Recipe] = {
    f"{PRETRAINED}_heads": Pretrained(heads=HEADS),
    **_INJECTIONS,
    **{f"{name}_oracle_grad": removed("grad_diff", name, within=True, **_ORACLE) for name in _INJECTIONS},
    f"{PREFIX}grad_diff": removed("grad_diff", **_ORACLE),
    f"{PREFIX}grad_ascent": removed("grad_ascent", **_ASCENT),
    f"{PREFIX}oracle_ascent": removed("grad_ascent", within=True, **_ASCENT),
}
"""By name; `single` and `units` differ in what a mask is made of and in nothing else, `units_slow` in the rate too."""

INJECTED_INTO = {PRETRAINED: INJECTED, f"{PRETRAINED}_heads": f"{PREFIX}units"}
"""By pretrained model the one whose masks are looked for in it, where they cannot be."""

ROWS: tuple[str, ...] = (
    PRETRAINED,
    f"{PREFIX}unmasked",
    INJECTED,
    f"{PREFIX}oracle_grad",
    f"{PREFIX}oracle_ascent",
    f"{PREFIX}grad_diff",
    f"{PREFIX}grad_ascent",
    *(f"{PREFIX}{name}" for name in TUNED if name != "oracle_grad"),
    *(row for name in _INJECTIONS if "share" in name for row in (name, f"{name}_oracle_grad")),
    f"{PRETRAINED}_heads",
    *(row for name in _INJECTIONS if "share" not in name for row in (name, f"{name}_oracle_grad")),
)
"""The table's models in its order."""
