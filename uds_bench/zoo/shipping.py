"""Making the shipped models: trained by their recipes, rounded to fp16, written with an index of their digests."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file, save_file

import uds_bench
from uds_bench.checkpoints.masks import MASKS, Masks, read_masks, write_masks
from uds_bench.errors import ConfigurationError
from uds_bench.storage import canonical, file_digest, write_atomic
from uds_bench.zoo import recipes, training
from uds_bench.zoo.specimens import INDEX, SCHEMA

WEIGHTS = "model.safetensors"
COPIED = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja")
COMMAND = "uds-bench zoo specimens --rebuild DIR"


def rebuild(folder: Path, cache: Path, console: Any = None) -> Path:
    """Train every specimen, where `cache` does not have it, and write all of them into a new or empty folder."""
    if folder.exists() and any(folder.iterdir()):
        raise ConfigurationError(f"{folder} is not empty: name a new folder for the specimens")
    trained = training.paths(recipes.shipped(), cache, console)
    for name in recipes.shipped():
        _write(trained[name], folder / name)
    entries = {name: _entry(name, folder / name) for name in recipes.shipped()}
    document = {"schema": SCHEMA, "made": _made(), "specimens": entries}
    write_atomic(folder / INDEX, canonical(document) + b"\n")
    return folder


def _write(trained: Path, place: Path) -> None:
    place.mkdir(parents=True)
    for file in COPIED:
        if (trained / file).exists():
            shutil.copyfile(trained / file, place / file)
    save_file(_halved(load_file(trained / WEIGHTS)), place / WEIGHTS, metadata={"format": "pt"})
    if (trained / MASKS).exists():
        masks = read_masks(trained / MASKS)
        # Six groups fit into a byte: a quarter of the size.
        words = {name: word[:].to(torch.uint8) for name, word in masks.words.items()}
        write_masks(Masks(words, masks.groups), place / MASKS)


def _halved(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The weights in half precision. Raises ConfigurationError for one beyond its range."""
    halved = {name: weight.to(torch.float16).contiguous() for name, weight in weights.items()}
    for name, weight in halved.items():
        if not torch.isfinite(weight).all():
            raise ConfigurationError(f"weight {name} does not fit into fp16: this model cannot be shipped")
    return halved


def _entry(name: str, place: Path) -> dict[str, Any]:
    recipe = recipes.find(name)
    return {
        "role": recipes.shipped()[name],
        "parent": recipes.ancestor(name),
        "recipe": recipes.content(recipe),
        "key": recipes.key(name),
        "files": {file.name: file_digest(file) for file in sorted(place.iterdir())},
    }


def versions() -> dict[str, str]:
    """The versions of all that a shipped model's numbers depend on."""
    found = {"uds_bench": uds_bench.__version__, "torch": torch.__version__}
    return found | {"transformers": transformers.__version__, "python": platform.python_version()}


def _made() -> dict[str, str]:
    kernels = torch.backends.cpu.get_cpu_capability()
    return {"command": COMMAND, "commit": _commit(), "kernels": kernels, **versions()}


def _commit() -> str:
    """The commit that the recipes are of; "unknown" outside a checkout."""
    try:
        run = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
        return subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
