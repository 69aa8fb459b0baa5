"""--uds-waivers FILE: permission, with a reason and an end, for a claim to miss."""

from datetime import date, timedelta
from pathlib import Path

import pytest
from small_runs import DEPTH, Bench

LATER = date.today() + timedelta(days=30)


def waivers(bench: Bench, claim: str = "depth.score[copy]", expires: date = LATER, more: str = "") -> Path:
    path = bench.folder / "waivers.toml"
    path.write_text(f'[[waiver]]\nclaim = "{claim}"\nreason = "ships on Monday"\nexpires = {expires}\n{more}')
    return path


def test_a_waived_miss_is_shown_and_lets_the_release_through(bench: Bench) -> None:
    bench.manifest(["copy"])
    ran = bench.run(DEPTH, "-k", "test_score", "--uds-waivers", waivers(bench))
    assert ran.code == 0, ran.text
    assert ran.counts == {"waived": 1}
    assert "ships on Monday" in ran.text
    assert ran.claims["depth.score[copy]"]["waiver"] == {"reason": "ships on Monday", "expires": str(LATER)}


def test_a_bound_that_is_waived_makes_no_other_claim_hold(bench: Bench) -> None:
    """`depth.hidden` asks whether `depth.score` holds: a waiver of that one made its words agree with them."""
    bench.manifest(["shallow"])
    plain = bench.run(DEPTH, "-k", "test_hidden")
    waived = bench.run(DEPTH, "--uds-waivers", waivers(bench, "depth.score[shallow]", more="threshold = 0.001\n"))
    assert waived.verdicts["depth.hidden[shallow]"] == plain.verdicts["depth.hidden[shallow]"]
    assert waived.claims["depth.hidden[shallow]"]["message"] == plain.claims["depth.hidden[shallow]"]["message"]


def test_a_waiver_changes_nothing_of_a_pass(bench: Bench) -> None:
    bench.manifest()
    ran = bench.run(DEPTH, "-k", "test_score", "--uds-waivers", waivers(bench, "depth.score[retain3]"))
    assert ran.code == 0
    assert ran.counts == {"pass": 1}


def test_a_waiver_forgives_no_missed_control(bench: Bench) -> None:
    bench.manifest(["copy"], positive=["retain2"], negative=["retain3"])
    ran = bench.run(DEPTH, "-k", "test_score", "--uds-waivers", waivers(bench))
    assert ran.code == 1
    assert ran.counts == {"control": 1}


def test_a_waiver_forgives_no_crash(bench: Bench) -> None:
    bench.manifest()
    test = bench.test('@pytest.mark.claim("mine.odd")\ndef test_odd(uds_claim):\n    raise OSError("x")\n')
    ran = bench.run(test, "--uds-waivers", waivers(bench, "mine.odd"))
    assert ran.code == 1
    assert ran.counts == {"crashed": 1}


@pytest.mark.parametrize(
    ("claim", "expires", "said"),
    [
        ("depth.score[copy]", date.today() - timedelta(days=1), "expired on"),
        ("depth.score[nobody]", LATER, "matches no claim"),
        ("depth.scores[copy]", LATER, "matches no claim"),
    ],
)
def test_a_waiver_that_cannot_count_is_an_error(bench: Bench, claim: str, expires: date, said: str) -> None:
    bench.manifest(["copy"])
    assert said in bench.refused(DEPTH, "--uds-waivers", waivers(bench, claim, expires))


def test_a_looser_bound_needs_a_waiver(bench: Bench) -> None:
    bench.manifest(["shallow"], more='[thresholds]\n"depth.score" = 0.1\n')
    assert bench.run(DEPTH, "-k", "test_score").code == pytest.ExitCode.USAGE_ERROR
    ran = bench.run(DEPTH, "-k", "test_score", "--uds-waivers", waivers(bench, "depth.score", more="threshold = 0.1\n"))
    assert ran.code == 0, ran.text
    assert ran.claims["depth.score[shallow]"]["bound"]["value"] == 0.1
