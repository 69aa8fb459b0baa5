"""A user's own claims and tests, with the public fixtures."""

from pathlib import Path

import pytest
from small_runs import Bench

OWN_CLAIM = '''\
import pytest


@pytest.mark.claim("ours.unsaid", audit="depth")
@pytest.mark.scores("entity_accuracy[free]", of=("candidates",))
def test_unsaid(uds_claim, uds_subject, uds_audit):
    """Asked outright, the released model says at most one secret in three."""
    said = uds_audit.score(uds_subject, "entity_accuracy", "free")
    uds_claim.threshold(said, at_most=0.34)
'''
"""The example of the docs."""

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "claim.md"


def test_the_docs_show_it() -> None:
    assert f"```python\n{OWN_CLAIM}```" in PAGE.read_text()


ALL_FIXTURES = """
import pytest

@pytest.mark.claim("ours.everything", audit="depth")
def test_everything(uds_claim, uds_audit, uds_subject, uds_run, uds_goldens):
    assert list(uds_audit.section.candidates) == ["retain3"]
    assert len(uds_audit.facts.split("forget").clusters) == 12
    assert uds_subject == "retain3" and uds_goldens.is_dir()
    candidate = uds_audit.loaded(uds_subject)
    assert candidate.model.config.num_hidden_layers == 3
    assert candidate.tokenizer("x")["input_ids"]
    assert candidate.digest != uds_audit.loaded("full").digest
    score = uds_audit.score(uds_subject, "uds")
    assert score.interval.low <= score.value <= score.interval.high
    frame = uds_run.scores().to_frame()
    assert frame.loc[0, "checkpoint"] == "retain3" and frame.loc[0, "n_scored"] == 24
    uds_claim.equivalence(0.0, score.interval, margin=1.5)
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
    assert ran.verdicts == {"ours.everything[retain3]": "pass"}


@pytest.mark.parametrize("name", ["uds_claim", "uds_subject", "uds_audit", "uds_run", "uds_goldens"])
def test_every_public_fixture_is_described(bench: Bench, name: str) -> None:
    lines = bench.run("--fixtures").text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith((f"{name} ", f"{name} [")))
    assert lines[at + 1].strip()
    assert "no docstring" not in lines[at + 1]


def test_a_claim_of_no_audit_is_told_to_name_one(bench: Bench) -> None:
    bench.manifest()
    ran = bench.run(bench.test('@pytest.mark.claim("ours.odd")\ndef test_odd(uds_claim, uds_audit):\n    pass\n'))
    assert ran.code == 1
    assert 'name the audit: @pytest.mark.claim("mine.claim", audit="depth")' in ran.text


@pytest.mark.parametrize("name", ["ledger", "screen"])
def test_what_keeps_claims_cannot_be_switched_off(bench: Bench, name: str) -> None:
    bench.manifest()
    ran = bench.run(bench.test(ALL_FIXTURES), "-p", f"no:uds_bench_{name}")
    assert ran.code == 4
    assert f"-p no:uds_bench_{name}: no claim is kept, or told, without it" in ran.text


def test_a_claim_by_another_fixture_of_that_name_is_missing(bench: Bench) -> None:
    bench.manifest()
    body = "@pytest.fixture\ndef uds_claim():\n    return None\n\n"
    ran = bench.run(bench.test(f'{body}@pytest.mark.claim("ours.odd")\ndef test_odd(uds_claim):\n    pass\n'))
    assert ran.code == 1
    assert ran.verdicts == {"ours.odd": "missing"}


def test_an_audit_that_does_not_exist_is_named_with_those_that_do(bench: Bench) -> None:
    bench.manifest()
    test = bench.test(
        '@pytest.mark.claim("ours.odd", audit="depht")\ndef test_odd(uds_claim, uds_subject):\n    pass\n'
    )
    ran = bench.run(test)
    assert ran.code in (2, 4)
    assert "there is no audit 'depht': choose from association, bypass, depth" in ran.text
