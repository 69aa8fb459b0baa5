"""The how-to page of an audit, step by step: a copy of the example is installed, and its claims are decided."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from small_runs import Bench

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "howto" / "audit.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def run(command: str, folder: Path, **known: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    words = ["bash", "-euo", "pipefail", "-c", command]
    return subprocess.run(
        words, cwd=folder, env=os.environ | {"PATH": path} | known, capture_output=True, text=True, check=False
    )


def test_a_copy_of_the_example_becomes_an_audit_of_ones_own(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a network, and beside the environment of the tests: what is built is put into a folder of its own."""
    folder, site = bench.folder, bench.folder / "site"
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "runs").mkdir()
    for name, model in {"full": "full", "retain": "retain", "ours": "copy"}.items():
        (folder / "runs" / name).symlink_to(bench.models / model)
    rows = [json.loads(line) for line in (bench.models / "facts.jsonl").read_text().splitlines()]
    told = [{"id": row["id"], "text": f"{row['question']} {row['answer']}"} for row in rows if row["split"] == "forget"]
    (folder / "passages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in told))
    (folder / "uds.toml").write_text(blocks("toml")[0])
    made, judged = blocks("bash")
    pip = {"PIP_TARGET": str(site), "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1"}
    installed = run(made, folder, **pip)
    assert installed.returncode == 0, installed.stderr
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")])))
    ran = run(f"{judged.strip()} --uds-json run.json -p no:cacheprovider", folder)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    verdicts = {claim["id"]: claim["verdict"] for claim in json.loads((folder / "run.json").read_text())["claims"]}
    assert verdicts == {"mine.forgotten": "fail", "mine.level": "not applicable"}, "the full model's copy is caught"
    page = next((folder / "reports").rglob("*.html")).read_text()
    assert "mine.forgotten" in page
    written = run("uds-bench init new", folder)
    assert written.returncode == 0, written.stderr
    assert "#[mine]\n" in (folder / "new" / "uds.toml").read_text()
