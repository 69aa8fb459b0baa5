"""Whether a loaded adapter acts: told from its files and the weights in memory, not by what attached it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from peft.tuners.tuners_utils import BaseTunerLayer

from uds_bench.checkpoints.loading import Checkpoint
from uds_bench.checkpoints.source import resolve
from uds_bench.checkpoints.weights import opened, weight_files
from uds_bench.errors import CheckpointError

WRAPPED = "base_model.model."


def require_adapter(checkpoint: Checkpoint) -> None:
    """Raises CheckpointError for a checkpoint with an adapter whose weights are those of its base: its scores would be
    the base's under the adapter's name."""
    folders = resolve(checkpoint.spec)
    if folders.adapter is None or any(_is_active(module) for module in checkpoint.model.modules()):
        return
    parameters = dict(checkpoint.model.named_parameters(remove_duplicate=False))
    names: set[str] = set()
    for path in weight_files(folders.adapter, "adapter_model"):
        with opened(path) as file:
            for key in file.keys():  # noqa: SIM118
                names |= _touched(key, parameters)
    compared = False
    # Quantized weights differ from the files whether or not an adapter acts; there it stays apart, as seen above.
    for path in () if checkpoint.spec.quantization else weight_files(folders.model):
        with opened(path) as file:
            for name in names & set(file.keys()):
                compared = True
                stored = file.get_tensor(name).to(parameters[name])
                if not torch.equal(stored, parameters[name]):
                    return
    # Weights that the files hold under other names, such as experts apart, cannot be compared.
    if not compared and not checkpoint.spec.quantization:
        return
    raise CheckpointError(
        f"checkpoint {checkpoint.spec.model}: the loaded model does not hold the adapter {checkpoint.spec.adapter}: "
        "every weight that it touches is the base's own; report this, and judge the merged weights meanwhile"
    )


def _is_active(module: torch.nn.Module) -> bool:
    return isinstance(module, BaseTunerLayer) and not module.disable_adapters and bool(module.active_adapters)


def _touched(key: str, parameters: Mapping[str, Any]) -> set[str]:
    """The weights that a tensor of an adapter touches: those of the module that the longest leading part of its name
    names."""
    parts = key.removeprefix(WRAPPED).split(".")
    for length in range(len(parts), 0, -1):
        module = ".".join(parts[:length])
        if own := {name for name in parameters if name == module or name.rpartition(".")[0] == module}:
            return own
    return set()
