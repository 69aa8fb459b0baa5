"""On a GPU: the fast path is the hook path, and a model's own states change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from families import FAMILIES, save_checkpoint, tiny_tokenizer

from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.facts import Fact, FactSet
from uds_bench.inference.target import PatchingTarget

pytestmark = pytest.mark.needs("gpu")

FACTS = FactSet(
    Fact(
        f"f{i}",
        f"c{i}",
        "forget",
        f"Where was {name} born?",
        f"{name} was born in {town}.",
        f"{name} was born in",
        town,
    )
    for i, (name, town) in enumerate(
        [("Mira Solheim", "Tromso"), ("Idris Kamau", "Old Nairobi"), ("Lena Duarte", "Faro")]
    )
)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("family", ["llama", "gemma3", "gpt2"])
def test_patching_on_cuda_equals_cpu(family: str, dtype: str, device: str, tmp_path: Path) -> None:
    specs = []
    for seed in (0, 1):
        model = FAMILIES[family](384, seed=seed)
        folder = save_checkpoint(tmp_path / str(seed), model, tiny_tokenizer(), shards=1)
        specs.append(CheckpointSpec(str(folder), dtype=dtype))
    full, source = (load(spec, device) for spec in specs)
    target = PatchingTarget(full, FACTS)
    assert abs(target.read(full).drops).max() <= (1e-5 if target.path(source=full) == "streams" else 0.0)
    if dtype == "float32":
        there = PatchingTarget(load(specs[0]), FACTS).read(load(specs[1]))
        assert target.read(source).drops == pytest.approx(there.drops, abs=1e-3)
    else:
        by_hook = PatchingTarget(full, FACTS)
        by_hook._path = "hook"
        assert target.read(source).drops == pytest.approx(by_hook.read(source).drops, abs=target.rounding)
