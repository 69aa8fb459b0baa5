"""The published sweep at the zoo's size: 150 models, eight methods over rates, weights and epochs.

Every setting is the published one (`methods.presets`) but for those that have no meaning at another size. Rates are
`RATE` times as large: the zoo is fine-tuned at 3e-3, the published pools at 1e-5 to 5e-5. Batches are of `BATCH`
facts, so that an epoch over the forget set has as many steps, 12 for 120 facts as there 12 or 13 for 400. RMU's layer
is the one at the same relative depth, and its scale is the length of the zoo's own states there.
"""

from __future__ import annotations

from collections.abc import Iterator

from uds_bench.audits.depth.zoo.recipes import FORGET, Base, Unlearned
from uds_bench.facts.authors import KINDS
from uds_bench.methods.presets import PRESETS, SWEEP, make_method

RATE, BATCH = 100, 10
PUBLISHED_LAYERS, SCALE = 16, 3.0


def _models() -> Iterator[tuple[str, Unlearned]]:
    for name, preset in PRESETS.items():
        if preset.source != SWEEP:
            continue
        settings = {**preset.settings, "lr": preset.settings["lr"] * RATE, "batch_size": BATCH}
        if "layer" in settings:
            settings["layer"] = settings["layer"] * Base.layers // PUBLISHED_LAYERS
            settings["scale"] = SCALE
        yield name, Unlearned("full", make_method(preset.method, settings, FORGET * len(KINDS)))


MODELS: dict[str, Unlearned] = dict(_models())
"""By the names of the presets, which tell the published rate."""
