"""The work whose cost is compared: a plain forward pass, the layer-by-layer loop, and the streams.

As a program it does one of them once and prints how far its memory rose above both models' weights, in bytes:

    python patching_workload.py large plain float32
    python patching_workload.py large streams bfloat16 part-file
"""

import gc
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import transformers
from torch.utils._python_dispatch import TorchDispatchMode

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from references.depth_cases import encoded_fact

from uds_bench.checkpoints import find_anatomy
from uds_bench.inference.batches import EntityBatch, entity_batches
from uds_bench.inference.parts import read_part, write_part
from uds_bench.inference.patching import patched_logprobs
from uds_bench.inference.states import source_states
from uds_bench.inference.streams import FullPart, full_part, streamed_logprobs


@dataclass(frozen=True)
class Size:
    layers: int
    width: int
    inner: int
    vocabulary: int
    facts: int = 8
    tokens: int = 64
    entity: int = 8
    heads: int = 8
    groups: int = 8


SIZES = {
    "1b": Size(16, 2048, 8192, vocabulary=128_256, facts=16, heads=32, groups=8),
    "large": Size(layers=16, width=512, inner=1408, vocabulary=32_000),
    "small": Size(layers=6, width=64, inner=176, vocabulary=1_000),
}


class Workload:
    """A random Llama as the full model, another as the candidate, and facts that end with their entity."""

    def __init__(self, size: Size, dtype: torch.dtype = torch.float32, device: str = "cpu") -> None:
        self.size = size
        self.full, self.candidate = (_model(size, seed, dtype, device) for seed in (0, 1))
        tokens, entity, vocabulary = size.tokens, size.entity, size.vocabulary
        facts = [encoded_fact(i, tokens // 2, tokens - entity, tokens, tokens, vocabulary) for i in range(size.facts)]
        self.batch: EntityBatch = entity_batches(facts, size.facts, device)[0]
        ids = torch.tensor([fact.ids for fact in facts], device=device)
        self.inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    @cached_property
    def part(self) -> FullPart:
        return full_part(self.full, self.batch)

    def plain(self) -> torch.Tensor:
        """One pass as a user calls it: `model(**inputs)`, so with a key-value cache and logits everywhere."""
        with torch.inference_mode():
            logits: torch.Tensor = self.full.model(**self.inputs).logits
        return logits

    def loop(self) -> torch.Tensor:
        """The candidate's states, then one pass of the full model per layer."""
        return patched_logprobs(self.full, self.batch, source_states(self.candidate, self.batch))

    def streams(self, part: FullPart | None = None) -> torch.Tensor:
        """The candidate's states, then all layers' streams, on the full model's stored part."""
        states = source_states(self.candidate, self.batch)
        return streamed_logprobs(self.full, self.batch, part or self.part, states)

    def streams_from_scratch(self) -> torch.Tensor:
        """For the first candidate: the full model's part as well."""
        return self.streams(full_part(self.full, self.batch))


class Launches(TorchDispatchMode):
    """Counts the operations that write memory: on a GPU each is a launch at the least."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        found = func(*args, **(kwargs or {}))
        if isinstance(found, torch.Tensor):
            read = [one.untyped_storage().data_ptr() for one in args if isinstance(one, torch.Tensor)]
            self.count += found.untyped_storage().data_ptr() not in read
        return found


def launches(work: Workload, ways: Sequence[str] = ("plain", "streams", "loop")) -> dict[str, int]:
    """How much each way launches; the width of a model changes no count."""
    found, _ = dict[str, int](), work.part  # it is stored before
    for name in ways:
        with Launches() as seen:
            getattr(work, name)()
        found[name] = seen.count
    return found


def llama(size: Size, seed: int, dtype: torch.dtype, device: str = "cpu") -> Any:
    """A random Llama, made on the device."""
    config = transformers.LlamaConfig(
        vocab_size=size.vocabulary,
        hidden_size=size.width,
        intermediate_size=size.inner,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.groups,
        max_position_embeddings=256,
    )
    with torch.random.fork_rng(devices=[]), torch.device(device):
        torch.manual_seed(seed)
        built: Any = transformers.LlamaForCausalLM
        return built(config).to(dtype).eval().requires_grad_(False)


def _model(size: Size, seed: int, dtype: torch.dtype, device: str) -> Any:
    model = llama(size, seed, dtype, device)
    return SimpleNamespace(model=model, anatomy=find_anatomy(model))


def _memory(field: str) -> int:
    (line,) = [row for row in Path("/proc/self/status").read_text().splitlines() if row.startswith(field)]
    return 1024 * int(line.split()[1])


def peak_above_weights(work: Callable[[], object]) -> int:
    """Bytes by which resident memory rose at most while `work` ran; Linux only."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    before = _memory("VmRSS")
    kept = work()
    peak = _memory("VmHWM") - before
    del kept
    return peak


def main(size: str, way: str, dtype: str, file: str = "") -> None:
    torch.set_num_threads(1)
    workload, small = (Workload(SIZES[which], getattr(torch, dtype)) for which in (size, "small"))
    small.plain(), small.streams()  # what torch and transformers load on first use is nobody's share
    if way == "write":
        write_part(Path(file), workload.part)
    elif way == "streams":

        def stored() -> torch.Tensor:
            part = read_part(Path(file), "cpu")
            assert part is not None, f"{file} cannot be read"
            return workload.streams(part)

        print(peak_above_weights(stored))
    else:
        print(peak_above_weights(getattr(workload, way)))


if __name__ == "__main__":
    main(*sys.argv[1:])
