"""Whether a checkpoint is judged by the weights that its files hold: in fewer bits it may be another model."""

from __future__ import annotations

from pathlib import Path

import torch

from uds_bench.checkpoints.source import ADAPTER_CONFIG, resolve
from uds_bench.checkpoints.spec import CheckpointSpec, dtype_name
from uds_bench.checkpoints.stored import FLOATS
from uds_bench.checkpoints.weights import opened, weight_files
from uds_bench.errors import CheckpointError
from uds_bench.storage import load_json


def require_as_stored(name: str, spec: CheckpointSpec, device: str) -> None:
    """Refuse a checkpoint whose weights would be rounded before it is judged. Whoever loads them unrounded has a model
    that nobody judged, and what two large weights say by their difference is lost by rounding.

    A quantized one is judged, and told, as quantized.

    Raises:
        CheckpointError: A tensor would change in the dtype that it is computed in.
    """
    if spec.quantization is not None:
        return
    folders, dtype = resolve(spec), getattr(torch, dtype_name(spec, device))
    kept = "" if folders.adapter is None else tuner_prefix(folders.adapter)
    adapter = () if folders.adapter is None else weight_files(folders.adapter, "adapter_model")
    for file in (*weight_files(folders.model), *adapter):
        if (found := rounded(file, dtype, kept if file in adapter else "")) is not None:
            stored, wanted = (str(one).removeprefix("torch.") for one in (found[1], dtype))
            raise CheckpointError(
                f"{name} ({spec.model}): {found[0]} is stored in {stored}, and would be judged in {wanted}, where it "
                f'is another: save the model in {wanted}, or set dtype = "{stored}" for it and for its references'
            )


def tuner_prefix(folder: Path) -> str:
    """The prefix of the names of an adapter's own layers, which PEFT computes in float32 whatever the model is in. It
    is "" if there is none, or if the file cannot be read, which loading tells."""
    from peft.mapping import PEFT_TYPE_TO_PREFIX_MAPPING  # takes seconds to import

    try:
        kind = load_json((folder / ADAPTER_CONFIG).read_bytes())["peft_type"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return str(PEFT_TYPE_TO_PREFIX_MAPPING.get(kind, ""))


def rounded(file: Path, dtype: torch.dtype, kept: str = "") -> tuple[str, torch.dtype] | None:
    """The first tensor of a file that changes in a dtype, and the dtype that it is stored in; None if none changes.
    `kept`: the prefix of the names of layers that keep their dtype.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from safetensors.torch import save_file
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder) / "model.safetensors"
        ...     save_file({"half": torch.tensor([0.5]), "tenth": torch.tensor([0.1])}, file)
        ...     rounded(file, torch.float32), rounded(file, torch.bfloat16)
        (None, ('tenth', torch.float32))
    """
    with opened(file) as weights:
        for name in sorted(weights.keys()):
            stored = FLOATS.get(weights.get_slice(name).get_dtype(), dtype)
            # Most tensors need not be read: nothing is lost in a wider dtype.
            is_narrower = torch.promote_types(stored, dtype) != dtype and not (kept and f".{kept}" in name)
            if is_narrower and is_rounded(weights.get_tensor(name), dtype):
                return name, stored
    return None


def is_rounded(tensor: torch.Tensor, dtype: torch.dtype) -> bool:
    """Whether a number of a tensor changes in a dtype; `AT_ONCE` of them are compared at a time."""
    flat = tensor.reshape(-1)
    parts = (flat[start : start + AT_ONCE] for start in range(0, len(flat), AT_ONCE))
    return any(not torch.equal(part, part.to(dtype).to(part.dtype)) for part in parts)


AT_ONCE = 1 << 24
"""Numbers that are compared at a time."""
