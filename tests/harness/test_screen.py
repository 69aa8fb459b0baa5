"""What pytest prints of a run, and the run in one sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_runs import DEPTH, Bench, Ran
from syrupy.assertion import SnapshotAssertion

from uds_bench.claims.record import ClaimRecord, Control
from uds_bench.harness.result import RunResult
from uds_bench.harness.screen import sentence
from uds_bench.verdicts import Cause, Flag, Verdict

MOST_LINES = 40
FILES, CLAIMS = 8, 40
"""A run of this size has more claims than the default one, in as many files."""
FULL_ENOUGH = """
@pytest.mark.parametrize("i", range({claims}))
@pytest.mark.claim("audit{n}.held")
def test_held(uds_claim, i):
    uds_claim.identity(0.0, tolerance=0.1, what='x')
"""
CLAIM = '@pytest.mark.claim("mine.odd", audit="depth")\ndef test_odd(uds_claim{fixture}):\n    {body}\n'
HOLDS = "uds_claim.identity(0.0, tolerance=0.1, what='x')"
FAILS = "uds_claim.identity(1.0, tolerance=0.1, what='x')"


def last(ran: Ran) -> str:
    return ran.text.rstrip("\n").splitlines()[-1]


def test_a_green_run_of_the_default_size_fits_a_screen(bench: Bench) -> None:
    bench.manifest()
    files = [bench.test(FULL_ENOUGH.format(claims=CLAIMS, n=n), f"test_audit_{n}") for n in range(FILES)]
    ran = bench.run(*files)
    assert ran.counts == {"pass": FILES * CLAIMS}
    assert len(ran.text.splitlines()) <= MOST_LINES
    rows = [line.split() for line in ran.text.splitlines() if line.startswith("audit")]
    assert rows == [["audit", "claims", "pass", "controls", "right"]] + [
        [f"audit{n}", str(CLAIMS), str(CLAIMS)] for n in range(FILES)
    ]


@pytest.mark.parametrize("wordy", [(), ("-v",)])
def test_each_red_claim_is_told_once(bench: Bench, wordy: tuple[str, ...]) -> None:
    bench.manifest(["copy", "shallow", "retain3"])
    ran = bench.run(DEPTH, *wordy)
    assert ran.counts["fail"] == 4
    for claim in ran.claims.values():
        times = int(claim["verdict"] == "fail")
        assert claim["verdict"] != "fail" or ran.text.count(claim["message"]) == 1
        assert ran.text.count(f"reproduce: {claim['reproduce']}\n") == times
    assert "FAILURES" not in ran.text
    assert "short test summary" not in ran.text
    assert wordy or len(ran.text.splitlines()) <= MOST_LINES


def test_every_claim_and_every_reason_is_told_on_request(bench: Bench) -> None:
    bench.manifest(["shallow"])
    short, long = bench.run(DEPTH), bench.run(DEPTH, "-v")
    assert "depth.self_patch" not in short.text
    assert ["depth.self_patch", "pass"] in [line.split()[:2] for line in long.text.splitlines()]
    reason = long.claims["depth.order"]["message"]
    assert f"reason: {reason}\n" in long.text
    assert f"note: does not apply: {reason}\n" in short.text, "what is not asked is said, once"
    hidden = long.claims["depth.hidden[shallow]"]["message"]
    assert f"FAIL: {hidden}\n" in short.text


def test_pytest_prints_tracebacks_and_other_tests_as_ever(bench: Bench) -> None:
    bench.manifest()
    crash = CLAIM.format(fixture="", body="raise OSError('disk full')")
    ran = bench.run(bench.test(f"{crash}\ndef test_other():\n    assert 1 == 2\n"))
    assert ran.counts == {"crashed": 1}
    assert ">       raise OSError('disk full')" in ran.text
    assert "FAILED test_written.py::test_odd - OSError: disk full" in ran.text
    assert "FAILED test_written.py::test_other - assert 1 == 2" in ran.text
    advice = "next: mend what the line names and run again; what was scored is kept."
    told = f"UNDECIDED (crashed): mine.odd: disk full\n  {advice}\n  reproduce: pytest test_written.py::test_odd "
    assert told in ran.text
    assert "2 failed" in ran.text


@pytest.mark.parametrize(
    ("body", "verdict", "told"),
    [
        (HOLDS, "crashed", "UNDECIDED (crashed): mine.odd: its teardown failed: boom"),
        (FAILS, "fail", "FAIL: mine.odd: x: observed 1"),
    ],
)
def test_a_teardown_that_fails_hides_no_failure(bench: Bench, body: str, verdict: str, told: str) -> None:
    bench.manifest()
    fixture = "@pytest.fixture\ndef broken():\n    yield\n    raise OSError('boom')\n"
    ran = bench.run(bench.test(fixture + CLAIM.format(fixture=", broken", body=body)))
    assert ran.counts == {verdict: 1}
    assert ran.text.count(told) == 1
    assert "ERROR at teardown of test_odd" in ran.text


def test_claims_that_never_ran_share_a_line(bench: Bench) -> None:
    bench.manifest(["copy", "shallow", "retain3"])
    ran = bench.run(DEPTH, "-x", "-k", "test_score")
    assert "MISSING: 2 claims never ran: depth.score[shallow], depth.score[retain3]\n" in ran.text
    assert ran.text.count("reproduce:") == 1


@pytest.mark.parametrize("options", [(), ("-q",), ("-qq",), ("-v",)])
def test_the_last_line_is_one_sentence_on_the_run(bench: Bench, options: tuple[str, ...]) -> None:
    bench.manifest(["shallow", "retain3"])
    ran = bench.run(DEPTH, "-k", "test_score", *options)
    *_, total, sentence = ran.text.rstrip("\n").splitlines()
    assert total == "2 claims planned = 1 pass + 1 fail"
    wanted = "do not release shallow; what was asked holds for retain3."
    assert sentence == f"uds_bench: RED: 1 of 2 claims failed (depth.score [shallow]): {wanted}"
    assert ran.text.count("uds_bench: RED") == 1


def test_a_test_that_is_no_claim_turns_the_sentence_red(bench: Bench) -> None:
    bench.manifest()
    ran = bench.run(bench.test(CLAIM.format(fixture="", body=HOLDS) + "def test_other():\n    assert 1 == 2\n"))
    assert (ran.code, ran.counts) == (1, {"pass": 1})
    assert last(ran) == "uds_bench: RED: other tests than those of claims did not pass: do not release."


OUTSIDE = "import warnings\ndef old():\n    warnings.warn('theirs is deprecated', {category}, stacklevel={level})\n"


@pytest.fixture
def outside(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that was installed into the user's own folder; it is imported as `outside`."""
    folder = bench.folder / ".venv" / "site-packages"
    folder.mkdir(parents=True)
    monkeypatch.syspath_prepend(folder)
    return folder / "outside.py"


@pytest.mark.parametrize("category", ["DeprecationWarning", "UserWarning", "FutureWarning"])
def test_warnings_of_others_are_not_shown(bench: Bench, outside: Path, category: str) -> None:
    outside.write_text(OUTSIDE.format(category=category, level=1))
    bench.manifest()
    ran = bench.run(bench.test(f"import outside\n{CLAIM.format(fixture='', body=f'outside.old(); {HOLDS}')}"))
    assert ran.counts == {"pass": 1}
    assert "theirs" not in ran.text
    assert " 1 passed in " in ran.text
    plain = bench.run(bench.test("import outside\ndef test_plain():\n    outside.old()\n"))
    assert "theirs is deprecated" in plain.text, "a run of no claims is none of our business"


def test_warnings_of_ours_and_of_the_users_tests_are_shown(bench: Bench, outside: Path) -> None:
    outside.write_text(
        "import warnings\nfrom uds_bench.errors import UdsWarning\n"
        + OUTSIDE.format(category="UdsWarning", level=1).replace("theirs", "ours")
    )
    bench.manifest()
    body = f"import outside, warnings\n    outside.old(); warnings.warn('mine'); {HOLDS}"
    ran = bench.run(bench.test(CLAIM.format(fixture="", body=body)))
    assert "UdsWarning: ours is deprecated" in ran.text
    assert "UserWarning: mine" in ran.text
    assert "2 warnings" in ran.text


def test_a_misspelt_key_is_told(bench: Bench) -> None:
    """Without its manifest a run would judge the embedded models and be green."""
    bench.manifest()
    (bench.folder / "pytest.ini").write_text("[pytest]\nuds_maniest = mine.toml\n")
    ran = bench.run(bench.test(CLAIM.format(fixture="", body=HOLDS)))
    assert ran.counts == {"pass": 1}
    assert "Unknown config option: uds_maniest" in ran.text


def test_no_bar_is_shown_where_a_test_loads_a_model(bench: Bench) -> None:
    bench.manifest()
    body = f"assert uds_audit.loaded(uds_subject).model is not None; {HOLDS}"
    test = bench.test(CLAIM.format(fixture=", uds_subject, uds_audit", body=body))
    ran = bench.run(test, "-s", subprocess=True)
    assert ran.counts == {"pass": 1}
    assert "%|" not in ran.text


Came = Verdict | Flag | Cause
PASS, FAIL, NONE = Verdict.PASS, Verdict.FAIL, Verdict.NOT_APPLICABLE
CLEARED, CAUGHT, RESULT, WAIVED, DECLARED = Flag.CLEARED, Flag.CAUGHT, Flag.RESULT, Flag.WAIVED, Flag.DECLARED
RIGHT = Control("c", "fail", "fail", 0.1, None, held=True)


def found(*claims: tuple[Came, str | None], controls: tuple[Control, ...] = (RIGHT, RIGHT), **more: Any) -> RunResult:
    """Claims by what they came to and subject, each with the same controls."""
    whole = RunResult(**more)
    for number, (came, subject) in enumerate(claims):
        verdict = came if isinstance(came, Verdict) else Verdict.UNDECIDED if isinstance(came, Cause) else FAIL
        verdict = PASS if came is CLEARED else verdict
        cause, flag = (came if isinstance(came, kind) else None for kind in (Cause, Flag))
        node = f"test_{number}"
        whole.planned[node] = ("depth.score", subject)
        whole.records[node] = ClaimRecord(
            "depth.score", subject, "threshold", verdict, "m", cause, flag, controls=controls
        )
    return whole


ALL_HELD = [(PASS, name) for name in ("npo", "simnpo", "npo", None)]
SHIPPED = {
    "cleared and caught": found((CLEARED, "a"), (CAUGHT, "b"), (CAUGHT, "c"), (PASS, None)),
    "the laboratory": found((PASS, "a"), (PASS, None), (RESULT, "b"), (NONE, "c")),
    "a control too small": found((PASS, "a"), controls=(RIGHT, RIGHT, replace(RIGHT, verdict="undecided", held=False))),
    "failures first": found((Cause.INTERVAL, "a"), (FAIL, "b"), (Cause.CRASHED, "c"), (FAIL, "d")),
    "a problem of the run": found((PASS, "a"), problems=["golden depth.score[x] belongs to no claim: remove it"]),
    "all at once": found(*((came, "localization" * 2) for came in (FAIL, *Cause) for _ in range(4))),
}
OWN = {
    "held": found(*ALL_HELD),
    "more": found(*ALL_HELD, (NONE, "npo"), (NONE, "simnpo"), (WAIVED, "rmu"), (DECLARED, None), deselected=7),
    "many names": found(*((PASS, f"m{i}") for i in range(9))),
    "failed": found((PASS, "a"), (FAIL, "b"), (FAIL, "c")),
    **{str(cause): found((PASS, "a"), (cause, "b"), (cause, "c")) for cause in Cause},
}


@pytest.mark.parametrize(("runs", "is_embedded"), [(SHIPPED, True), (OWN, False)], ids=["shipped", "own"])
def test_the_run_in_one_sentence(runs: dict[str, RunResult], is_embedded: bool, snapshot: SnapshotAssertion) -> None:
    told = {name: sentence(run, is_embedded, exit_code=int(not run.is_green)) for name, run in runs.items()}
    assert told == snapshot
    assert max(map(len, told.values())) <= 320, "no page"


def test_an_exit_code_alone_turns_it_red() -> None:
    assert ": RED: " in sentence(found((PASS, "a")), is_embedded=False, exit_code=2)


def test_a_method_that_is_red_is_not_said_to_hold() -> None:
    """One that crashed with a seed, and whose claims were excused, held; so did a candidate with a waiver."""
    declared = ClaimRecord("a.b", "method m", "none", Verdict.FAIL, "", flag=Flag.DECLARED)
    itself = ClaimRecord("method.itself", "method m", "none", Verdict.FAIL, "")
    run = replace(found((PASS, "npo")), of_method=[declared, itself])
    told = sentence(run, is_embedded=False, exit_code=1)
    assert "1 of 3 claims failed (method.itself [method m])" in told
    assert told.endswith("do not release method m; what was asked holds for npo.")
    waived = replace(found((PASS, "npo"), (FAIL, "bad")), of_method=[declared])
    assert sentence(waived, is_embedded=False, exit_code=1).endswith(
        "do not release bad; what was asked holds for npo."
    )
