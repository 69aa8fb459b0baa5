"""Whether checkpoints fit together, told before any is loaded."""

from __future__ import annotations

from collections.abc import Mapping

from uds_bench.checkpoints import CheckpointSpec, shape
from uds_bench.checkpoints.spec import EMBEDDED
from uds_bench.errors import CheckpointError


def check_shapes(name: str, specs: Mapping[str, CheckpointSpec]) -> None:
    """Patching needs the full model's family, vocabulary, layers and width: told from config.json alone."""
    if "full" not in specs or name == "full" or specs["full"].model.startswith(EMBEDDED):
        return
    own, full = shape(specs[name]), shape(specs["full"])
    for what in ("family", "vocabulary", "layers", "width"):
        if getattr(own, what) != getattr(full, what):
            raise CheckpointError(
                f"{name} ({specs[name].model}): its {what} is {getattr(own, what)}, the full model's is "
                f"{getattr(full, what)}: patching needs a checkpoint that was made from the full model"
            )
