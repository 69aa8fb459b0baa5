"""The page on GPUs is what its file of figures comes to, and tells what was not measured."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
page = import_module("gpu_page").page
FILE = ROOT / "docs" / "explanation" / "gpu.json"


def test_the_page_is_what_its_file_comes_to() -> None:
    assert page(json.loads(FILE.read_text())) == FILE.with_suffix(".md").read_text()


def test_a_part_that_failed_or_was_stopped_is_told() -> None:
    found = json.loads(FILE.read_text())
    found["parts"] |= {
        "encoder": {"failed": "RuntimeError: no room"},
        "generation": {"stopped": "stopped after 15 s"},
        "score": {"metrics": {}, "stopped": "stopped after 35 s"},
    }
    told = page(found)
    for line in (
        "**encoder**: RuntimeError: no room",
        "**generation**: stopped after 15 s",
        "**score**: stopped after 35 s",
    ):
        assert line in told


def test_a_missed_aim_is_called_so() -> None:
    found = json.loads(FILE.read_text())
    passes = found["parts"]["depth_bfloat16"]
    for ratio, word in ((passes["goal"] + 0.1, "missed"), (passes["goal"] - 0.1, "met")):
        passes["plain_passes"]["streams"] = ratio
        assert f"The aim of {passes['goal']} plain passes is {word}." in page(found)
