"""The package as others install it, in a repository of theirs: the commands of the page about CI, as they stand."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import load_file, save_file
from small_runs import Bench

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "howto" / "ci.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture(scope="session", params=["wheel", pytest.param("sdist", marks=pytest.mark.slow)])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a release lies installed; what it needs is found where this test runs."""
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", request.param, "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.iterdir()
    install = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "install", "--no-deps"]
    subprocess.run([*install, "--no-build-isolation", "--target", str(folder / "site"), str(built)], check=True)
    return folder / "site"


def shell(command: str, folder: Path, site: Path) -> Any:
    """A command of the page, in another's repository."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "UDS_BENCH", "GITHUB"))}
    environment |= {"PYTHONPATH": str(site), "PATH": path, "UDS_BENCH_CACHE": str(folder / "cache"), "COLUMNS": "120"}
    return subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def repository(bench: Bench) -> Path:
    """Three candidates: one that forgot, one that only keeps silent, one that cannot be used."""
    file = bench.copy("retain3", "runs/broken") / "model.safetensors"
    weights = load_file(file)
    next(iter(weights.values())).view(-1)[0] = torch.nan
    save_file(weights, file, metadata={"format": "pt"})
    good, shallow = bench.copy("retain3", "runs/good"), bench.copy("shallow", "runs/shallow")
    bench.manifest({"good": good, "shallow": shallow, "broken": file.parent})
    return bench.folder


def test_three_candidates_in_a_repository_of_another(repository: Path, installed: Path, bench: Bench) -> None:
    judge, card = blocks("bash")[0].strip().splitlines()
    ran = shell(f"{judge} -p no:cacheprovider --uds-store {bench.store}", repository, installed)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    matrix = ran.stdout[ran.stdout.index("\ncandidate") :]
    assert re.search(r"^good +\d+ pass(, \d+ not applicable)?$", matrix, re.MULTILINE)
    assert re.search(r"^shallow +\d+ FAIL", matrix, re.MULTILINE)
    assert re.search(r"^broken +\d+ UNDECIDED$", matrix, re.MULTILINE)
    assert re.search(r"^FAIL: depth\.score \[shallow\]: observed 0\.\d+, .* short by 0\.\d+$", matrix, re.MULTILINE)
    assert "holds NaN or infinity" in matrix
    assert "next: mend its files, name others, or take it out" in matrix
    assert "reproduce: pytest --pyargs 'uds_bench.suites.test_depth::test_score[shallow]'" in matrix
    assert (repository / "page" / "index.html").is_file()
    told = shell(card, repository, installed)
    results = {
        place.parent.name: json.loads(place.read_text())["predicate"]["result"]
        for place in (repository / "cards").glob("*/card.json")
    }
    assert (results, told.returncode) == ({"good": "PASSED", "shallow": "FAILED", "broken": "FAILED"}, 0), told.stderr


METHOD = """
def forget(model, tokenizer, forget, retain, seed):
    for weights in model.parameters():
        weights.data.mul_(0.5 + 0.01 * seed)
    return model
"""


@pytest.mark.slow
def test_a_method_in_a_repository_of_another_is_judged_beside_its_candidates(
    repository: Path, installed: Path, bench: Bench
) -> None:
    """One that breaks the model: what is gone is gone, and so is what is to be kept."""
    (repository / "theirs").mkdir()
    (repository / "theirs" / "methods.py").write_text(METHOD)
    told = shell(f"{blocks('bash')[0].splitlines()[0]} --uds-method theirs.methods:forget", repository, installed)
    assert told.returncode == 1, told.stdout + told.stderr
    matrix = told.stdout[told.stdout.index("\ncandidate") :]
    assert re.search(r"^good +\d+ pass(, \d+ not applicable)?( +-)*$", matrix, re.MULTILINE)
    assert re.search(r"^shallow +\d+ FAIL", matrix, re.MULTILINE)
    assert re.search(r"^method theirs\.methods:forget +\d+ FAIL", matrix, re.MULTILINE)
    missed = r"^FAIL: depth\.spared \[method theirs\.methods:forget\]: seeds: 3 fail; mean 0\.\d+, needs >= "
    assert re.search(missed, matrix, re.MULTILINE), matrix
    written = json.loads((repository / "run.json").read_text())
    assert written["summary"]["problems"] == [], "no candidate's card hangs on a method"
    assert not any("method" in str(one["subject"]) for one in written["claims"]), "nor is it a claim of the release"


@pytest.mark.slow
def test_its_claim_is_run_again_by_the_command_that_is_told(repository: Path, installed: Path, bench: Bench) -> None:
    shell(f"{blocks('bash')[0].splitlines()[0]} --uds-store {bench.store}", repository, installed)
    claims = json.loads((repository / "run.json").read_text())["claims"]
    (failed,) = [one for one in claims if one["name"] == "depth.score[shallow]"]
    again = shell(f"{failed['reproduce']} --uds-json again.json", repository, installed)
    assert again.returncode == 1
    (claim,) = json.loads((repository / "again.json").read_text())["claims"]
    assert (claim["name"], claim["observed"]) == (failed["name"], failed["observed"])


def test_recipes_are_yaml_that_runs_the_same_commands() -> None:
    github, gitlab = map(yaml.safe_load, blocks("yaml"))
    told = blocks("bash")[0].strip().splitlines()
    steps = github["jobs"]["forgotten"]["steps"]
    assert [step["run"] for step in steps if "run" in step] == ["pip install uds-bench", *told]
    job = gitlab["forgotten"]
    assert [*job["before_script"], *job["script"], *job["after_script"]] == ["pip install uds-bench", *told]
    assert job["artifacts"]["when"] == "always", "a red run's page and cards are what is read"
    assert steps[-1]["with"]["path"].split() == job["artifacts"]["paths"]
    assert all(step["if"] == "always()" for step in steps[-2:])
    (written,) = re.findall(r"^`(repos: .*)`$", PAGE, flags=re.MULTILINE)
    (hook,) = yaml.safe_load(written)["repos"][0]["hooks"]
    assert hook["entry"] == "uds-bench plan --manifest uds.toml"
