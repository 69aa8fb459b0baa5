"""The LMLM audit on the page: what survives by topology, its channels and labels, and every lookup of some traces."""

from __future__ import annotations

import copy
import math
from typing import Any

import dom
import pytest
from dom import Page, lines
from example import example

# The encoder lies with the tests of retrieval, whose folder is on the path only where these run too.
from hashing import HashingEncoder
from made_reports import values_of

from uds_bench.audits.lmlm import page as lmlm
from uds_bench.audits.lmlm import summary
from uds_bench.audits.lmlm.asking.database_cell import DatabaseCell
from uds_bench.audits.lmlm.asking.probe import Library, ask_perfectly
from uds_bench.audits.lmlm.browser import browser
from uds_bench.audits.lmlm.controls import knowing_all
from uds_bench.audits.lmlm.judged import JudgedPrompt, judge
from uds_bench.audits.lmlm.leakage import Leakage
from uds_bench.audits.lmlm.part import LmlmPart, PromptTrace, ReportedRetriever
from uds_bench.facts.lookup_prompts import LookupFact, LookupPrompt, LookupPrompts
from uds_bench.facts.triplets import Triplet, TripletDatabase
from uds_bench.figures.bars import Stack, stacks
from uds_bench.figures.tables import tally
from uds_bench.retrieval.settings import RetrieverSettings

BASE = [
    Triplet("Austria", "Language", "German"),
    Triplet("Germany", "Language", "German"),
    Triplet("France", "Language", "French"),
    Triplet("Austria", "Capital", "Vienna"),
]
DECOYS = [
    Triplet("Language of Austria", "Language", "German"),
    Triplet("Language of France", "Language", "French"),
    Triplet("Capital of Austria", "Capital", "Vienna"),
]


def cell(topology: str, rows: list[Triplet]) -> DatabaseCell:
    facts = tuple(LookupFact(at, row) for at, row in enumerate(BASE))
    prompts = tuple(
        LookupPrompt(fact.id, wording, text.format(*fact.triplet))
        for wording, text in (("direct", "What is the {1} of {0}?"), ("cloze", "The {1} of {0} is ____."))
        for fact in facts
    )
    return DatabaseCell("countries", topology, LookupPrompts(TripletDatabase(rows, topology), facts, prompts))


CELLS = (cell("base", BASE), cell("noise", BASE + DECOYS))
SETTINGS = RetrieverSettings(model="hashing", top_k=3)


def asked() -> list[JudgedPrompt]:
    library = Library(CELLS, SETTINGS, encoder=HashingEncoder())
    units, replies = ask_perfectly(library)
    return judge(CELLS, units, {unit.id: told for unit, told in zip(units, replies, strict=True)})


def section() -> dict[str, Any]:
    judged = asked()
    models = summary.of_model("perfect", Leakage(judged)), summary.of_model("knowing", Leakage(knowing_all(judged)))
    retriever, cells = ReportedRetriever(**SETTINGS.to_json()), tuple(map(summary.cell, CELLS))
    return values_of(LmlmPart(retriever=retriever, deletion="alias_closure", cells=cells, models=models))


SECTION = section()
RUN = example(broken=False) | {"lmlm": SECTION}


def panels(title: str, found: dict[str, Any] = SECTION) -> list[Page]:
    return dom.panels(lmlm.draw(LmlmPart.model_validate(found)), title)


def test_a_leak_and_a_reconstruction_are_drawn_apart() -> None:
    drawn = panels("Which channel the answer comes through")
    assert [len(page.all("rect", "leak")) for page in drawn[:4]] == [1, 1, 4, 3], "the legend, then every row"
    assert [len(page.all("svg")) for page in drawn] == [1, 1, 1, 1, 0], "by topology and wording, then the table"


def test_a_p_value_that_underflows_is_not_shown_as_zero() -> None:
    found = copy.deepcopy(SECTION)
    found["models"][0]["all"]["mcnemar"]["p"] = 0.0
    assert "below 1e-300" in lines(panels("Right with retrieval and without", found)[0])[2]


@pytest.mark.parametrize(("count", "share"), [(0, 0.0), (9, 0.5), (99, 1.0)])
def test_counts_are_drawn_on_a_scale_of_logarithms(count: int, share: float) -> None:
    bars = [float(Page(str(tally("b", n, 99))).all("rect")[0].attributes["width"]) for n in (count, 99)]
    assert math.isclose(bars[0], share * bars[1], abs_tol=0.02)
    assert "absent" in str(tally("b", None, 99))


def test_parts_of_a_bar_stand_end_to_end() -> None:
    kinds = {"L": "leak", "R": "own"}
    (drawn,) = stacks("by topology", [Stack("base", ({"L": 0.25, "R": 0.5},)), Stack("none", ({"L": None},))], kinds)
    page = Page(str(drawn))
    left, right = (page.all("rect", kind)[1].attributes for kind in ("leak", "own"))
    assert float(left["x"]) + float(left["width"]) == pytest.approx(float(right["x"]))
    assert float(right["width"]) == pytest.approx(2 * float(left["width"]))
    assert "base: L 0.250, R 0.500; none: L –" in page.all("svg")[0].attributes["aria-label"]
    assert "no value" in page.all("svg")[0].text
    assert stacks("by topology", [], kinds) == ()


def test_a_reader_finds_the_row_that_gave_the_object_away() -> None:
    (found,) = (
        one
        for one in SECTION["models"][0]["traces"]
        if one["cell"] == "countries/base" and one["fact"][0] == "Austria" and one["label"] == "reconstructed"
        if one["wording"] == "direct"
    )
    trace = PromptTrace.model_validate(found)
    page = shown(trace)
    assert page.all("summary")[1].text == "reconstructed: Austria | Language | German (direct)"
    assert page.all("p")[0].text == "Asked: What is the Language of Austria?"
    full, after, *off = page.all("tr")[1:]
    score = next(row[-1] for row in trace.replies["full"].calls[0].kept or ())
    assert f"there: Austria | Language | German {score:.3f}" in full.text
    assert "deleted: none" in full.text
    assert after.text.startswith("DEL-ONGermanAustria | Language → German")
    assert "there: Germany | Language | German" in after.text
    assert f"deleted: Austria | Language | German {score:.3f}" in after.text
    assert all("nothing" in one.text for one in off)
    assert {one.text for one in page.all("mark")} == {"German"}
    assert "<mark>German</mark>y" not in str(browser([trace], lmlm.STATES)), "Germany is no German"


def shown(trace: PromptTrace) -> Page:
    return Page(str(browser([trace], lmlm.STATES)))


def test_odd_lookups_are_named() -> None:
    calls = [
        {"query": None, "value": None},
        {"query": ["a", "b"], "value": "c", "kept": [["x", "y", "z", 0.1]], "deleted": [], "fell_back": True},
    ]
    reply = {"answer": "", "calls": calls, "cut": True, "looped": True}
    found = SECTION["models"][0]["traces"][0]
    trace = PromptTrace.model_validate(found | {"replies": found["replies"] | {"full": reply}})
    text = shown(trace).all("tr")[1].text
    for words in ("malformed lookup → left to the model", "a | b → c", "x | y | z 0.100", "the best was taken"):
        assert words in text
    assert "(empty)" in text
    assert "cut at the token limit" in text
    assert "asked on and on" in text


SMALL = SECTION | {"models": [model | {"traces": model["traces"][:1]} for model in SECTION["models"]]}
