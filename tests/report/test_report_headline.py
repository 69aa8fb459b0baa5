from dom import Page
from example import example
from hypothesis import given, settings
from hypothesis import strategies as st

from uds_bench.report import render
from uds_bench.report.claim import read_claims
from uds_bench.report.headline import Headline, headline
from uds_bench.report.words import WORDS


def read(run) -> Headline:
    return headline(run, read_claims(run))


def small(verdicts, ok=True, **summary):
    counts = {word: verdicts.count(word) for word in [*WORDS, *verdicts]}
    claims = [{"id": f"depth.c{i}", "verdict": verdict} for i, verdict in enumerate(verdicts)]
    return {"summary": {"planned": len(verdicts), "counts": counts, "ok": ok} | summary, "claims": claims}


def test_red_names_what_stops_the_release():
    found = read(example())
    assert not found.green
    assert found.title == "1 claim stops this release"
    assert found.reason == "1 crashed (depth.score[broken])."


def test_green_names_what_is_not_a_pass():
    found = read(example(broken=False))
    assert found.green
    assert found.reason.startswith("8 of 14 claims pass and none fails.")
    assert "3 expected miss (depth.score[npo_weak], depth.score[simnpo], depth.score[idk])" in found.reason


def test_the_sum_is_shown_with_every_word():
    page = Page(render(example(broken=False)))
    (total,) = page.all("p", "sum")
    assert total.text == (
        "planned 14 = 8 pass + 0 caught + 0 cleared + 0 fail + 0 inconclusive + 0 missing + 0 drifted + 0 stale + "
        "0 crashed + 0 environment invalid + 3 expected miss + 0 waived + 2 warning + 0 result + 1 not applicable"
    )
    assert "GREEN" in page.all("h1")[0].text
    assert page.all("title")[0].text.startswith("GREEN")
    assert "red" not in page.id("verdict").classes


def test_notes_of_the_run_are_shown_at_the_top():
    run = example(broken=False)
    run["summary"]["notes"] = ["controls are weak: the manifest has no pools"]
    assert "controls are weak" in Page(render(run)).id("verdict").text


def test_nothing_decided_is_red():
    for run in ({}, small([]), small(["not applicable"]), {"claims": [], "summary": None}):
        found = read(run)
        assert not found.green
        assert found.title == "nothing was decided"
        assert "RED" in Page(render(run)).all("h1")[0].text


def test_sums_that_do_not_add_up_are_red():
    assert read(small(["pass", "pass"])).green
    assert "2 are accounted for" in read(small(["pass", "pass"], planned=3)).reason
    assert not read(small(["pass"], planned=None)).green
    hidden = small(["pass", "pass"])
    hidden["claims"].pop()
    assert "disagree on: pass" in read(hidden).reason
    swapped = small(["pass", "waived"])
    swapped["summary"]["counts"] |= {"pass": 2, "waived": 0}
    assert not read(swapped).green


def test_a_run_that_is_not_ok_is_red():
    for ok in (False, None, "yes", 1):
        assert not read(small(["pass"], ok=ok)).green


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([*WORDS, "sparkling", ""]), max_size=8))
def test_green_only_if_every_word_lets_through_and_one_decides(verdicts):
    apart = {"expected miss", "waived", "not applicable", "warning", "result"}
    lets_through = {"pass", "caught", "cleared"} | apart
    decides = lets_through - {"not applicable"}
    green = set(verdicts) <= lets_through and bool(set(verdicts) & decides)
    assert read(small(verdicts)).green == green
