"""What a score takes beside its own computing, by the processor's time: other work on the machine counts little."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("cells", [300, 3_000])
@pytest.mark.parametrize(("engine", "goal"), [("local", 20), pytest.param("ray", 60, marks=pytest.mark.needs("ray"))])
def test_a_score_takes_some_milliseconds_beside_its_model(engine: str, goal: int, cells: int) -> None:
    """As a process of its own, whose time is counted with that of all that it starts: of 300 scores most of it."""
    code = f"import json, many_cells; print(json.dumps(many_cells.overhead({engine!r}, {cells})))"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout.splitlines()[-1])
    assert told["cells"] == cells
    assert told["ms a cell"]["processor"] <= goal, told
