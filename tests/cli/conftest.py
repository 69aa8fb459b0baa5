"""The command itself, and a small real release to run it on: random models that share one tokenizer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from commands import Command, Refused
from families import FAMILIES, save_checkpoint, tiny_tokenizer
from small_runs import made_once
from typer.testing import CliRunner

from uds_bench.claims.fact_rows import with_rows
from uds_bench.cli import main
from uds_bench.metrics import METRICS
from uds_bench.metrics.metric import Metric

SUITE = Path(__file__).parents[2] / "suites" / "test_depth.py"
MODELS = ("full", "retain", "npo")
FED = [metric for metric in METRICS.values() if "holdout" not in metric.splits]
"""The metrics that the facts of `init`, which have no such split, can feed."""


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the user's own cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("UDS_BENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def fed() -> list[Metric]:
    return FED


@pytest.fixture
def command() -> Command:
    """`command("plan", "--json", exit=0)` runs `uds-bench` in this process and returns stdout and stderr."""

    def run(*words: object, exit: int = 0, input: str | None = None) -> Any:
        result = CliRunner().invoke(main, [str(word) for word in words], input=input, prog_name="uds-bench")
        assert result.exit_code == exit, (result.stdout, result.stderr, result.exception)
        assert "Traceback" not in result.output
        return result

    return run


@pytest.fixture
def refused(command: Command) -> Refused:
    """Runs what must be refused with exit 4, and returns the one line that it says on stderr."""

    def run(*words: object) -> str:
        lines = command(*words, exit=4).stderr.strip().splitlines()
        assert len(lines) == 1
        assert lines[0].startswith("uds-bench: error: ")
        return str(lines[0])

    return run


@pytest.fixture(scope="session")
def saved_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `init` leaves it, with its three checkpoints in place; to be read only."""
    folder, tokenizer = tmp_path_factory.mktemp("release"), tiny_tokenizer()
    CliRunner().invoke(main, ["init", str(folder)])
    for seed, name in enumerate(MODELS):
        save_checkpoint(folder / "runs" / name, FAMILIES["llama"](len(tokenizer), seed=seed), tokenizer)
    return folder


@pytest.fixture(scope="session")
def scored(saved_release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every score of the release: `scores.json`, and the store that they are in."""

    def score(folder: Path) -> None:
        words = ["--manifest", saved_release / "uds.toml", "--store", folder / "store", "--out", folder / "scores.json"]
        result = CliRunner().invoke(main, ["score", "--variants", *map(str, words)])
        assert result.exit_code == 0, result.output

    return made_once(tmp_path_factory, "release-scored", score)


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of tests that ask the same models: what is stored is named by its content, and scored once a session."""
    return made_once(tmp_path_factory, "kept", lambda folder: None)


@pytest.fixture
def run_report(saved_release: Path, scored: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The report of the depth suite on the release, whose scores are stored; claims fail, as the models are random.
    It is made once, and a copy is given."""
    report, kept = pytester.path / "run.json", saved_release.parent / "reported"
    for name in ("CI", "GITHUB_STEP_SUMMARY", "PYTEST_XDIST_TESTRUNUID", "PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    if not kept.exists():
        words = ["--uds-manifest", saved_release / "uds.toml", "--uds-store", scored / "store", "--uds-json", report]
        ran = pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider", "-p", "no:benchmark", SUITE, *words)
        assert report.exists(), ran.stdout.str() + ran.stderr.str()
        shutil.copytree(pytester.path, kept)
    shutil.copytree(kept, pytester.path, dirs_exist_ok=True)
    return report


@pytest.fixture
def release(saved_release: Path, tmp_path: Path) -> Path:
    """A copy of the release that the test may damage."""
    return shutil.copytree(saved_release, tmp_path / "release")


@pytest.fixture
def judged(run_report: Path, release: Path) -> Path:
    """The report of a run of `release`, which the test may damage."""
    report = with_rows(json.loads(run_report.read_text()), run_report)
    report["manifest"]["path"] = str(release / "uds.toml")
    place = release / "run.json"
    place.write_text(json.dumps(report))
    return place


@pytest.fixture
def card(command: Command, judged: Path) -> Path:
    command("card", judged, "--out", judged.parent / "cards", "--benchmark", "owner/name")
    return judged.parent / "cards" / "npo" / "card.json"
