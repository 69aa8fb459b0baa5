"""A user's own claims and tests, with the public fixtures."""

from itertools import pairwise

import pytest
from small_runs import Bench

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


def test_every_public_fixture_works(bench: Bench) -> None:
    bench.manifest()
    ran = bench.run(bench.test(ALL_FIXTURES))
    assert ran.code == 0, ran.text
    assert ran.verdicts == {"ours.everything[retain3]": "pass"}


def test_every_public_fixture_bears_its_name_and_is_described(bench: Bench) -> None:
    shown = bench.run("--fixtures").text.partition("fixtures defined from uds_bench")[2]
    ours = shown.partition("fixtures defined from")[0].splitlines()
    told = {line.split()[0]: below.strip() for line, below in pairwise(ours) if line[:1].isalpha()}
    assert set(told) == {"uds_claim", "uds_subject", "uds_audit", "uds_run", "uds_goldens", "uds_attack"}
    assert all(text and "no docstring" not in text for text in told.values())


def test_a_claim_by_another_fixture_of_that_name_is_missing(bench: Bench) -> None:
    bench.manifest()
    body = "@pytest.fixture\ndef uds_claim():\n    return None\n\n"
    ran = bench.run(bench.test(f'{body}@pytest.mark.claim("ours.odd")\ndef test_odd(uds_claim):\n    pass\n'))
    assert ran.code == 1
    assert ran.verdicts == {"ours.odd": "missing"}


def test_a_claim_without_a_name_has_that_of_its_test_whatever_class_and_parameters_it_has(bench: Bench) -> None:
    bench.manifest()
    body = "def test_mine(self, uds_claim, one):\n        uds_claim.identity(0.0, tolerance=0.1, what='x')\n"
    mark = '@pytest.mark.parametrize("one", ["of[npo]"])'
    ran = bench.run(bench.test(f"import pytest\n\nclass TestOurs:\n    {mark}\n    {body}"))
    assert ran.verdicts == {"test_mine": "pass"}


@pytest.mark.parametrize(
    ("audit", "fixture", "told"),
    [
        ("", "uds_audit", 'name the audit: @pytest.mark.claim("mine.claim", audit="depth")'),
        (', audit="depht"', "uds_subject", "there is no audit 'depht': did you mean 'depth'?"),
    ],
)
def test_a_claim_of_no_audit_is_told_to_name_one(bench: Bench, audit: str, fixture: str, told: str) -> None:
    bench.manifest()
    body = f'@pytest.mark.claim("ours.odd"{audit})\ndef test_odd(uds_claim, {fixture}):\n    pass\n'
    ran = bench.run(bench.test(body))
    assert ran.code != 0
    assert told in ran.text
