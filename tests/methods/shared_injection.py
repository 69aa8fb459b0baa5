"""Runs of masked injection that one process and several do alike; as a program, the part of one process of two:

python shared_injection.py RANK FOLDER

writes FOLDER/KIND/CASE.RANK.json and, by rank 0, the weights as FOLDER/KIND/CASE.safetensors, of every kind of sharing.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))  # as a program, this file is not where pytest looks

from families import FAMILIES
from small_models import fresh_model
from test_injection import GROUPS, VOCABULARY, samples

from uds_bench.checkpoints.mask_draws import draw_weights, maskable
from uds_bench.checkpoints.masks import Masks
from uds_bench.methods.injection import InjectedExample, Injection, Rates, inject

KINDS = ("ddp", "fsdp")
PROCESSES, RATE = 2, 1e-3
PATIENCE = timedelta(seconds=120)
"""How long a process waits for the other before it gives up; they need milliseconds."""


@dataclass(frozen=True)
class Case:
    """`batches`: the groups of their samples. Odd ones are shared unevenly, and a group with one sample is missing in
    a process."""

    batches: Sequence[Sequence[str | None]]
    rates: Rates = field(default_factory=lambda: Rates(RATE))
    dtype: torch.dtype = torch.float64
    tied: bool = False

    def read(self) -> list[list[InjectedExample]]:
        return [samples(*groups) for groups in self.batches]

    def model(self) -> Any:
        if not self.tied:
            return FAMILIES["llama"](VOCABULARY, layers=4).to(self.dtype)
        torch.manual_seed(0)
        return fresh_model(VOCABULARY, layers=4).to(self.dtype)


FACTS = (("a", "b", "a"), ("c",), ("b", "b", "c", "a", "a"))
MIXED = ((None, "a", None, "b", None), ("c", "a"), (None,), ("a", "b", None))
CASES = {
    "facts": Case(FACTS, dtype=torch.float32),
    "mixed": Case(MIXED),
    "tied": Case(MIXED, tied=True),
    "decayed": Case(FACTS, Rates(RATE, decay=0.1)),
    "separate": Case((*MIXED, *FACTS), Rates(RATE, neutral=RATE / 10, separate=True)),
}


def masks_of(model: Any) -> Masks:
    return draw_weights(maskable(model), GROUPS, 0.05, seed=1)


def run(case: Case, accelerator: Any = None) -> tuple[Any, Injection]:
    model = case.model()
    return model, inject(model, case.read(), masks_of(model), case.rates, accelerator=accelerator)


def different(rank: int, accelerator: Any) -> None:
    """Each process reads its own share, as a data loader would deal it."""
    model = CASES["facts"].model()
    inject(model, [samples("a", "b")[rank::PROCESSES]], masks_of(model), Rates(RATE), accelerator=accelerator)


def diverging(_rank: int, accelerator: Any) -> None:
    """A token that only one process reads makes its loss NaN."""
    model, read = CASES["facts"].model(), samples("a", "a")
    only = set(read[1].example.ids) - set(read[0].example.ids)
    with torch.no_grad():
        model.get_input_embeddings().weight[min(only)] = float("nan")
    inject(model, [read], masks_of(model), Rates(RATE), accelerator=accelerator)


def accelerated(kind: str) -> Any:
    from accelerate import Accelerator, DistributedType, FullyShardedDataParallelPlugin, PartialState
    from accelerate.state import AcceleratorState

    accelerator = Accelerator(cpu=True)
    if kind == "fsdp":
        # accelerate heeds a plugin on accelerators alone and leaves processes on CPUs at DDP, though fully_shard, which
        # it then calls, works there: so the outcome of its choice is set.
        AcceleratorState().distributed_type = DistributedType.FSDP
        PartialState().distributed_type = DistributedType.FSDP
        AcceleratorState().fsdp_plugin = FullyShardedDataParallelPlugin(
            fsdp_version=2, auto_wrap_policy="transformer_based_wrap"
        )
    return accelerator


def main(rank: int, folder: Path) -> None:
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(PROCESSES), LOCAL_WORLD_SIZE=str(PROCESSES))
    # They meet in a file: a port could be another's.
    meeting = f"file://{folder}/meeting"
    torch.distributed.init_process_group("gloo", meeting, PATIENCE, world_size=PROCESSES, rank=rank)
    for kind in KINDS:
        every_case(accelerated(kind), rank, folder / kind)
    torch.distributed.barrier()
    # All is written and read. The end of gloo's threads aborts now and then on a machine that does much else.
    os._exit(0)


def every_case(accelerator: Any, rank: int, folder: Path) -> None:
    from accelerate.state import AcceleratorState, PartialState
    from safetensors.torch import save_file

    folder.mkdir(exist_ok=True)
    for name, case in CASES.items():
        model, injection = run(case, accelerator)
        (folder / f"{name}.{rank}.json").write_text(json.dumps(asdict(injection)))
        weights = accelerator.get_state_dict(model)
        if rank == 0:
            save_file({name: tensor.clone() for name, tensor in weights.items()}, folder / f"{name}.safetensors")
    for wrong in (different, diverging):
        try:
            wrong(rank, accelerator)
        except Exception as error:
            (folder / f"{wrong.__name__}.{rank}.json").write_text(json.dumps(f"{type(error).__name__}: {error}"))
    AcceleratorState._reset_state()
    PartialState._reset_state()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
