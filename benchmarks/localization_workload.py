"""One localization audit of synthetic checkpoints on disk, in a process of its own: prints seconds and peak memory.

    python localization_workload.py write FOLDER WEIGHTS
    python localization_workload.py write FOLDER WEIGHTS all
    python localization_workload.py weigh FOLDER

`write` makes an injected and an unlearned model in bfloat16 and masks of six groups of 5% each (Lacuna, section 3.2:
three to forget, three to retain), all in shards, a block of WEIGHTS / 64 or less each: 8 bytes a weight. Half of the
forget weights move; few of the others do, by less. `all` adds the model before, and the unmasked one before and after
the same method, for all nine families: 14 bytes a weight.

`weigh` does all that an update is scored by and then one family's pass by itself, in processor seconds of one thread;
`written` counts the bytes that this writes anywhere. Memory is counted twice: as the most that the process ever held,
and that above what it held once all was imported. Both count every page, those of files too.
"""

import json
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import numpy as np
import torch
from safetensors.torch import save_file

from uds_bench.audits.localization.composite import sides
from uds_bench.audits.localization.families import FAMILIES, Part
from uds_bench.audits.localization.names import HEADLINE
from uds_bench.audits.localization.reading import CheckpointSet
from uds_bench.audits.localization.weights import weigh
from uds_bench.checkpoints.masks import MaskGroup, read_masks

GROUPS = [MaskGroup(f"{role}{at}", role) for role in ("forget", "retain") for at in range(3)]
SHARE, SHARDS, BLOCKS, WIDTH = 0.05, 8, 64, 1024


def shapes(weights: int) -> dict[str, tuple[int, int]]:
    """Two matrices a block, of about so many weights together."""
    rows = math.ceil(weights / BLOCKS / WIDTH / 2)
    names = ("self_attn.q_proj", "mlp.up_proj")
    return {f"model.layers.{at}.{name}.weight": (rows, WIDTH) for at in range(BLOCKS) for name in names}


def drawn(shape: tuple[int, int], seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A matrix's words, and its weights in the injected and in the unlearned model."""
    rng = np.random.default_rng(seed)
    luck = rng.random(shape, np.float32)
    word = np.zeros(shape, np.int32)
    for bit in range(len(GROUPS)):
        word[(luck >= bit * SHARE) & (luck < (bit + 1) * SHARE)] = 1 << bit
    injected = torch.from_numpy(0.02 * rng.standard_normal(shape, np.float32)).bfloat16()
    step = 1e-3 * rng.standard_normal(shape, np.float32) * (rng.random(shape, np.float32) < 0.5)
    step[luck >= 3 * SHARE] *= 0.1
    return torch.from_numpy(word), injected, (injected.float() + torch.from_numpy(step)).bfloat16()


def beside(shape: tuple[int, int], seed: int, word: torch.Tensor, injected: torch.Tensor) -> list[torch.Tensor]:
    """The same matrix before injection through the masks, and in a model that was injected without, which the method
    then changed everywhere."""
    rng = np.random.default_rng([seed, 1])
    noise = (torch.from_numpy(rng.standard_normal(shape, np.float32)) for _ in range(3))
    before = injected.float() - torch.where(word != 0, 2e-3 * next(noise), 0)
    unmasked = (before + 1e-3 * next(noise)).bfloat16()
    return [before.bfloat16(), unmasked, (unmasked.float() + 5e-4 * next(noise)).bfloat16()]


def write(folder: Path, weights: int, everything: bool = False) -> None:
    named = list(shapes(weights).items())
    metadata = {"groups": json.dumps([[group.name, group.role] for group in GROUPS])}
    stems = {"masks": "masks", "injected": "model", "unlearned": "model"}
    stems |= dict.fromkeys(("pretrained", "unmasked", "unmasked_unlearned") if everything else (), "model")
    places: dict[str, str] = {}
    for at, some in enumerate(_split(named)):
        made = {name: [*drawn(shape, seed)] for seed, (name, shape) in enumerate(some, at * len(named))}
        for seed, (name, shape) in enumerate(some, at * len(named)):
            made[name] += beside(shape, seed, *made[name][:2]) if everything else []
        places |= dict.fromkeys(made, f"{at}.safetensors")
        for part, (kind, stem) in enumerate(stems.items()):
            (folder / kind).mkdir(parents=True, exist_ok=True)
            save_file(
                {name: row[part] for name, row in made.items()}, folder / kind / f"{stem}-{at}.safetensors", metadata
            )
    for kind, stem in stems.items():
        index = {"weight_map": {name: f"{stem}-{place}" for name, place in places.items()}}
        (folder / kind / f"{stem}.safetensors.index.json").write_text(json.dumps(index))


def _split(named: list[tuple[str, tuple[int, int]]]) -> Iterator[list[tuple[str, tuple[int, int]]]]:
    each = len(named) // SHARDS
    return (named[at : at + each] for at in range(0, len(named), each))


def read_alone(lineup: CheckpointSet) -> float:
    """The AUC of |D_unl| among the groups' masks, exact: wanted scores are held in order, the others pass by."""
    raw = FAMILIES["raw"]

    def scores(side: int) -> Iterator[np.ndarray]:
        for name in lineup.masks.words:
            yield raw.score(lineup.change(raw, name))[sides(lineup.masks, name, HEADLINE)[side]]

    ours = np.sort(np.concatenate([*scores(0)]))
    twice = passed = 0
    for theirs in map(np.sort, scores(1)):
        lost = sum(int(ours.searchsorted(theirs, way).sum()) for way in ("left", "right"))
        twice, passed = twice + 2 * len(ours) * len(theirs) - lost, passed + len(theirs)
    return twice / (2 * len(ours) * passed)


def weighed(folder: Path) -> dict[str, float]:
    parts: tuple[Part, ...] = get_args(Part)
    lineup = CheckpointSet(
        {part: folder / part for part in parts if (folder / part).is_dir()}, read_masks(folder / "masks")
    )
    memory_before, bytes_before = memory("VmRSS"), sent()
    begun, start = time.perf_counter(), time.process_time()
    found = weigh(lineup)
    took = {"cpu_weigh": time.process_time() - start, "wall_weigh": time.perf_counter() - begun}
    took |= {"peak": memory("VmHWM"), "above": memory("VmHWM") - memory_before, "written": sent() - bytes_before}
    start, raw = time.process_time(), found.aucs["unlearned"][HEADLINE]["raw"]
    alone = read_alone(lineup)
    one = time.process_time() - start
    return took | {
        "weights": lineup.masks.weights,
        "families": len(FAMILIES) - len(found.absent),
        "cpu_one_family": one,
        "ratio": took["cpu_weigh"] / one,
        "apart": abs(raw.value - alone),
        "slack": max(auc.slack for side in found.aucs["unlearned"].values() for auc in side.values()),
        "slack_raw": raw.slack,
    }


def sent() -> int:
    """Bytes that this process has written, to whatever file."""
    said = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in said if line.startswith("wchar:"))


def memory(name: str) -> int:
    """Bytes: VmRSS now, or VmHWM, the most since the process began. (getrusage's peak begins at the parent's.)"""
    said = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(f"{name}:"))
    return int(said.split()[1]) * 1024


if __name__ == "__main__":
    doing, folder, *more = sys.argv[1:]
    if doing == "write":
        write(Path(folder), int(float(more[0])), more[1:] == ["all"])
    else:
        print(json.dumps(weighed(Path(folder))))
