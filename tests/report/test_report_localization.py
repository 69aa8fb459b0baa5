"""The localization audit on the page: where each update moved the weights, what each model says, and who leaks."""

from __future__ import annotations

import copy
from typing import Any

import dom
import pytest
from dom import Page, lines
from example import claim, example, render
from located import section
from syrupy.assertion import SnapshotAssertion
from test_report_odd import ATTACK, harmless, poisoned

from uds_bench.audits.localization import page as localization
from uds_bench.audits.localization import precision
from uds_bench.audits.localization.families import FAMILIES
from uds_bench.audits.localization.names import HEADLINE, PUBLISHED, SUBJECTS
from uds_bench.audits.localization.page import weights
from uds_bench.audits.localization.part import LocalizationPart
from uds_bench.claims.report_part import span
from uds_bench.figures.auc_plot import LEFT, RIGHT, AucRow, auc_plot
from uds_bench.figures.chapter import Figure
from uds_bench.figures.spelling import spell
from uds_bench.figures.svg import Scale
from uds_bench.figures.tables import MeanCell, shaded_table

SECTION = section()
CANDIDATES = ("oracle", "blind", "idle")
TITLES = [
    "How to read these numbers",
    "What each update comes to",
    *(f"Where {name} moved the weights" for name in CANDIDATES),
    "What each model says",
    "Who resurfaces",
    "Who resurfaces, seed by seed",
    "Whether the same people leak",
    "What benchmarks are still answered",
]
RUN = example(broken=False) | {"localization": SECTION}
X = Scale(0, 1, LEFT, RIGHT)


def judge(found: dict[str, Any]) -> list[Figure]:
    return localization.draw(LocalizationPart.model_validate(found))


def figure(title: str, found: dict[str, Any] = SECTION) -> Any:
    (one,) = (one for one in judge(found) if one.title == title)
    return one


def panels(title: str, found: dict[str, Any] = SECTION) -> list[Page]:
    return dom.panels(judge(found), title)


def of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = SECTION["models"][name]["weights"]
    return found


def shown(found: dict[str, Any]) -> str:
    return f"{spell(found['value'])}{spell(found['low'])}..{spell(found['high'])}"


def test_names_are_those_of_the_audit() -> None:
    assert set(weights.SUBJECTS) == set(SUBJECTS)
    assert set(weights.TARGETS) == set(of("blind")["aucs"]["unlearned"])
    told = " ".join(localization.SAYS).lower()
    assert all(word.value in told for word in precision.PrecisionOutcome)
    assert all(family in told for family in FAMILIES)


def test_the_table_of_updates_says_what_the_section_says() -> None:
    first, second = panels(TITLES[1])
    words = {
        "neutral": "not localized",
        "oracle": "localized",
        "blind": "not localized",
        "idle": "no group's weights changed",
    }
    for line, beside, (name, word) in zip(lines(first), lines(second), words.items(), strict=True):
        found = of(name)
        best = found["headline"]
        assert line.startswith(name)
        assert f"{word}AUC of {name}: " in line
        assert f"{shown(best)}{best['family']}" in line
        assert f"{found['touched']['share']:.1%}{found['touched']['elsewhere']:,}" in line
        published = found["published"]
        random = found["aucs"]["random"][PUBLISHED]
        most = max(random, key=lambda family: random[family]["value"])
        assert f"{published['family']}{shown(published)}{shown(random[published['family']])}" in beside
        assert beside.endswith(f"{spell(random[most]['value'])} ({most})")
        assert "1.000 (raw)" in beside, "within the mask"


def test_one_minus_half_of_what_was_left_stands_beside_raw() -> None:
    found = {line.split("AUC of ")[1].split(":")[0]: line for line in lines(panels(TITLES[1])[0])}
    oracle = of("oracle")["touched"]
    assert found["oracle"].endswith(2 * spell(1 - oracle["share"] / 2))
    assert found["idle"].endswith("0.5000.500")
    assert "n/a" in found["blind"], "others moved too, from which nothing follows"
    assert "so that raw must have 0.914: it has 0.914" in figure(TITLES[2]).caption
    assert "raw must" not in figure(TITLES[3]).caption


def test_a_family_that_blind_updates_are_told_by_is_named_and_grey() -> None:
    left = [family for family in of("blind")["aucs"]["unlearned"][HEADLINE] if family not in of("blind")["counted"]]
    assert left == ["signrev", "reversal", "dirreversal", "composite"]
    random, misplaced = (
        of("blind")["aucs"][subject][HEADLINE]["reversal"]["value"] for subject in ("random", "misplaced")
    )
    told = f"reversal (random update {spell(random)}, an update everywhere but there {spell(misplaced)})"
    assert told in figure(TITLES[3]).caption, "retained people were written with half the force"
    alone = of("blind")["aucs"]["misplaced"][HEADLINE]["signrev"]["value"]
    assert f"signrev (an update everywhere but there {spell(alone)})" in figure(TITLES[3]).caption
    for drawn in panels(TITLES[3])[0].all("svg"):
        assert drawn.attributes["aria-label"].count("not counted: ") == 4
    page = panels(TITLES[3])[0]
    grey = [one.text for one in page.all("g", "mute")]
    assert len(grey) == 8, "four families, once among the other groups and once against all weights"
    assert all("not counted" in one for one in grey)


def test_families_without_a_control_are_not_applicable() -> None:
    assert of("oracle")["absent"] == ["contrast", "contrastnorm", "eratio"]
    assert "Not applicable, for want of a control: contrast, contrastnorm, eratio." in figure(TITLES[2]).caption
    assert "Not applicable" not in figure(TITLES[3]).caption
    drawn = [one.text for one in panels(TITLES[2])[0].all("text", "absent")]
    assert drawn == [weights.WITHOUT] * 6, "three families, once among the other groups and once against all weights"


def test_a_reader_sees_what_a_blind_update_has_as_published() -> None:
    found = of("blind")
    family = found["published"]["family"]
    random = found["aucs"]["random"][PUBLISHED][family]["value"]
    assert random > 0.7, "the published target is told by injection alone"
    told = (
        f"{family} has most, {spell(found['published']['value'])}, where a random update as long, which is blind, has"
    )
    assert f"{told} {spell(random)}." in figure(TITLES[3]).caption


def test_the_best_is_shown_with_the_interval_that_it_is_judged_by() -> None:
    best, alone = of("oracle")["headline"], of("oracle")["aucs"]["unlearned"][HEADLINE]["qtile"]
    assert best["family"] == "qtile"
    assert best["low"] < alone["low"]
    first, second = (one.attributes["aria-label"] for one in panels(TITLES[2])[0].all("svg"))
    assert f"qtile {spell(best['value'])} ({spell(best['low'])}..{spell(best['high'])})" in first
    published = of("oracle")["aucs"]["unlearned"][PUBLISHED]["qtile"]
    assert f"qtile {spell(published['value'])} ({spell(published['low'])}" in second


def test_every_auc_is_there_folded() -> None:
    page = panels(TITLES[3])[1]
    assert page.all("summary")[0].text == "every AUC of blind"
    for line, family in zip(lines(page), of("blind")["aucs"]["unlearned"][HEADLINE], strict=True):
        for targets in of("blind")["aucs"].values():
            for found in targets.values():
                assert family not in found or shown(found[family]) in line


def test_rows_are_drawn_where_they_lie() -> None:
    rows = [
        AucRow(
            "raw",
            (0.8, span(0.7, 0.85)),
            {"random": (0.52, None), "neutral": (0.4, None)},
            span(0.49, 0.51),
        ),
        AucRow("reversal", (0.6, None), {"random": (None, None)}, None, "not counted: random update 0.6"),
        AucRow("contrast", (None, None), {}, None, "not applicable"),
    ]
    page = Page(str(auc_plot("mine", rows, 0.03, 0.9)))
    label = page.all("svg")[0].attributes["aria-label"]
    assert label == (
        "mine. raw 0.800 (0.700..0.850), random 0.520, neutral 0.400, chance 0.490..0.510; "
        "reversal 0.600, not counted: random update 0.6; contrast –, not applicable"
    )
    dots = [float(one.attributes["cx"]) for one in page.all("circle", "dot")]
    assert dots[1:] == [pytest.approx(X(0.8), abs=0.01), pytest.approx(X(0.6), abs=0.01)], "after that of the legend"
    rings = [float(one.attributes["cx"]) for one in page.all("circle", "random")]
    assert rings[1:] == [pytest.approx(X(0.52), abs=0.01)]
    assert page.all("path", "neutral")[1].attributes["d"].startswith(f"M{X(0.4):.1f},")
    (bar,), (bound,) = page.all("rect", "bar"), page.all("line", "bound")
    assert float(bar.attributes["x"]) == pytest.approx(X(0.7), abs=0.01)
    assert float(bar.attributes["width"]) == pytest.approx(X(0.85) - X(0.7), abs=0.01)
    assert float(bound.attributes["x1"]) == pytest.approx(X(0.9), abs=0.01)
    (_, margin), (_, null) = page.all("rect", "margin"), page.all("rect", "null")
    for drawn, low, high in ((margin, 0.47, 0.53), (null, 0.49, 0.51)):
        assert float(drawn.attributes["x"]) == pytest.approx(X(low), abs=0.01)
        assert float(drawn.attributes["width"]) == pytest.approx(X(high) - X(low), abs=0.01)


def test_what_models_say_leak_and_answer(snapshot: SnapshotAssertion) -> None:
    """What weights come to is of what torch draws: it is held against the section, above."""
    assert [one.title for one in judge(SECTION)[5:]] == TITLES[5:]
    assert dom.told(judge(SECTION)[5:]) == snapshot
    floors = [bool(page.all("line", "bound")) for page in panels(TITLES[5])]
    assert floors == [True, False, False, False, False], "of those who are to be forgotten"


def test_without_benchmarks_there_is_no_table_of_them() -> None:
    found = copy.deepcopy(SECTION) | {"benchmarks": {}}
    assert [one.title for one in judge(found)] == [t for t in TITLES if "benchmarks" not in t]


def test_a_method_from_which_nobody_leaks_has_no_overlap() -> None:
    found = copy.deepcopy(SECTION)
    found["leaks"]["oracle"]["seeds"] = [[], [], []]
    for row in found["jaccard"]:
        if row["first"] == "oracle":
            row |= {"value": None, "seeds": 0}
    (page,) = panels(TITLES[8], found)
    assert lines(page)[0] == "oraclen/an/an/a"
    assert "n/a" in str(shaded_table("a", [("b", {"c": MeanCell(None, 0)})])[0])


def test_candidates_stand_side_by_side_at_the_top() -> None:
    bound = {"relation": ">=", "value": 0.9, "origin": "ours"}
    run = copy.deepcopy(RUN)
    run["claims"] = [
        claim("localization.auc", name, "fail", kind="threshold", observed=of(name)["headline"]["value"], bound=bound)
        for name in CANDIDATES
    ]
    text = Page(render(run)).id("subjects").text
    assert "only the weights that hold it changed" in text
    assert all(name in text for name in CANDIDATES)


def test_no_family_that_counts_is_said_to_be_so() -> None:
    found = copy.deepcopy(SECTION)
    found["models"]["blind"]["weights"] |= {"headline": None, "counted": []}
    assert figure(TITLES[3], found).caption.startswith("No family counts")
    assert "no family counts" in lines(panels(TITLES[1], found)[0])[2]


def test_without_neutral_training_the_random_update_stands_alone() -> None:
    found = copy.deepcopy(SECTION)
    del found["models"]["neutral"]
    page = panels(TITLES[3], found)[0]
    assert len(page.all("path", "neutral")) == 2, "the legends alone"
    assert len(page.all("circle", "random")) > 10


def test_what_a_report_says_is_no_markup() -> None:
    odd = poisoned(SECTION, ATTACK)
    odd["models"] = {f"{name}{ATTACK}": model for name, model in odd["models"].items()}
    odd["leaks"] = {f"{name}{ATTACK}": one for name, one in odd["leaks"].items()}
    harmless(render(RUN | {"localization": odd}), 100)


def small() -> dict[str, Any]:
    """One candidate, and neutral training."""
    found = copy.deepcopy(SECTION)
    found["models"] = {name: found["models"][name] for name in ("neutral", "blind")}
    for model in found["models"].values():
        aucs = model["weights"]["aucs"]
        model["weights"]["aucs"] = {
            subject: {target: {k: row[k] for k in ("raw", "reversal")} for target, row in aucs[subject].items()}
            for subject in ("unlearned", "random")
        }
    for part in ("leaks", "benchmarks"):
        found[part] = {"blind": found[part]["blind"]}
    return found | {"jaccard": found["jaccard"][:1]}


SMALL = small()
