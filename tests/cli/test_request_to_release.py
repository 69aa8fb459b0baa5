"""From a request to a release, as the tutorial walks it: real models, a real method, and the identity beside it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def walk() -> str:
    """The commands of the tutorial."""
    section = (ROOT / "docs" / "tutorials" / "request_to_release.md").read_text()
    found = re.search(r"```bash\n(.*?)```", section, flags=re.DOTALL)
    assert found
    return found.group(1)


@pytest.mark.slow
def test_the_gate_tells_a_method_from_none(tmp_path: Path) -> None:
    (tmp_path / "suites").symlink_to(ROOT / "suites")
    # Claims that fail end pytest with 1, as they should: what they came to is read from the report.
    line = f"{walk().rstrip()} --uds-json run.json -p no:cacheprovider || true"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    subprocess.run(["bash", "-euo", "pipefail", "-c", line], cwd=tmp_path, check=True, env={**os.environ, "PATH": path})
    rows = [json.loads(text) for text in (tmp_path / "forget.jsonl").read_text().splitlines()]
    assert {row["split"] for row in rows} == {"forget", "retain"}
    assert all(row["evidence"]["strict"]["M"] > 0 for row in rows)
    report = json.loads((tmp_path / "run.json").read_text())
    claims = {claim["name"]: claim for claim in report["claims"]}
    assert claims["association.forgotten[identity]"]["verdict"] == "fail"
    assert claims["association.forgotten[npo]"]["verdict"] == "pass"
    assert claims["association.retained[npo]"]["verdict"] == "pass"
    assert claims["depth.score[identity]"]["verdict"] == "fail"
    assert (tmp_path / "report" / "index.html").exists()
