"""How far two models of a pool lie apart, as `depth.score` tells copies, and what copies do to the cut between pools:
`python benchmarks/pool_copies.py`.

Shipped models: the full model rounded, or with noise on its weights, and pairs that differ in their seed alone.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from uds_bench.audits.depth.reading import act_alike, pool_cut
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.facts import load_facts
from uds_bench.scores import Score
from uds_bench.scoring.metric_runner import MetricRunner
from uds_bench.scoring.runner import ScoreRequest
from uds_bench.scoring.store import Store
from uds_bench.zoo import specimens

SPREADS = (0.1, 0.15, 0.2, 0.25)
"""Standard deviations of the noise, in those of each matrix."""
NEVER, KNOW = ("retain2", "others_r3_e20", "perturbed_r3_e20"), ("full2", "paraphrase_r3_e20", "plain_r5_e15")
"""Honest pools of shipped models."""


def noisy(spread: float, folder: Path) -> Path:
    """The full model with normal noise on each matrix, saved."""
    source = specimens.folder("full")
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32)
    draw = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight += spread * weight.std() * torch.randn(weight.shape, generator=draw)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(source).save_pretrained(folder)
    return folder


def apart(one: Score, other: Score) -> float:
    """Sum of differences of drops over that of the retain model's, over facts and layers: 0 where they act alike."""
    pairs = zip(one.per_fact, other.per_fact, strict=True)
    rows = [(a.detail["drops"], b.detail["drops"], b.detail["retain_drops"]) for a, b in pairs]
    first, second, retain = (np.concatenate([np.array(row[at], dtype=float) for row in rows]) for at in range(3))
    return float(np.abs(first - second).sum() / np.abs(retain).sum())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as root:
        full = str(specimens.folder("full"))
        specs = {name: CheckpointSpec(str(specimens.folder(name))) for name in ("full", "retain", *NEVER, *KNOW)}
        specs |= {"bfloat16": CheckpointSpec(full, dtype="bfloat16"), "nf4": CheckpointSpec(full, quantization="nf4")}
        specs |= {f"noise {one}": CheckpointSpec(str(noisy(one, Path(root) / str(one)))) for one in SPREADS}
        runner = MetricRunner(specs, load_facts("authors"), Store(Path(root) / "store"))
        scores = {name: runner.score(ScoreRequest(name, "uds")) for name in specs}
        pairs = [("full", name) for name in specs if name not in ("full", "retain", *NEVER, *KNOW[1:])]
        for one, other in (*pairs, ("retain", "retain2")):
            print(f"{one}, {other}: {apart(scores[one], scores[other]):.5f}")
        copies = [name for name in specs if name.startswith("noise") and not act_alike(scores["full"], scores[name])]
        for knows in (KNOW, (copies[0], *KNOW[1:]), copies):
            cut = pool_cut([scores[name] for name in knows], [scores[name] for name in NEVER])
            print(f"cut between {', '.join(knows)} and who never knew: {cut}")
