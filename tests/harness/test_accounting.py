"""Planned = the sum of all verdicts, whatever happens to a claim; and only good verdicts end with exit code 0."""

from collections import Counter

import pytest
from small_runs import Bench, told

SCORE = """
@pytest.mark.claim("mine.depth", audit="depth")
def test_depth(uds_claim, uds_subject, uds_audit):
    uds_claim.threshold(uds_audit.score(uds_subject, "uds"), at_least=0.7)
"""


def decide(body: str, at: str = "") -> str:
    """A test of the claim `mine.odd`, or `mine.odd1`, with this body."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    mark = f'@pytest.mark.claim("mine.odd{at}", audit="depth")'
    return f"{mark}\ndef test_odd{at}(uds_claim, uds_audit, request):\n{lines}\n"


VERDICTS = {
    "pass": ("uds_claim.identity(0.0, tolerance=0.0, what='nothing')", 0),
    "fail": ("uds_claim.identity(1.0, tolerance=0.1, what='something')", 1),
    "undecided": ("uds_claim.threshold(uds_audit.score('retain', 'uds'), at_least=0.9)", 1),
    "missing": ("pytest.skip('no time')", 1),
    "crashed": ("raise OSError('disk full')", 1),
    "control": (
        "from uds_bench.claims import ControlSubject\n"
        "uds_claim.identity(0.0, tolerance=0.1, what='x', controls=[ControlSubject('twin', 'fail', 0.05)])",
        1,
    ),
    "not applicable": ("uds_claim.not_applicable('nothing to see')", 0),
}


@pytest.mark.parametrize("verdict", VERDICTS)
def test_each_verdict_is_counted(bench: Bench, verdict: str) -> None:
    body, code = VERDICTS[verdict]
    bench.manifest()
    ran = bench.run(bench.test(SCORE + decide(body)))
    assert ran.code == code, ran.text
    expected = {"pass": 2} if verdict == "pass" else {"pass": 1, verdict: 1}
    assert ran.counts == expected
    assert ran.report["summary"]["ok"] is (code == 0)


WRONG = [
    ("pass", "missing", "ended without deciding"),
    ("uds_claim.identity(0.0, tolerance=0.0, what='x')\nassert 1 == 2", "crashed", "1 == 2"),
    (
        "uds_claim.identity(0.0, tolerance=0, what='x')\nuds_claim.identity(0.0, tolerance=0, what='y')",
        "crashed",
        "decided",
    ),
    ("pytest.xfail('known')", "missing", "not decided"),
    ("pytest.importorskip('no_such_module')", "missing", "no_such_module"),
    ("uds_claim.threshold(uds_audit.score('retain', 'uds'))", "crashed", "at_least"),
    ("uds_claim.identity(float('nan'), tolerance=1e9, what='x')", "fail", "no finite value"),
    ("uds_claim.threshold(uds_audit.score('nobody', 'uds'), at_least=0)", "crashed", "nobody"),
    ("uds_claim.threshold(uds_audit.score('retain', 'udss'), at_least=0)", "crashed", "did you mean 'uds'?"),
    ("uds_claim.threshold(uds_audit.score('retain', 'uds', 'odd'), at_least=0)", "crashed", "choose from"),
]


def test_a_test_that_goes_wrong_is_no_pass(bench: Bench) -> None:
    """All in one run: what a verdict ends with is asked above, of each by itself."""
    bench.manifest()
    ran = bench.run(bench.test(SCORE + "".join(decide(body, str(at)) for at, (body, _, _) in enumerate(WRONG))))
    assert ran.code == 1, ran.text
    assert ran.counts == {"pass": 1} | Counter(verdict for _, verdict, _ in WRONG)
    for at, (body, verdict, said) in enumerate(WRONG):
        claim = ran.claims[f"mine.odd{at}"]
        assert told(claim) == verdict, body
        assert said in claim["message"]


@pytest.mark.parametrize("part", ["raise OSError('boom')\n    yield", "yield\n    raise OSError('boom')"])
def test_a_fixture_that_raises_is_a_crash(bench: Bench, part: str) -> None:
    bench.manifest()
    fixture = f"@pytest.fixture\ndef broken():\n    {part}\n"
    test = "def test_odd(broken, uds_claim):\n    uds_claim.identity(0, tolerance=0, what='x')\n"
    ran = bench.run(bench.test(SCORE + fixture + test))
    assert ran.code == 1
    assert ran.counts == {"pass": 1, "crashed": 1}


def test_xfail_hides_no_failing_claim(bench: Bench) -> None:
    bench.manifest(["copy"])
    ran = bench.run(bench.test("@pytest.mark.xfail\n" + SCORE.strip()))
    assert ran.code == 1
    assert ran.counts == {"fail": 1}


@pytest.mark.parametrize("mark", ["skip", "skipif(True, reason='not today')"])
def test_a_run_that_skips_everything_is_not_green(bench: Bench, mark: str) -> None:
    bench.manifest()
    ran = bench.run(bench.test(f"pytestmark = pytest.mark.{mark}\n{SCORE}"))
    assert ran.code == 1
    assert ran.counts == {"missing": 1}


def test_a_run_that_decides_nothing_is_not_green(bench: Bench) -> None:
    bench.manifest()
    ran = bench.run(bench.test(decide("uds_claim.not_applicable('nothing here')")))
    assert ran.code == 1, ran.text
    assert "no claim was decided" in ran.text


def test_deselected_claims_are_not_planned(bench: Bench) -> None:
    bench.manifest(["copy", "retain3"])
    ran = bench.run(bench.test(SCORE), "-k", "retain3")
    assert ran.code == 0
    assert ran.counts == {"pass": 1}


def test_nothing_selected_is_5(bench: Bench) -> None:
    bench.manifest()
    assert bench.run(bench.test(SCORE), "-k", "nobody").code == pytest.ExitCode.NO_TESTS_COLLECTED


def test_stopping_at_the_first_failure_leaves_the_rest_missing(bench: Bench) -> None:
    bench.manifest(["copy", "retain3", "retain2"], negative=())
    ran = bench.run(bench.test(SCORE), "-x")
    assert ran.code == 1
    assert ran.counts == {"fail": 1, "missing": 2}
    assert "never run" in ran.claims["mine.depth[retain3]"]["message"]


def test_collecting_decides_nothing_and_blames_nobody(bench: Bench) -> None:
    bench.manifest()
    ran = bench.run(bench.test(SCORE), "--collect-only")
    assert ran.code == 0, ran.text
    assert ran.report is None
    assert "MISSING" not in ran.text
