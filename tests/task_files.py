"""Task files of lm-evaluation-harness with documents of their own, on this machine alone."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml


def documents(count: int, seed: int = 0, uneven: bool = False) -> list[dict[str, Any]]:
    """Questions with two to five numbers to choose from, any of them right; `uneven`: numbers of two to five digits,
    of which a model without a clue prefers the shortest."""
    draw, found = random.Random(seed), []
    for at in range(count):
        digits = [draw.randint(2, 5) if uneven else 4 for _ in range(2 + at % 4)]
        choices = [str(draw.randrange(10 ** (n - 1), 10**n)) for n in digits]
        question = f"Question {seed}.{at}: what is her number?"
        found.append({"question": question, "choices": choices, "right": draw.randrange(len(choices))})
    return found


def write_task(folder: Path, name: str, listed: Sequence[dict[str, Any]], **changes: Any) -> Path:
    """`NAME.yaml` in `folder`, whose documents lie beside it; `changes` of its settings: None leaves one out."""
    folder.mkdir(parents=True, exist_ok=True)
    data = folder.parent / f"{name}.json"
    data.write_text("\n".join(json.dumps(one) for one in listed))
    settings = {
        "task": name,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(data)}, "cache_dir": str(folder.parent / "read")},
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": "{{question}}\nAnswer:",
        "doc_to_choice": "choices",
        "doc_to_target": "right",
        "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}],
    } | changes
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in settings.items() if value is not None}))
    return path


def write_group(folder: Path, name: str, members: Sequence[str]) -> None:
    settings = {
        "group": name,
        "task": list(members),
        "aggregate_metric_list": [{"metric": "acc", "weight_by_size": True}],
    }
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(settings))
