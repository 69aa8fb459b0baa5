"""The how-to page of a method, step by step: its function is put through the gate by the command."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "method.md").read_text()


@pytest.mark.slow
def test_the_method_of_the_page_is_judged(tmp_path: Path) -> None:
    """By depth alone: each audit takes its own minutes, and all are told in one table."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    (command,) = re.findall(r"^`(uds-bench gate-method [^`]+)`", PAGE, flags=re.MULTILINE)
    (tmp_path / "ours.py").write_text(code)
    program = str(Path(sys.executable).parent / command.split()[0])
    words = [program, *command.split()[1:], "--audits", "depth", "--out", "made", "--store", "store", "--json"]
    known = os.environ | {"UDS_BENCH_CACHE": str(tmp_path / "cache")}
    ran = subprocess.run(words, cwd=tmp_path, env=known, capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 1), ran.stderr
    card = json.loads(ran.stdout)
    assert card["problems"] == []
    verdicts = {row["claim"]: row["verdict"] for row in card["rows"]}
    assert {"depth.score", "depth.spared"} <= set(verdicts)
    assert all(verdicts.values())
