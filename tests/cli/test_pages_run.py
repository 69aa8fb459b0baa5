"""Commands of pages that need no model are run as they stand there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

HOWTO = Path(__file__).parents[2] / "docs" / "howto"


def run(page: str, block: int, folder: Path) -> str:
    """Runs a shell block of a page, and returns what it prints."""
    command = re.findall(r"```bash\n(.*?)```", (HOWTO / page).read_text(), flags=re.DOTALL)[block]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    words, known = ["bash", "-euo", "pipefail", "-c", command], os.environ | {"PATH": path}
    ran = subprocess.run(words, cwd=folder, env=known, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_doubtful_entities_are_corrected(tmp_path: Path) -> None:
    asked = {
        "Where was Ann Bly born?": "Ann Bly was born in Oslo.",
        "What does Ann Bly write?": "Ann Bly writes poems.",
        "Which prize has Ann Bly won?": "Ann Bly, who writes of ships and storms, has won the Laurel Prize twice.",
    }
    lines = [json.dumps({"question": question, "answer": answer}) for question, answer in asked.items()]
    (tmp_path / "questions.jsonl").write_text("\n".join(lines))
    run("annotate.md", 0, tmp_path)
    assert (tmp_path / "failed.jsonl").is_file()
    run("annotate.md", 1, tmp_path)
    found = [json.loads(line) for line in (tmp_path / "facts.jsonl").read_text().splitlines()]
    assert "Laurel Prize" in {fact["entity"] for fact in found}


def test_a_request_is_written_and_listed(tmp_path: Path) -> None:
    said = run("request.md", 0, tmp_path)
    assert "r7" in said
    assert "2026-01-31" in said
    assert "Jaskik" not in said.splitlines()[-1]
    (request,) = [json.loads(line) for line in (tmp_path / "requests.jsonl").read_text().splitlines()]
    assert "Jaskik Yostirdral" in json.dumps(request)
