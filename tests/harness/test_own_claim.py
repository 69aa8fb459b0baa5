"""A user's own claims and tests, with the public fixtures."""

from pathlib import Path

import pytest
from small_runs import Bench

OWN_CLAIM = '''\
import pytest


@pytest.mark.claim("ours.unsaid")
@pytest.mark.scores("entity_accuracy[free]", of=("candidates",))
def test_unsaid(claim, candidate, scores):
    """Asked outright, the released model says at most one secret in three."""
    said = scores(candidate, "entity_accuracy", "free")
    claim.threshold(said, at_most=0.34)
'''
"""The example of the README."""

README = Path(__file__).parents[2] / "README.md"


def test_the_readme_shows_it() -> None:
    assert f"```python\n{OWN_CLAIM}```" in README.read_text()


ALL_FIXTURES = """
def test_everything(manifest, facts, full, retain, candidate, scores, claim, uds_run):
    assert list(manifest.candidates) == ["retain3"]
    assert len(facts.split("forget").clusters) == 12
    assert (full.name, retain.name, str(candidate)) == ("full", "retain", "retain3")
    assert candidate.model.config.num_hidden_layers == 3
    assert candidate.tokenizer("x")["input_ids"]
    assert candidate.checkpoint.digest != full.checkpoint.digest
    score = scores(candidate, "uds")
    assert score.interval.low <= score.value <= score.interval.high
    frame = scores.to_frame()
    assert frame.loc[0, "checkpoint"] == "retain3" and frame.loc[0, "n_scored"] == 24
    claim.equivalence(0.0, score.interval, margin=1.5)
"""

NAMESAKES = """
import pytest

@pytest.fixture
def claim():
    return 1

@pytest.fixture(params=["a", "b"])
def candidate(request):
    return request.param

def test_own_fixtures(claim, candidate):
    assert claim == 1 and candidate in "ab"

@pytest.mark.parametrize("claim", [1, 2])
@pytest.mark.parametrize("candidate", ["c"])
def test_own_parameters(claim, candidate):
    assert candidate == "c"
"""


def test_ten_lines_make_a_claim(bench: Bench) -> None:
    assert len(OWN_CLAIM.splitlines()) <= 10
    bench.manifest(["retain3", "copy"])
    (bench.folder / "test_ours.py").write_text(OWN_CLAIM)
    ran = bench.run("test_ours.py")
    assert ran.code == 1
    assert ran.verdicts == {"ours.unsaid[retain3]": "pass", "ours.unsaid[copy]": "fail"}
    assert "ours.unsaid [copy]: observed 1.000" in ran.text


def test_every_public_fixture_works(bench: Bench) -> None:
    bench.manifest()
    ran = bench.run(bench.test(ALL_FIXTURES))
    assert ran.code == 0, ran.text
    assert ran.verdicts == {"test_everything[retain3]": "pass"}


@pytest.mark.parametrize("name", ["claim", "candidate", "full", "retain", "facts", "scores", "manifest"])
def test_every_public_fixture_is_described(bench: Bench, name: str) -> None:
    lines = bench.run("--fixtures").text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith((f"{name} ", f"{name} [")))
    assert lines[at + 1].strip()
    assert "no docstring" not in lines[at + 1]


def test_a_project_with_fixtures_of_the_same_names_is_left_alone(bench: Bench) -> None:
    ran = bench.run(bench.test(NAMESAKES))
    assert ran.code == 0, ran.text
    assert "4 passed" in ran.text
    assert "uds_bench claims" not in ran.text
