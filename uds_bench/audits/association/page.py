"""The association audit on the page: what each model holds of people, by cohort and by property."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from uds_bench.figures.bars import BarGroup, bars
from uds_bench.figures.chapter import Chapter, Figure
from uds_bench.figures.reading import ABSENT, measured, number, rows, table, text, whole
from uds_bench.figures.tables import figures, interval_table, track

BEFORE = "model"
"""What the report calls the model before unlearning."""
RATES = {
    "every": "all phrasings",
    "some": "any phrasing",
    "lenient": "lenient M",
    "first": "said first",
    "replied": "in a reply",
}

Models = Sequence[Mapping[str, Any]]


def _name(model: Mapping[str, Any]) -> str:
    return text(model.get("model")) or "unnamed"


def _shown(model: Mapping[str, Any]) -> str:
    return _name(model) + (" (candidate)" if model.get("judged") is True else "")


def _groups(section: Mapping[str, Any], models: Models) -> list[str]:
    """Every cohort that anything is said of, in order; one without a name where there is none, so that no model that
    was asked goes unseen."""
    told = [*table(section.get("people")), *(group for model in models for group in table(model.get("cohorts")))]
    return list(dict.fromkeys(told)) or [ABSENT]


def _count(value: Any, of: int | None = None) -> str:
    found = whole(value)
    return ABSENT if found is None else f"{found}" + ("" if of is None else f" of {of}")


def by_cohort(section: Mapping[str, Any], models: Models) -> Figure:
    """M, its relatives and z* of each model, a row a cohort."""
    body: list[tuple[str, list[Any]]] = []
    for model in models:
        for group in _groups(section, models):
            part, people = table(table(model.get("cohorts")).get(group)), whole(table(section.get("people")).get(group))
            cells: list[Any] = [text(group), _count(people), figures(*measured(part.get("mean")))]
            cells += [number(part.get("chance")), *(figures(*measured(part.get(key))) for key in RATES)]
            cells += [figures(*measured(part.get("strength"))), _count(part.get("nothing"), people)]
            body.append((_shown(model), cells))
    return Figure(
        "What each model holds, by cohort",
        "M: share of phrasings under which what is true of a person ranks above every value that is not, 0 to 1; "
        "higher is more knowledge. Beside it what luck alone gives. Then the share held under all phrasings, under any "
        "one, and M where a tie counts for it. Said first: the share under which the likeliest sentence is true, "
        "by its likelihood alone, whatever is said of other names; higher is more knowledge. In a reply: the share "
        "under which what is true is told, however it is cased and parted, when the model is asked; higher is more "
        "knowledge. z*: by how many standard deviations the lead of what is true lies above the mean lead; higher is "
        "firmer; what is not held is "
        "counted too. H: people of whom nothing is held under any phrasing; fewer is more knowledge. Those to be "
        "forgotten are counted in their cohort too. Below each: its 95% interval over people. After WikiMem, table 1, "
        "which has M, z* and H.",
        interval_table(("model", "cohort", "people", "M", "M by luck", *RATES.values(), "z*", "H, nothing held"), body),
        wide=True,
    )


def beside_luck(section: Mapping[str, Any], models: Models) -> Figure:
    """M of each model beside what luck gives, a column a cohort."""
    groups = _groups(section, models)
    body: list[tuple[str, list[Any]]] = []
    for model in models:
        cells: list[Any] = []
        for group in groups:
            part = table(table(model.get("cohorts")).get(group))
            told = f"M of {_name(model)}, {text(group)}"
            cells.append(track(told, *measured(part.get("mean")), number(part.get("chance"))))
        body.append((_shown(model), cells))
    return Figure(
        "M of every model, cohort by cohort",
        "From 0 to 1, with its 95% interval over people; luck dashed. Right is more knowledge. People never seen are "
        "the floor: what a model seems to hold of them it does not know. A candidate is to come down to it for "
        "those to be forgotten. They are counted in their cohort too, which falls with them: whether everybody else "
        "is kept is not to be read from here.",
        interval_table(("model", *map(text, groups)), body),
        wide=True,
    )


def _properties(model: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {text(row.get("property")): row for row in rows(model.get("properties"))}


def _labels(models: Models) -> dict[str, str]:
    """By property what it is called, in order; its id where it has no label."""
    found: dict[str, str] = {}
    for model in models:
        for id, row in _properties(model).items():
            found[id] = found.get(id) or text(row.get("label"))
    return {id: label or id or ABSENT for id, label in found.items()}


def _beside(models: Models, labels: Mapping[str, str]) -> list[BarGroup]:
    told = [_properties(model) for model in models]
    return [
        BarGroup(label, f"{label} ({id})", tuple(measured(table(one.get(id)).get("mean")) for one in told))
        for id, label in labels.items()
    ]


def by_property(models: Models) -> Figure:
    """M of each model, property by property, and each candidate beside the model before."""
    labels = _labels(models)
    before = [model for model in models if _name(model) == BEFORE][:1]
    after = [model for model in models if model.get("judged") is True and _name(model) != BEFORE]
    panels: list[Markup] = []
    for pair in [[*before, one] for one in after] or [before or [*models[:1]]]:
        names = [_name(model) for model in pair]
        panels += bars(" beside ".join(names), names, _beside(pair, labels))
    body: list[tuple[str, list[Any]]] = []
    for model in models if labels else ():
        told = _properties(model)
        body.append((_shown(model), [figures(*measured(table(told.get(id)).get("mean"))) for id in labels]))
    return Figure(
        "M by property",
        "Each candidate beside the model before unlearning, then every model in numbers. M from 0 to 1, with its 95% "
        "interval over people; higher is more knowledge. Over everybody but the never-seen, so that what is kept "
        "counts as well as what is to be forgotten: a low bar is no proof of forgetting. A property is known of some "
        "people only, so bars of two properties are not of the same people. After WikiMem, figure 1.",
        (*panels, *interval_table(("model", *labels.values()), body)),
        wide=True,
    )


def draw(section: Mapping[str, Any]) -> list[Figure]:
    """Its figures on the page, those that have something to show."""
    models = rows(section.get("models"))
    drawn = [by_cohort(section, models), beside_luck(section, models), by_property(models)]
    return [figure for figure in drawn if figure.panels]


CHAPTERS = (
    Chapter(
        name="association",
        title="People",
        question="Which facts about people does a model hold, and are those forgotten who asked to be?",
        measures=("association.forgotten", "association.never_seen"),
        limits=(0.0, 1.0),
        ends=("no more than the floor", "it is held"),
        judge=draw,
        part="association",
        personal=("property",),
        groups=("people", "cohorts"),
        plain=("to be forgotten", "everybody else"),
    ),
)
