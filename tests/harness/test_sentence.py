"""The last line of a run says what became of it, whoever asked and whatever happened."""

from __future__ import annotations

import pytest

from uds_bench.claims.record import ClaimRecord, Control
from uds_bench.harness.result import RunResult
from uds_bench.harness.sentence import sentence
from uds_bench.verdicts import Cause, Flag, Verdict

CONTROLS = tuple(Control(f"c{i}", "fail", "fail", 0.1, None, held=True) for i in range(2))


Came = Verdict | Flag | Cause


def found(*claims: tuple[Came, str | None], controls: tuple[Control, ...] = CONTROLS) -> RunResult:
    """Claims by what they came to and subject, each with the same controls."""
    whole = RunResult()
    for number, (came, subject) in enumerate(claims):
        verdict = came if isinstance(came, Verdict) else Verdict.UNDECIDED if isinstance(came, Cause) else Verdict.FAIL
        cause, flag = (came if isinstance(came, kind) else None for kind in (Cause, Flag))
        node = f"test_{number}"
        whole.planned[node] = ("depth.score", subject)
        whole.records[node] = ClaimRecord(
            "depth.score", subject, "threshold", verdict, "m", cause, flag, controls=controls
        )
    return whole


def test_the_shipped_specimens() -> None:
    run = found((Flag.CLEARED, "a"), (Flag.CAUGHT, "b"), (Flag.CAUGHT, "c"), (Verdict.PASS, None))
    assert sentence(run, is_embedded=True, exit_code=0) == (
        "uds_bench: clears all 1 that it must clear, catches all 2 that it must catch, "
        "and every control (8) came out right."
    )


def test_the_laboratory() -> None:
    run = found((Verdict.PASS, "a"), (Verdict.PASS, None), (Flag.RESULT, "b"), (Verdict.NOT_APPLICABLE, "c"))
    assert sentence(run, is_embedded=True, exit_code=0) == (
        "uds_bench: 2 claims hold, 1 is a result, 1 does not apply, and every control (8) came out right."
    )


def test_a_control_too_small_to_be_decided_is_not_said_to_be_right() -> None:
    undecided = Control("c", "fail", "undecided", 0.1, None, held=False)
    run = found((Verdict.PASS, "a"), controls=(*CONTROLS, undecided))
    assert sentence(run, is_embedded=True, exit_code=0).endswith(", and 2 of 3 controls came out right.")


def test_candidates_of_a_user() -> None:
    held = [(Verdict.PASS, name) for name in ("npo", "simnpo", "npo", None)]
    assert sentence(found(*held), is_embedded=False, exit_code=0) == "uds_bench: 4 claims hold for npo, simnpo."
    more = [(Verdict.NOT_APPLICABLE, "npo"), (Verdict.NOT_APPLICABLE, "simnpo")]
    more += [(Flag.WAIVED, "rmu"), (Flag.DECLARED, None)]
    run = found(*held, *more)
    run.deselected = 7
    assert sentence(run, is_embedded=False, exit_code=0) == (
        "uds_bench: 4 claims hold for npo, simnpo; 1 waived (depth.score [rmu]); "
        "1 missed as declared (depth.score); 2 do not apply; 7 left out."
    )


def test_many_names_become_dots() -> None:
    names = sentence(found(*((Verdict.PASS, f"m{i}") for i in range(9))), is_embedded=False, exit_code=0)
    assert names == "uds_bench: 9 claims hold for m0, m1, m2, ...."


def test_claims_that_fail_have_names() -> None:
    run = found((Verdict.PASS, "a"), (Verdict.FAIL, "b"), (Verdict.FAIL, "c"))
    assert sentence(run, is_embedded=False, exit_code=1) == (
        "uds_bench: RED: 2 of 3 claims failed (depth.score [b], depth.score [c]): do not release."
    )


@pytest.mark.parametrize("cause", Cause)
def test_undecided_claims_have_a_cause(cause: Cause) -> None:
    run = found((Verdict.PASS, "a"), (cause, "b"), (cause, "c"))
    assert sentence(run, is_embedded=False, exit_code=1) == (
        f"uds_bench: RED: 2 of 3 claims undecided (depth.score [b], depth.score [c]; 2 x {cause}): do not release."
    )


def test_failures_come_first_and_alone_have_names() -> None:
    run = found((Cause.INTERVAL, "a"), (Verdict.FAIL, "b"), (Cause.CRASHED, "c"), (Verdict.FAIL, "d"))
    assert sentence(run, is_embedded=True, exit_code=1) == (
        "uds_bench: RED: 2 of 4 claims failed (depth.score [b], depth.score [d]), "
        "2 undecided (1 x interval, 1 x crashed): do not rely on it."
    )


def test_all_of_them_at_once_are_no_page() -> None:
    name = "localization" * 2
    run = found(*((came, name) for came in (Verdict.FAIL, *Cause) for _ in range(4)))
    assert len(sentence(run, is_embedded=True, exit_code=1)) <= 320


def test_a_problem_of_the_run_is_red_although_every_claim_holds() -> None:
    run = found((Verdict.PASS, "a"))
    run.problems = ["golden depth.score[x] belongs to no claim: remove it"]
    assert sentence(run, is_embedded=True, exit_code=1) == (
        "uds_bench: RED: golden depth.score[x] belongs to no claim: remove it: do not rely on it."
    )
    assert ": RED: " in sentence(found((Verdict.PASS, "a")), is_embedded=False, exit_code=2)
