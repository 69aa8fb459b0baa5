"""The association audit on the page: what each model holds of people, by cohort and by property."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from uds_bench.audits.association.part import AssociatedModel, AssociationPart, PropertyMean
from uds_bench.figures.bars import BarGroup, bars
from uds_bench.figures.chapter import Chapter, Figure
from uds_bench.figures.spelling import ABSENT, Measured
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


def _shown(model: AssociatedModel) -> str:
    return model.model + (" (candidate)" if model.judged else "")


def _groups(part: AssociationPart) -> list[str]:
    """Every cohort that anything is said of, in order; one without a name where there is none, so that no model that
    was asked goes unseen."""
    told = [*part.people, *(group for model in part.models for group in model.cohorts)]
    return list(dict.fromkeys(told)) or [ABSENT]


def by_cohort(part: AssociationPart) -> Figure:
    """M, its relatives and z* of each model, a row a cohort."""
    body: list[tuple[str, list[Any]]] = []
    for model in part.models:
        for group in _groups(part):
            people, found = part.people.get(group), model.cohorts.get(group)
            cells: list[Any] = [group, ABSENT if people is None else str(people)]
            if found is None:
                cells += [None] * (len(RATES) + 3) + [ABSENT]
            else:
                cells += [figures(*found.mean.drawn), found.chance]
                cells += [figures(*getattr(found, key).drawn) for key in (*RATES, "strength")]
                cells += [f"{found.nothing}" + ("" if people is None else f" of {people}")]
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


def beside_luck(part: AssociationPart) -> Figure:
    """M of each model beside what luck gives, a column a cohort."""
    groups = _groups(part)
    body: list[tuple[str, list[Any]]] = []
    for model in part.models:
        cells: list[Any] = []
        for group in groups:
            found, told = model.cohorts.get(group), f"M of {model.model}, {group}"
            cells.append(track(told, None, None) if found is None else track(told, *found.mean.drawn, found.chance))
        body.append((_shown(model), cells))
    return Figure(
        "M of every model, cohort by cohort",
        "From 0 to 1, with its 95% interval over people; luck dashed. Right is more knowledge. People never seen are "
        "the floor: what a model seems to hold of them it does not know. A candidate is to come down to it for "
        "those to be forgotten. They are counted in their cohort too, which falls with them: whether everybody else "
        "is kept is not to be read from here.",
        interval_table(("model", *groups), body),
        wide=True,
    )


def _properties(model: AssociatedModel) -> dict[str, PropertyMean]:
    return {row.property: row for row in model.properties}


def _labels(models: Sequence[AssociatedModel]) -> dict[str, str]:
    """By property what it is called, in order; its id where it has no label."""
    found: dict[str, str] = {}
    for model in models:
        for id, row in _properties(model).items():
            found[id] = found.get(id) or row.label
    return {id: label or id for id, label in found.items()}


def _means(model: AssociatedModel, labels: Mapping[str, str]) -> list[Measured]:
    told = _properties(model)
    return [told[id].mean.drawn if id in told else (None, None) for id in labels]


def _beside(models: Sequence[AssociatedModel], labels: Mapping[str, str]) -> list[BarGroup]:
    means = zip(*(_means(model, labels) for model in models), strict=True)
    return [BarGroup(label, f"{label} ({id})", found) for (id, label), found in zip(labels.items(), means, strict=True)]


def by_property(models: Sequence[AssociatedModel]) -> Figure:
    """M of each model, property by property, and each candidate beside the model before."""
    labels = _labels(models)
    before = [model for model in models if model.model == BEFORE][:1]
    after = [model for model in models if model.judged and model.model != BEFORE]
    panels: list[Markup] = []
    for pair in [[*before, one] for one in after] or [before or [*models[:1]]]:
        names = [model.model for model in pair]
        panels += bars(" beside ".join(names), names, _beside(pair, labels) if pair else [])
    body: list[tuple[str, list[Any]]] = []
    for model in models if labels else ():
        body.append((_shown(model), [figures(*found) for found in _means(model, labels)]))
    return Figure(
        "M by property",
        "Each candidate beside the model before unlearning, then every model in numbers. M from 0 to 1, with its 95% "
        "interval over people; higher is more knowledge. Over everybody but the never-seen, so that what is kept "
        "counts as well as what is to be forgotten: a low bar is no proof of forgetting. A property is known of some "
        "people only, so bars of two properties are not of the same people. After WikiMem, figure 1.",
        (*panels, *interval_table(("model", *labels.values()), body)),
        wide=True,
    )


def draw(part: AssociationPart) -> list[Figure]:
    """Its figures on the page, those that have something to show."""
    drawn = [by_cohort(part), beside_luck(part), by_property(part.models)]
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
    ),
)
