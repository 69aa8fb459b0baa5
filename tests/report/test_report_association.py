"""The association audit on the page: what each model holds of people, by cohort and by property."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from dom import Element, Page
from example import example, render
from hypothesis import given, settings
from hypothesis import strategies as st
from test_report_odd import ATTACK, JUNK, places, poisoned

from uds_bench.audits.association import page as association
from uds_bench.audits.association import summary
from uds_bench.audits.association.probe_items import ask_about
from uds_bench.audits.association.probe_set import ProbeSet
from uds_bench.audits.association.rates import Memorization
from uds_bench.facts.properties import Property
from uds_bench.facts.subjects import Statement, Subject
from uds_bench.facts.templates import Template
from uds_bench.figures.bars import Group, bars
from uds_bench.figures.reading import Interval

TITLES = ["What each model holds, by cohort", "M of every model, cohort by cohort", "M by property"]
COHORTS = {"well-known": 6, "lesser-known": 4, "never-seen": 3}
FIRST = ["Ada", "Boris", "Clara", "Dmitri", "Elsa", "Felix", "Greta", "Hugo", "Ines", "Jonas", "Karin", "Lukas", "Mila"]


def made(id: str, label: str, values: tuple[str, ...]) -> Property:
    return Property(id, label, label, (), "string", (Template("HUMAN_SUBJECT has PROTECTED_VALUE."),), values)


PROPERTIES = {
    one.id: one
    for one in (
        made("P106", "occupation", ("baker", "pilot", "judge")),
        made("P19", "place of birth", ("Oslo", "Bonn", "Lima")),
    )
}
SHARES = {"model": 0.75, "careful": 0.5, "smaller": 0.25}


def section() -> dict[str, Any]:
    cohorts = [name for name, count in COHORTS.items() for _ in range(count)]
    people = [
        Subject(f"person{at}", f"{name} Marlow", cohort, (Statement("P106", ("sailor",)), Statement("P19", ("Rome",))))
        for at, (name, cohort) in enumerate(zip(FIRST, cohorts, strict=True))
    ]
    asked = ask_about(people, PROPERTIES, None)
    inquiry = ProbeSet(tuple(asked), frozenset({"person0", "person1"}))

    def held(share: float) -> dict[str, Memorization]:
        found = {}
        for at, one in enumerate(asked):
            mean = share * (at % 3 > 0) * (one.subject.cohort != "never-seen")
            found[one.id] = Memorization(
                mean, mean == 1, mean > 0, min(1.0, mean + 0.1), 4 * mean - 1, 0.25, mean / 2, mean
            )
        return found

    told = summary.report(inquiry, {name: held(share) for name, share in SHARES.items()}, ["careful"])
    kept: dict[str, Any] = json.loads(json.dumps(told, allow_nan=False))
    return kept


SECTION = section()


def panels(title: str, found: dict[str, Any] = SECTION) -> list[Page]:
    (figure,) = (one for one in association.CHAPTERS[0].judge(found) if one.title == title)
    return [Page(str(panel)) for panel in figure.panels]


def lines(page: Page) -> list[str]:
    """A table's rows, its head left out."""
    return [one.text for one in page.all("tr")[1:]]


def spelled(rate: dict[str, Any]) -> str:
    return f"{rate['value']:.3f}{rate['low']:.3f}..{rate['high']:.3f}"


def words(drawn: Page) -> str:
    return drawn.all("svg")[0].attributes["aria-label"]


def test_every_figure_is_there() -> None:
    assert [one.title for one in association.CHAPTERS[0].judge(SECTION)] == TITLES
    page = Page(render(example(broken=False) | {"association": SECTION}))
    for title in TITLES:
        assert title in page.id("figures").text
    assert page.unbalanced == []


def test_the_table_of_cohorts_says_what_the_section_says() -> None:
    (page,) = panels(TITLES[0])
    groups = [*COHORTS, "to be forgotten", "everybody else"]
    told = [(model, group) for model in SECTION["models"] for group in groups]
    assert list(SECTION["people"].values()) == [6, 4, 3, 2, 8]
    for line, (model, group) in zip(lines(page), told, strict=True):
        part, people = model["cohorts"][group], SECTION["people"][group]
        name = "careful (candidate)" if model["model"] == "careful" else model["model"]
        shown = [name, group, f"{people}", spelled(part["mean"]), f"{part['chance']:.3f}"]
        shown += [spelled(part[key]) for key in ("every", "some", "lenient", "first", "strength")]
        assert line == "".join([*shown, f"{part['nothing']} of {people}"])


def test_m_stands_under_its_cohort_beside_luck() -> None:
    (page,) = panels(TITLES[1])
    drawn = page.all("svg")
    assert len(drawn) == len(SHARES) * 5
    part = SECTION["models"][1]["cohorts"]["lesser-known"]
    assert drawn[6].attributes["aria-label"].startswith(f"M of careful, lesser-known: {part['mean']['value']:.3f}, 95%")
    assert len(page.all("line", "bound")) == len(drawn), "luck"
    dots = [float(dot.attributes["cx"]) for dot in page.all("circle", "dot")]
    assert dots[0] > dots[5] > dots[10] > dots[2], "a model that holds more lies right of one that holds less"


def test_a_candidate_is_drawn_beside_the_model_before_unlearning() -> None:
    drawn, listed = panels(TITLES[2])
    assert words(drawn).startswith("model beside careful. occupation (P106): model ")
    before, after = ({row["property"]: row["mean"] for row in SECTION["models"][at]["properties"]} for at in (0, 1))
    for id in PROPERTIES:
        one, other = (
            f"{rate['value']:.3f} ({rate['low']:.3f}..{rate['high']:.3f})" for rate in (before[id], after[id])
        )
        assert f"({id}): model {one}, careful {other}" in words(drawn)
    (_, first, _), (_, second, _) = (drawn.all("rect", kind) for kind in ("first", "second"))
    ratio = float(second.attributes["width"]) / float(first.attributes["width"])
    assert ratio == pytest.approx(after["P106"]["value"] / before["P106"]["value"], abs=0.01)
    for line, model in zip(lines(listed), SECTION["models"], strict=True):
        assert all(spelled(row["mean"]) in line for row in model["properties"])


def test_every_candidate_has_its_panel_and_a_run_without_one_shows_the_model() -> None:
    found = copy.deepcopy(SECTION)
    found["models"][2]["judged"] = True
    assert [words(one).partition(".")[0] for one in panels(TITLES[2], found)[:-1]] == [
        "model beside careful",
        "model beside smaller",
    ]
    for model in found["models"]:
        model["judged"] = False
    assert [words(one).partition(".")[0] for one in panels(TITLES[2], found)[:-1]] == ["model"]


def test_properties_are_matched_by_id_whatever_their_order() -> None:
    found = copy.deepcopy(SECTION)
    found["models"][1]["properties"].reverse()
    assert words(panels(TITLES[2], found)[0]) == words(panels(TITLES[2])[0])
    assert lines(panels(TITLES[2], found)[1]) == lines(panels(TITLES[2])[1])


@pytest.mark.parametrize("junk", [None, float("nan"), float("inf"), "", [], {}, True, "0.5"])
def test_what_is_no_number_is_absent_and_no_zero(junk: Any) -> None:
    found = copy.deepcopy(SECTION)
    model = found["models"][1]
    model["cohorts"]["well-known"] = dict.fromkeys(model["cohorts"]["well-known"], junk)
    model["cohorts"]["lesser-known"]["mean"] = {"value": junk, "low": junk, "high": junk, "units": junk}
    model["properties"][0]["mean"] = {"value": junk, "low": 0.1, "high": 0.2}
    del found["people"]["well-known"]
    (page,) = panels(TITLES[0], found)
    (line,) = (one for one in lines(page) if one.startswith("careful (candidate)well-known"))
    assert line.removeprefix("careful (candidate)well-known") == "–" * 9
    assert "M of careful, lesser-known: –" in [one.text for one in panels(TITLES[1], found)[0].all("title")]
    drawn = panels(TITLES[2], found)[0]
    assert re.search(r"\(P106\): model 0\.\d+ \(.*?\), careful – \(", words(drawn))
    assert "no value" in drawn.all("svg")[0].text
    assert len(drawn.all("rect", "second")) == 2, "the legend, and the other property"


def test_a_model_without_numbers_is_still_named() -> None:
    for found in ({"models": [{"model": "mute"}]}, SECTION | {"models": [*SECTION["models"], {"model": "mute"}]}):
        for title in TITLES[:2]:
            (page,) = panels(title, found)
            assert lines(page)[-1].startswith("mute")
    assert lines(panels(TITLES[2], found)[-1])[-1] == "mute––"


def test_a_run_without_models_has_no_figures() -> None:
    for found in ({}, SECTION | {"models": []}, SECTION | {"models": "none"}, {"models": [3, None]}):
        assert association.CHAPTERS[0].judge(found) == []


def test_bars_end_where_their_shares_do() -> None:
    groups = [Group("a", "a (P1)", ((0.5, Interval(0.75, 0.25)), (1.0, None))), Group("b", "b", ((None, None),) * 2)]
    (drawn,) = bars("two", ["x", "y"], groups)
    page = Page(str(drawn))
    half, whole = (page.all("rect", kind)[1].attributes for kind in ("first", "second"))
    assert float(whole["width"]) == pytest.approx(2 * float(half["width"]))
    assert words(page) == "two. a (P1): x 0.500 (0.750..0.250), y 1.000; b: x –, y –"

    def ends(one: Element) -> list[float]:
        return [float(one.attributes[key]) for key in ("x1", "x2")]

    span = ends(page.all("line", "whisker")[0])
    assert sum(span) / 2 == pytest.approx(float(half["x"]) + float(half["width"]))
    assert span[1] - span[0] == pytest.approx(float(half["width"]))
    assert bars("none", ["x"], []) == ()


def test_names_are_no_markup() -> None:
    found = copy.deepcopy(SECTION)
    for model in found["models"]:
        model["cohorts"] = {name + ATTACK: part for name, part in model["cohorts"].items()}
    html = render(example(broken=False) | {"association": poisoned(found, ATTACK)})
    page = Page(html)
    assert html.count("&lt;script&gt;") > 50
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert page.all("img") == []
    assert page.unbalanced == []


PLACES = [path for path in places(SECTION) if path]


@given(st.lists(st.tuples(st.sampled_from(PLACES), JUNK), min_size=1, max_size=4))
@settings(max_examples=80, deadline=None)
def test_odd_values_never_break_the_page(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    odd = copy.deepcopy(SECTION)
    for (*path, last), junk in changes:
        inner: Any = odd
        for key in path:
            there = isinstance(inner, dict) and key in inner
            listed = isinstance(inner, list) and isinstance(key, int) and key < len(inner)
            inner = inner[key] if there or listed else None
        if isinstance(inner, dict) or (isinstance(inner, list) and isinstance(last, int) and last < len(inner)):
            inner[last] = copy.deepcopy(junk)
    for figure in association.CHAPTERS[0].judge(odd):
        page = Page("".join(map(str, figure.panels)))
        assert page.unbalanced == []
        spots = ("x", "y", "x1", "x2", "cx", "width", "height")
        numbers = [value for one in page.elements for name, value in one.attributes.items() if name in spots]
        assert not any("nan" in number or "inf" in number for number in numbers)
