"""The association audit on the page: what each model holds of people, by cohort and by property."""

from __future__ import annotations

import copy
import re
from typing import Any

import dom
import pytest
from dom import Element, Page, lines
from made_reports import values_of

from uds_bench.audits.association import page as association
from uds_bench.audits.association import summary
from uds_bench.audits.association.part import AssociationPart
from uds_bench.audits.association.probe_items import ask_about
from uds_bench.audits.association.probe_set import ProbeSet
from uds_bench.audits.association.rates import Memorization
from uds_bench.facts.properties import Property
from uds_bench.facts.subjects import Person, Statement
from uds_bench.facts.templates import Template
from uds_bench.figures.bars import BarGroup, bars
from uds_bench.statistics import Interval

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
        Person(f"person{at}", f"{name} Marlow", cohort, (Statement("P106", ("sailor",)), Statement("P19", ("Rome",))))
        for at, (name, cohort) in enumerate(zip(FIRST, cohorts, strict=True))
    ]
    asked = ask_about(people, PROPERTIES, None)
    probe_set = ProbeSet(tuple(asked), frozenset({"person0", "person1"}))

    def held(share: float) -> dict[str, Memorization]:
        found = {}
        for at, one in enumerate(asked):
            mean = share * (at % 3 > 0) * (one.subject.cohort != "never-seen")
            found[one.id] = Memorization(
                mean, mean == 1, mean > 0, min(1.0, mean + 0.1), 4 * mean - 1, 0.25, mean / 2, mean, replied=mean / 4
            )
        return found

    told = summary.report(probe_set, {name: held(share) for name, share in SHARES.items()}, ["careful"])
    return values_of(told)


SECTION = SMALL = section()


def panels(title: str, found: dict[str, Any] = SECTION) -> list[Page]:
    return dom.panels(association.draw(AssociationPart.model_validate(found)), title)


def words(drawn: Page) -> str:
    return drawn.all("svg")[0].attributes["aria-label"]


def test_m_stands_under_its_cohort_beside_luck() -> None:
    (page,) = panels(TITLES[1])
    drawn = page.all("svg")
    assert len(drawn) == len(SHARES) * 5
    assert len(page.all("line", "bound")) == len(drawn), "luck"
    dots = [float(dot.attributes["cx"]) for dot in page.all("circle", "dot")]
    assert dots[0] > dots[5] > dots[10] > dots[2], "a model that holds more lies right of one that holds less"


def test_a_candidate_is_drawn_beside_the_model_before_unlearning() -> None:
    before, after = (SECTION["models"][at]["properties"][0]["mean"]["value"] for at in (0, 1))
    (_, first, _), (_, second, _) = (panels(TITLES[2])[0].all("rect", kind) for kind in ("first", "second"))
    ratio = float(second.attributes["width"]) / float(first.attributes["width"])
    assert ratio == pytest.approx(after / before, abs=0.01)


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


@pytest.mark.parametrize("junk", [None, float("nan"), float("inf"), 1e200])
def test_what_is_no_number_is_absent_and_no_zero(junk: Any) -> None:
    found = copy.deepcopy(SECTION)
    model = found["models"][1]
    del model["cohorts"]["well-known"]
    model["cohorts"]["lesser-known"]["mean"] = {"value": junk, "low": junk, "high": junk, "units": 0}
    model["properties"][0]["mean"] = {"value": junk, "low": 0.1, "high": 0.2, "units": 9}
    del found["people"]["well-known"]
    (page,) = panels(TITLES[0], found)
    (line,) = (one for one in lines(page) if one.startswith("careful (candidate)well-known"))
    assert line.removeprefix("careful (candidate)well-known") == "–" * 10
    assert "M of careful, lesser-known: –" in [one.text for one in panels(TITLES[1], found)[0].all("title")]
    drawn = panels(TITLES[2], found)[0]
    assert re.search(r"\(P106\): model 0\.\d+ \(.*?\), careful – \(", words(drawn))
    assert "no value" in drawn.all("svg")[0].text
    assert len(drawn.all("rect", "second")) == 2, "the legend, and the other property"


def test_a_model_without_numbers_is_still_named() -> None:
    mute = {"model": "mute", "judged": False, "cohorts": {}, "properties": []}
    for found in ({"people": {}, "models": [mute]}, SECTION | {"models": [*SECTION["models"], mute]}):
        for title in TITLES[:2]:
            (page,) = panels(title, found)
            assert lines(page)[-1].startswith("mute")
    assert lines(panels(TITLES[2], found)[-1])[-1] == "mute––"


def test_bars_end_where_their_shares_do() -> None:
    groups = [
        BarGroup("a", "a (P1)", ((0.5, Interval(0.75, 0.25, "", 0)), (1.0, None))),
        BarGroup("b", "b", ((None, None),) * 2),
    ]
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
