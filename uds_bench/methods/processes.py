"""Processes that train one model together, each on its share of every batch: DDP and FSDP, through accelerate."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, TypeVar

import torch

from uds_bench.errors import ConfigurationError

T = TypeVar("T")


class Processes:
    """Those of an `accelerate.Accelerator`; without one, this process alone.

    DDP: each holds all weights. FSDP (fully_shard, `fsdp_version=2`): each holds its rows of every parameter, as a
    DTensor. Losses are sums over a batch, so what processes find is added up and never averaged.

    Raises ConfigurationError for any other way to split a model, and for fp16, whose scaled gradients no one unscales.
    """

    def __init__(self, accelerator: Any = None) -> None:
        if accelerator is not None:
            _check(accelerator)
        self._accelerator = accelerator
        self.count: int = 1 if accelerator is None else accelerator.num_processes
        self.sharded: bool = accelerator is not None and accelerator.is_fsdp2

    def prepare(self, model: Any, optimizers: Sequence[torch.optim.Optimizer]) -> tuple[Any, Sequence[Any]]:
        """The model on its device, split where it is to be, and the optimizers of its parameters.

        DDP's wrapper is left off, as it would add gradients up before they are masked; the first process's weights it
        has given to all by then. Sharding changes the model in place and expects the same weights everywhere.
        """
        if self._accelerator is None:
            return model, optimizers
        prepared, *others = self._accelerator.prepare(model, *optimizers)
        return self._accelerator.unwrap_model(prepared), others

    def share(self, items: Sequence[T], first: int) -> Sequence[T]:
        """Of items that are dealt out in turn, process number `first` (modulo all) beginning: this process's."""
        if self.count == 1:
            return items
        return items[(self._accelerator.process_index - first) % self.count :: self.count]

    def split(self, whole: torch.Tensor, parameter: Any) -> torch.Tensor:
        """A tensor of a parameter's shape, to be used with it: on its device, and sharded as it is."""
        if not self.sharded:
            return whole.to(parameter.device)
        from torch.distributed.tensor import distribute_tensor

        # Every process has the whole tensor: each cuts out its own part, and nothing is sent.
        whole = whole.to(parameter.device)
        return distribute_tensor(whole, parameter.device_mesh, parameter.placements, src_data_rank=None)

    def held(self, tensor: Any) -> torch.Tensor:
        """What this process holds of a parameter, or of what was split as one."""
        here: torch.Tensor = tensor.detach().to_local() if self.sharded else tensor.detach()
        return here

    def added(self, gradient: torch.Tensor) -> torch.Tensor:
        """The sum over processes of a gradient; of a sharded one the backward pass has left the mean."""
        if self.count == 1:
            return gradient
        if self.sharded:
            return gradient.mul_(self.count)
        total: torch.Tensor = self._accelerator.reduce(gradient, "sum")
        return total

    def each(self, value: torch.Tensor) -> torch.Tensor:
        """What every process has, [processes, *its shape], on the CPU."""
        if self.count == 1:
            return value.cpu().unsqueeze(0)
        found: torch.Tensor = self._accelerator.gather(value.to(self._accelerator.device).unsqueeze(0))
        return found.cpu()

    def check_same(self, batch: Sequence[Any]) -> None:
        """Raises ConfigurationError, in every process, where they were not all given the same batch."""
        if self.count == 1:
            return
        if len(set(self.each(torch.tensor(zlib.crc32(repr(batch).encode()))).tolist())) > 1:
            raise ConfigurationError(
                "injection: the processes were given different batches: give each the whole of every batch, and no "
                "data loader that deals them out"
            )


def _check(accelerator: Any) -> None:
    kind = str(accelerator.distributed_type.value)
    if not (accelerator.is_fsdp2 or kind == "NO" or kind.startswith("MULTI_")):
        raise ConfigurationError(f"injection under {kind}: use DDP, or FSDP with fsdp_version=2")
    split = getattr(accelerator, "parallelism_config", None)
    if split is not None and split.total_size != split.dp_shard_size:
        raise ConfigurationError("injection: a parallelism_config may shard over data (dp_shard_size) and nothing else")
    if accelerator.mixed_precision not in ("no", "bf16"):
        raise ConfigurationError(f"injection in {accelerator.mixed_precision}: use bf16, or no mixed precision")
