import base64
import hashlib
import re
from pathlib import Path

import pytest
from dom import Page
from example import counted, example, judged, render
from made_reports import claim as made
from made_reports import opened, report_of, run_of

from uds_bench.report import page, write_report
from uds_bench.report.page import render as page_of
from uds_bench.report.score_tables import fact_tables
from uds_bench.scores import FactScore, Score


def opened_or_not(path: Path) -> str:
    """All that a page and its parts say, as they are written."""
    files = [path, *(path.parent / "parts").iterdir()]
    return "".join(file.read_text(encoding="utf-8").replace('\\"', '"') for file in files)


@pytest.fixture(scope="module")
def red() -> Page:
    return Page(render(example()))


def test_the_page_is_written_whole_and_again(tmp_path):
    path = write_report(report_of(example(), "run"), tmp_path / "new" / "folder")
    first = path.read_text(encoding="utf-8")
    assert path == tmp_path / "new" / "folder" / "index.html"
    assert first == page.render(report_of(example(), "run")).index
    parts = {each.name for each in (path.parent / "parts").iterdir()}
    (path.parent / "parts" / "of-the-user.js").write_text("let mine;")
    write_report(report_of(example(broken=False), "run"), path.parent)
    assert path.read_text(encoding="utf-8") != first
    assert {each.name for each in path.parent.iterdir()} == {"index.html", "parts"}
    (path.parent / "parts" / "of-the-user.js").unlink()
    now = {each.name for each in (path.parent / "parts").iterdir()}
    assert now == set(re.findall(r'data-part="([^"]+)"', opened_or_not(path)))
    assert parts - now, "of an earlier page nothing is left"


def test_the_page_is_well_formed(red):
    ids = [e.attributes["id"] for e in red.elements if "id" in e.attributes]
    assert red.unbalanced == []
    assert len(ids) == len(set(ids))
    assert len(red.all("h1")) == 1
    targets = {e.attributes["href"] for e in red.all("a")}
    assert targets <= {f"#{identity}" for identity in ids}


@pytest.mark.parametrize("run", [example(), judged()])
def test_the_page_needs_nothing_from_outside(run):
    html = render(run)
    outside = [
        (e.tag, name, value)
        for e in Page(html).elements
        for name, value in e.attributes.items()
        if name in ("src", "href", "srcset", "data", "action", "poster", "xlink:href") and not value.startswith("#")
    ]
    assert outside == []
    assert not Page(html).all("link")
    assert not re.search(r"@import|url\(|https?:", html)


def test_only_its_own_script_may_run(red):
    (policy,) = (e.attributes["content"] for e in red.all("meta") if e.attributes.get("http-equiv"))
    (script,) = re.findall(r"<script>(.*?)</script>", render(example()), re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_sections_stand_in_the_order_in_which_one_asks(red):
    order = ["verdict", "overview", "failures", "claims", "subjects", "figures", "scores", "about"]
    found = [e.attributes["id"] for e in red.elements if e.attributes.get("id") in order]
    assert found == order


def test_every_claim_is_there_with_its_command_and_evidence(red):
    claims = red.id("claims")
    bodies = {int(e.attributes["id"].partition("-")[2]): e for e in red.all("tbody") if "id" in e.attributes}
    run = example()
    assert len(bodies) == len(run["claims"]) == 15
    commands = {e.text for e in red.all("code")}
    for at, claim in enumerate(run["claims"], 1):
        body = bodies[at]
        for words in ("message", "statement", "evidence", "node", "reproduce"):
            assert " ".join(claim[words].split()) in body.text, words
        assert claim["bound"]["origin"] in body.text
        assert claim["provenance"]["rendered"] in body.text
        assert claim["reproduce"] in commands
    assert "recorded" in claims.text
    assert "full2: observed 0.265" in claims.text


def test_a_claim_has_its_number_line_with_its_controls(red):
    lines = [e.attributes["aria-label"] for e in red.all("svg", "axis")]
    (told,) = (line for line in lines if line.startswith("depth.score[simnpo]: ") and "; control" in line)
    assert "needs >= 0.7, declared; control full2: 0.265, must fail; control retain2: " in told
    assert len(red.all("circle", "ring")) == 2 * 5, "two of each candidate that was scored"


def test_what_failed_says_how_much_why_and_how_to_see_it_again():
    run = example(broken=False)
    claim = next(row for row in run["claims"] if (row["id"], row["subject"]) == ("depth.score", "simnpo"))
    claim |= {"flag": None, "expected": {}}
    run["summary"] |= {"ok": False, "counts": counted(run["claims"])}
    page = Page(render(run))
    (failure,) = page.all("article", "failure")
    assert "depth.score[simnpo]" in failure.text
    assert "misses the bound" in failure.text
    assert f"short by {claim['shortfall']:.3f}" in failure.text
    assert claim["statement"] in failure.text
    assert claim["reproduce"] in failure.text


def test_expected_misses_stand_apart_and_are_never_green(red):
    groups = [e.text for e in red.all("tr", "group")]
    assert [words.split(" ")[0] for words in groups] == ["Stopping", "Passing", "Set", "Controls"]
    chips = red.all("span", "chip")
    assert sum("declared" in e.text for e in chips) >= 9
    for chip in chips:
        good = chip.text.partition(" ")[2] in ("pass", "caught", "cleared")
        assert ("good" in chip.classes) == good, chip.text


def test_what_was_caught_is_no_pass():
    run = example(broken=False)
    for row in run["claims"]:
        if row.get("flag") == "declared":
            row |= {"flag": "caught", "outcome": "fail", "specimen": "fail", "expected": {}}
    run["summary"]["counts"] = counted(run["claims"])
    page = Page(render(run))
    groups = [e.text for e in page.all("tr", "group")]
    assert [words.split(" ")[0] for words in groups] == ["Caught", "Passing", "Controls"]
    assert "a specimen that must come out fail" in page.id("claims").text
    assert "Specimens that came to what they must: 5 caught." in page.id("verdict").text
    assert "8 of 14 claims pass and none fails." in page.id("verdict").text
    assert "RED" not in page.all("h1")[0].text


def test_that_a_model_is_refused_is_why_its_claims_are_undecided():
    told = run_of(
        made("depth.score[odd]", "undecided", cause="refused", message="depth.score [odd]: holds NaN"),
        made("depth.score[wide]", "undecided", cause="interval"),
        made("depth.score[npo]"),
    )
    page = Page(opened(page_of(told)))
    seen = page.id("overview").text
    assert "odd?undecided ? undecided depth.score: holds NaN" in seen
    assert "wide?undecided ? undecided depth.score" in seen
    assert "npo✓pass" in seen
    assert "undecided refused depth.score[odd]" in page.id("failures").text
    assert "0 fail + 2 undecided + 0 not applicable" in page.id("verdict").text
    assert "2 undecided. Undecided: odd, wide. Clears: npo." in page.id("verdict").text


def test_a_miss_of_what_was_declared_is_not_told_as_a_miss_of_the_bound():
    run = example(broken=False)
    row = next(row for row in run["claims"] if (row["id"], row["subject"]) == ("depth.score", "simnpo"))
    row |= {"flag": None, "outcome": "pass", "specimen": "fail", "expected": {}}
    page = Page(render(run))
    assert "It came out pass, which is not what it is held to" in page.id("failures").text
    assert "misses the bound" not in page.id("failures").text


def test_declarations_and_controls_say_what_they_mean(red):
    subjects = red.id("subjects").text
    assert subjects.count("hides what it knows") == 2
    assert "must fail, and does" in subjects
    assert "must pass, and does" in subjects


def test_a_control_that_does_not_hold_is_shown_as_broken():
    run = example(broken=False)
    for claim in run["claims"]:
        for control in claim["controls"]:
            control["held"] = control["name"] != "full2"
    page = Page(render(run))
    assert "gate cannot be trusted" in page.id("subjects").text
    assert any("did not hold" in e.text and "bad" in e.classes for e in page.all("span", "chip"))


def test_a_control_that_may_stay_open_is_not_said_to_pass():
    run = example(broken=False)
    for claim in run["claims"]:
        for control in claim["controls"]:
            control.update(held=True, verdict="undecided")
    subjects = Page(render(run)).id("subjects").text
    assert "must pass: too near the bound to be decided" in subjects
    assert "must pass, and does" not in subjects


def test_scores_show_intervals_counts_and_reasons(red):
    scores = red.id("scores").text
    row = example()["scores"][0]
    assert f"{row['ci'][0]:.3f}..{row['ci'][1]:.3f}" in scores
    assert "116 of 120" in scores
    assert "4: no knowledge-encoding layer: the retain model does as well" in scores


def test_figures_say_in_words_what_they_show(red):
    titles = [e.text.split(".")[0] for e in red.all("figcaption")]
    assert titles == [
        "Layer profile",
        "Score per fact",
        "Depth by kind of prompt",
        "Over-unlearning",
        "Facts without a knowledge layer",
    ]
    pictures = red.all("svg")
    assert len(red.all("svg", "panel")) == 14
    assert all(e.attributes["role"] == "img" and e.attributes["aria-label"] for e in pictures)
    assert "nan" not in " ".join(v for e in red.elements for v in e.attributes.values()).lower().split()


def test_words_are_explained_of_audits_that_decided(red):
    assert "Knowledge layer" in red.id("about").text
    other = run_of(made("bypass.invariance[npo]"))
    assert "Knowledge layer" not in Page(page_of(other).index).id("about").text


def test_no_script_is_needed_to_read(red):
    """Every claim's details are native, and buttons exist only where the script adds them."""
    assert len(red.all("details")) >= 15
    assert red.all("button") == []


def test_facts_say_what_was_asked_and_answered_and_those_that_survive_come_first():
    details = {"a": {"answer": "no", "survives": False}, "b": {"answer": "the Rose", "survives": True}, "c": {}}
    rows = tuple(FactScore(id, id, 0.0, detail=detail) for id, detail in details.items())
    wordings = {"b": {"question": "Which?", "entity": "Rose"}}
    (table,) = fact_tables([Score("npo", "none", "bypass_gap", "x", 0.0, None, rows)], wordings)["tables"]
    assert table["columns"] == ["survives", "bypass_gap x"]
    assert table["rows"][0] == ["b", "b", "", "Which?", "Rose", "the Rose", 1.0, 0.0]
    assert [row[0] for row in table["rows"]] == ["b", "a", "c"]
    assert table["rows"][2][6:] == ["not told", 0.0]
