"""A sample that an audit is tried on: a manifest of small models, and what pytest makes of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path

from uds_bench.audits import registry
from uds_bench.claims.fact_rows import read_report
from uds_bench.claims.run_report import RunReport
from uds_bench.scores import ADDRESS

Ended = tuple[int, str]
"""An exit code, and all that was printed."""


def in_another_process(args: Sequence[str]) -> Ended:
    """Run pytest as a user does, outside of any other run."""
    ours = ("PYTEST_", "GITHUB_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours) and name != "CI"}
    done = subprocess.run([sys.executable, "-m", "pytest", *args], capture_output=True, text=True, env=clean)
    return done.returncode, done.stdout + done.stderr


def by_a_command(args: Sequence[str]) -> str:
    """What `uds-bench` prints, run as a user does."""
    program = [sys.executable, "-c", "from uds_bench.cli import main; main()"]
    done = subprocess.run([*program, *args], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"uds-bench {args[0]} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


@dataclass(frozen=True)
class Sample:
    """`manifest` names small models in folders; a fact, or whatever else a report has of its data, holds
    `conformance.ATTACK`. `suites`: test files that decide every claim of the audit. `folder`: what runs leave behind.
    `wrong`: controls that come out wrong, as other models are in their place. `store`: where scores are kept, else in
    that folder. `unasked`: claims that its manifest does not ask for. `run` runs pytest, and `ask` the command
    line, with the arguments given."""

    manifest: Path
    suites: Sequence[Path]
    folder: Path
    wrong: Sequence[str] = ()
    store: Path | None = None
    unasked: Sequence[str] = ()
    run: Callable[[Sequence[str]], Ended] = in_another_process
    ask: Callable[[Sequence[str]], str] = by_a_command

    @property
    def kept(self) -> Path:
        """Where scores are kept."""
        return self.store or self.folder / "store"

    def judge(self, name: str, *args: str) -> SampleRun:
        """One run of the suites; what it leaves is called `name`."""
        place, page = self.folder / f"{name}.json", self.folder / name
        options = {"manifest": self.manifest, "store": self.kept, "json": place, "html": page}
        given = [text for option, path in options.items() for text in (f"--uds-{option}", str(path))]
        code, printed = self.run(["-p", "no:cacheprovider", *map(str, self.suites), *given, *args])
        if not place.exists():
            raise AssertionError(f"a run of the sample ended with {code} and no report: {printed[-2000:]}")
        report = read_report(json.loads(place.read_text(encoding="utf-8")), place, registry.parts())
        return SampleRun(printed, report, _shown(page))

    def published(self, name: str) -> str:
        """The page to publish of a run, with every part opened and all that its scripts show, as text."""
        page = self.folder / f"{name}-published"
        self.ask(["report", str(self.folder / f"{name}.json"), "--out", str(page), "--redact"])
        return unescape(_shown(page, facts=True))

    def planned(self, audit: str) -> set[tuple[str, ...]]:
        """What `uds-bench plan` says that an audit would score: checkpoint, attack, metric and variant of each."""
        asked = ["--manifest", str(self.manifest), "--store", str(self.kept), "--audits", audit]
        cells = json.loads(self.ask(["plan", "--json", *asked]))["cells"]
        return {tuple(cell[key] for key in ADDRESS) for cell in cells}


@dataclass(frozen=True)
class SampleRun:
    """One run of a sample: what it printed, its report, and its page with every part opened."""

    printed: str
    report: RunReport
    page: str


def _shown(folder: Path, facts: bool = False) -> str:
    parts = [file.read_text(encoding="ascii") for file in sorted((folder / "parts").glob("*.js"))]
    read = [json.loads(part.partition(",")[2].removesuffix(");\n")) for part in parts]
    opened = [one["html"] + (json.dumps(one["facts"], ensure_ascii=False) if facts else "") for one in read]
    return "\n".join([(folder / "index.html").read_text(encoding="utf-8"), *opened])
