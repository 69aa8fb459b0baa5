from itertools import product

from dom import Page
from example import counted, example, render
from hypothesis import given, settings
from hypothesis import strategies as st
from made_reports import report_of

from uds_bench.claims.record import VERDICTS_OF
from uds_bench.report.claim import read_claims
from uds_bench.report.headline import Headline, headline
from uds_bench.verdicts import BAD, Flag, Verdict

OUTCOMES = [*product(Verdict, [None]), *((one, flag) for flag in Flag for one in VERDICTS_OF.get(flag, BAD))]


def read(run) -> Headline:
    found = report_of(run, "run")
    return headline(found, read_claims(found.claims))


def small(outcomes, ok=True, **summary):
    claims = [
        {"id": f"depth.c{i}", "subject": None, "kind": "threshold", "message": "", "verdict": verdict, "flag": flag}
        for i, (verdict, flag) in enumerate(outcomes)
    ]
    run = example(broken=False) | {"claims": claims}
    whole = {"planned": len(claims), "counts": counted(claims), "problems": [], "notes": [], "ok": ok} | summary
    return run | {"summary": whole}


def passes(count):
    return [("pass", None)] * count


def test_red_names_what_stops_the_release():
    found = read(example())
    assert not found.green
    assert found.title == "1 claim stops this release"
    assert found.reason == "1 undecided. Undecided: broken. Clears: npo, grad_diff."


def test_green_names_what_is_not_a_pass():
    found = read(example(broken=False))
    assert found.green
    assert found.reason.startswith("8 of 14 claims pass and none fails.")
    assert "5 declared (depth.score[npo_weak], depth.score[simnpo], depth.score[idk], depth.hidden" in found.reason


def test_the_sum_is_shown_with_every_word():
    page = Page(render(example(broken=False)))
    (total,) = page.all("p", "sum")
    assert total.text == (
        "planned 14 = 8 pass + 0 fail + 0 undecided + 1 not applicable + 0 caught + 0 cleared + 5 declared + "
        "0 waived + 0 result"
    )
    assert "GREEN" in page.all("h1")[0].text
    assert page.all("title")[0].text.startswith("GREEN")
    assert "red" not in page.id("verdict").classes


def test_notes_and_problems_of_the_run_are_shown_at_the_top():
    run = example(broken=False)
    run["summary"] |= {
        "notes": ["controls are stand-ins: the manifest has no pools"],
        "problems": ["a golden is left over"],
    }
    page = Page(render(run))
    assert "controls are stand-ins" in page.id("overview").text
    assert "a golden is left over" in page.id("verdict").text


def test_nothing_decided_is_red():
    for run in (small([]), small([("not applicable", None)])):
        found = read(run)
        assert not found.green
        assert found.title == "nothing was decided"
        assert "RED" in Page(render(run)).all("h1")[0].text


def test_sums_that_do_not_add_up_are_red():
    assert read(small(passes(2))).green
    assert "3 claims were planned and 2 are accounted for" in read(small(passes(2), planned=3)).reason
    hidden = small(passes(2))
    hidden["claims"].pop()
    assert not read(hidden).green
    swapped = small([("pass", None), ("fail", "waived")])
    swapped["summary"]["counts"] |= {"pass": 2, "waived": 0}
    assert "counts other claims" in read(swapped).reason


def test_a_run_that_is_not_ok_is_red():
    assert not read(small(passes(1), ok=False)).green


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(OUTCOMES), max_size=8))
def test_green_only_if_every_claim_lets_through_and_one_decides(outcomes):
    lets_through = all(flag or verdict in ("pass", "not applicable") for verdict, flag in outcomes)
    decides = any(Verdict(verdict) is not Verdict.NOT_APPLICABLE for verdict, _ in outcomes)
    assert read(small(outcomes)).green == (lets_through and decides)
