"""Where the weights of a model go: to one device, or, where a GPU is too small for all of them, to main memory too."""

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from uds_bench.checkpoints.spec import CheckpointSpec
from uds_bench.checkpoints.stored import stored
from uds_bench.errors import UdsWarning

SHARE = 0.8
"""Of a GPU's free memory that weights may take: the rest is for what flows through them."""


def placement(spec: CheckpointSpec, files: Sequence[Path], dtype: torch.dtype, device: torch.device) -> dict[str, Any]:
    """What `from_pretrained` is told of devices: all on `device`, or as many blocks as a GPU has room for.

    Args:
        spec: The checkpoint; in four bits it is never spread.
        files: Its safetensors files.
        dtype: What the weights are loaded in.
        device: Where it computes, in any case.

    Returns:
        `device_map`, with `max_memory` (bytes by device) where blocks are left in main memory.

    Example:
        >>> placement(CheckpointSpec("runs/npo"), [], torch.float32, torch.device("cpu"))
        {'device_map': {'': device(type='cpu')}}
    """
    whole = {"device_map": {"": device}}
    if device.type != "cuda" or not torch.cuda.is_available() or spec.quantization is not None:
        return whole
    needed = sum(math.prod(one.shape) for file in files for one in stored(file)[0].values()) * dtype.itemsize
    room = int(SHARE * _free_bytes(device))
    if needed <= room:
        return whole
    warnings.warn(
        f"{spec.model}: its {needed / 1e9:.2f} GB of weights do not fit into the {room / 1e9:.2f} GB that {device} can "
        "give them: the last blocks stay in main memory and are copied for each pass, which takes longer",
        UdsWarning,
        stacklevel=2,
    )
    index = torch.cuda.current_device() if device.index is None else device.index
    return {"device_map": "auto", "max_memory": {index: room, "cpu": math.ceil(1.1 * needed)}}


def _free_bytes(device: torch.device) -> int:
    """Bytes that this process can still take of a GPU: what the driver has left, and what torch keeps for reuse."""
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + kept


def is_spread(model: Any) -> bool:
    """Whether a part of the model waits in main memory until it is used."""
    return len(set(getattr(model, "hf_device_map", {"": ""}).values())) > 1
