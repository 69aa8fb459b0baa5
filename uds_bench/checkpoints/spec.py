"""What names a checkpoint, and the few numbers that its configuration tells without any weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from uds_bench.errors import CheckpointError, did_you_mean

if TYPE_CHECKING:
    import torch

Dtype = Literal["float32", "bfloat16", "float16"]
Quantization = Literal["nf4", "int8"]


@dataclass(frozen=True)
class CheckpointSpec:
    """Anything loadable: a folder or hub id, with an optional adapter, quantization, dtype and hub revision.

    `dtype=None` means float32 on a CPU and bfloat16 on a GPU. `revision` belongs to `model`.
    """

    model: str
    adapter: str | None = None
    quantization: Quantization | None = None
    dtype: Dtype | None = None
    revision: str | None = None

    def __post_init__(self) -> None:
        if not self.model:
            raise CheckpointError("a checkpoint has an empty model name: give a folder or a hub id")
        for key, value, allowed in (
            ("quantization", self.quantization, get_args(Quantization)),
            ("dtype", self.dtype, get_args(Dtype)),
        ):
            if value is not None and value not in allowed:
                raise CheckpointError(
                    f"checkpoint {self.model}: {key} = {value!r} is unknown: {did_you_mean(value, allowed)}"
                )


@dataclass(frozen=True)
class Shape:
    """The shape of a decoder: `family` is HF's model type, `vocabulary` the number of logits."""

    family: str
    layers: int
    width: int
    vocabulary: int


def dtype_name(spec: CheckpointSpec, device: str | torch.device = "cpu") -> Dtype:
    """The dtype that `spec` computes in on `device`."""
    return spec.dtype or ("float32" if str(device).partition(":")[0] == "cpu" else "bfloat16")


SCHEME, SPECIMEN = "zoo:", "specimen:"
EMBEDDED = (SCHEME, SPECIMEN)


def plain(model: str) -> str:
    """The name of an embedded model's recipe; anything else as it is."""
    return model.removeprefix(SCHEME).removeprefix(SPECIMEN)
