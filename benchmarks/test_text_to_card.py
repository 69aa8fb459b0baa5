"""From TOFU's text to a release card, by a model of half a million weights: it ends, and tells what it was to tell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_the_text_comes_to_a_card(tmp_path: Path) -> None:
    if "UDS_BENCH_DATA" not in os.environ:
        pytest.skip("not applicable: UDS_BENCH_DATA names no folder of public data")
    script, out = Path(__file__).with_name("text_to_card.py"), tmp_path / "found.json"
    data = Path(os.environ["UDS_BENCH_DATA"]) / "tofu"
    small = ("--size", "small", "--minutes", "0.02", "--metrics", "em", "--set", "epochs=1")
    command = [sys.executable, str(script), *small, "--data", str(data), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    found = json.loads(out.read_text())
    assert set(found["seconds"]) == {"unlearn", "plan", "score", "plan_of_gate", "gate", "card"}
    for taken, announced in (("score", "announced"), ("gate", "announced_of_gate")):
        told = sum(one["seconds"] for one in found[announced])
        assert found["announced_over_taken"][taken] == pytest.approx(told / found["seconds"][taken])
        assert told > 0
    assert found["card"]
