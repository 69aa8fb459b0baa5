"""The LMLM audit on the page: what survives a deletion from the database, by which channel, and every lookup of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from uds_bench.audits.lmlm.asking.record import State
from uds_bench.audits.lmlm.browser import browser
from uds_bench.audits.lmlm.claims import EXCUSED, FALLEN_BACK
from uds_bench.audits.lmlm.leakage import WAYS
from uds_bench.audits.lmlm.part import LABELS, LmlmPart, LookupModel, PromptNumbers
from uds_bench.claims.report_part import ReportedRate
from uds_bench.facts.topology import TOPOLOGIES
from uds_bench.figures.bars import Stack, stacks
from uds_bench.figures.chapter import Chapter, Figure
from uds_bench.figures.spelling import ABSENT, spell
from uds_bench.figures.svg import folded
from uds_bench.figures.tables import MeanCell, figures, interval_table, shaded_table, span_track, tally

OFF: Mapping[State, str] = {"forbidden": "forbidden", "self_completed": "self-completed", "unknown": "unknown"}
STATES: Mapping[State, str] = {
    "full": "FULL",
    "del_on": "DEL-ON",
    **{state: f"DEL-OFF, {name}" for state, name in OFF.items()},
}
KINDS: Mapping[str, str] = dict(zip(LABELS, ("leak", "own", "artifact", "other"), strict=True))
CHANNELS = {"L": "leak", "R": "own", "A": "artifact"}
FAINTEST = 1e-300
"""Smaller p-values are no longer told from 0 by double precision."""

Models = Sequence[LookupModel]
Numbers = tuple[str, str, PromptNumbers]


def _figures(found: ReportedRate) -> Markup:
    return figures(*found.drawn)


def _parts(models: Models, key: str = "topologies", total: bool = True) -> Iterator[Numbers]:
    """Model, group and numbers: every topology (or wording, or cell), then all together."""
    for one in models:
        for group, part in getattr(one, key).items():
            yield one.model, group, part
        if total:
            yield one.model, "all", one.all


def _off(part: PromptNumbers) -> list[Markup]:
    """L by exact match, under each elicitation."""
    return [_figures(part.leakage[state]["exact"]) for state in OFF]


def survival(models: Models) -> Figure:
    """What is still answered after deletion, by topology."""
    body: list[tuple[str, list[Any]]] = []
    for model, group, part in _parts(models):
        cells: list[Any] = [group, str(part.n), str(part.facts), _figures(part.full), _figures(part.residual)]
        cells += [part.chance, _figures(part.above_chance), str(part.given)]
        body.append((model, [*cells, *_off(part)]))
    head = ("model", "topology", "prompts", "facts", "FULL", "DEL-ON", "chance", "above chance", "given")
    return Figure(
        "What survives deletion, by topology",
        "Share of prompts whose whole answer is the object of the row that was deleted. FULL: before, with every row "
        "in place; where it is low, nothing below says anything. DEL-ON: after, with retrieval on; chance is "
        "what the rows left under the same relation give away, as objects are shared, and above chance takes "
        f"{EXCUSED:.0%} off at most. Each model stands there once a fallback: what a lookup that finds nothing is "
        "answered with. L: the mean over facts of the same by the weights alone, with lookups forbidden, with values "
        "that the model completes itself, and with every lookup answered unknown; prompts that hold the object "
        "themselves (given) are left out of L. What claims hold L by stands below, looked for in other ways. "
        "Below each: its 95% interval over facts.",
        interval_table((*head, *(f"L, {name}" for name in OFF.values())), body),
        wide=True,
    )


def _channels(part: PromptNumbers) -> dict[str, float | None]:
    counts = part.contingency
    told = counts.a / part.n + counts.c / part.n if part.n else None
    return {"L": told, "R": part.mediated.value, "A": part.artifact.value}


def attribution(models: Models) -> Figure:
    """Which channel answers come through: weights, retrieval, or an artefact."""
    panels: list[Markup] = []
    body: list[tuple[str, list[Any]]] = []
    for model in models:
        for what, key, total in (("topology", "topologies", True), ("wording", "wordings", False)):
            drawn = []
            for name, group, part in _parts([model], key, total):
                found = _channels(part)
                drawn.append(Stack(group, ({way: found[way] for way in ("L", "R")}, {"A": found["A"]})))
                body.append((name, [group, found["L"], _figures(part.mediated), _figures(part.artifact)]))
            panels += stacks(f"{model.model}, by {what}", drawn, CHANNELS)
    return Figure(
        "Which channel the answer comes through",
        "L: the weights give the object without the database, under any of the three elicitations. R: it comes with "
        "retrieval on and not without. L and R exclude each other, and are stacked. A, a bar of its own: it comes "
        "with retrieval on although no candidate that was found says the same as the deleted row. Where deletion is "
        "complete and nothing leaks A equals R, so the two do not add up: A is a reading of R, not a third share.",
        (*panels, *interval_table(("model", "group", "L", "R", "A"), body)),
        wide=True,
    )


def scores(models: Models) -> Figure:
    """Mean F1 by wording and exact match by topology, state by state."""
    panels: list[Markup] = []
    for title, key, groups in (("token F1", "f1", "wordings"), ("exact match", "exact", "topologies")):
        body = []
        for model, group, part in _parts(models, groups):
            found = {shown: getattr(part, key)[state] for state, shown in STATES.items()}
            cells = {shown: MeanCell(value, part.n) for shown, value in found.items() if value is not None}
            body.append((f"{model}, {group}", cells))
        panels += shaded_table(title, body)
    return Figure(
        "Answers by state",
        "Means over prompts, 0 to 1: overlap of the answer's tokens with the object's by wording, and whole answers "
        "that are the object by topology. F1 also rises with words that are merely shared.",
        tuple(panels),
        wide=True,
    )


def discordance(models: Models) -> Figure:
    """Prompts answered with retrieval and without, and McNemar's test."""
    listed = list(_parts(models))
    most = max((max(part.contingency.b, part.contingency.c) for _, _, part in listed), default=0)
    body: list[tuple[str, list[Any]]] = []
    for model, group, part in listed:
        counts, test = part.contingency, part.mcnemar
        cells: list[Any] = [group, str(counts.a)]
        cells += [tally(f"{key} of {model}, {group}", getattr(counts, key), most) for key in "bc"]
        p = f"below {FAINTEST:g}" if test.p is not None and 0 <= test.p < FAINTEST else test.p
        body.append((model, [*cells, str(counts.d), test.test, test.statistic, p]))
    return Figure(
        "Right with retrieval and without",
        "Prompts by whether the deleted object is given with retrieval on and by the weights alone: both (a), with "
        "retrieval alone (b), by the weights alone (c), neither (d); b and c on one scale of logarithms. McNemar's "
        "test asks whether b and c differ. It counts prompts as if they were independent, and a fact's are not: its p "
        "is too small, and no verdict on a model rests on it.",
        interval_table(("model", "topology", "a", "b", "c", "d", "test", "statistic", "p"), body),
        wide=True,
    )


def labels(models: Models) -> Figure:
    """What the answers after deletion are, as shares."""
    panels: list[Markup] = []
    body: list[tuple[str, list[Any]]] = []
    for model in models:
        drawn = []
        for name, group, part in _parts([model]):
            shares = {str(label): count / part.n if part.n else None for label, count in part.labels.items()}
            drawn.append(Stack(group, ({label: shares[label] for label in LABELS},)))
            body.append((name, [group, *(_share(part.labels[label], shares[label]) for label in LABELS)]))
        panels += stacks(model.model, drawn, KINDS)
    return Figure(
        "What the answers after deletion are",
        "Parametric: the weights give the object under some elicitation. Reconstructed: they do not, and the object "
        "comes all the same, through another row. Drifted: another row's object. Other: anything else.",
        (*panels, *interval_table(("model", "topology", *LABELS), body)),
        wide=True,
    )


def _share(count: int, share: float | None) -> str:
    return f"{count}" if share is None else f"{count} ({share:.1%})"


def lookups(models: Models) -> Figure:
    """Lookups a prompt, and how many were cut, looped or malformed."""
    body: list[tuple[str, list[Any]]] = []
    for model in models:
        told = (model.all.calls, model.all.cut, model.all.looped, model.all.malformed)
        body += [(model.model, [shown, *(row[state] for row in told)]) for state, shown in STATES.items()]
    return Figure(
        "How the database is used",
        "Lookups a prompt, and the shares of prompts whose answer was cut at the token limit, that asked on and on "
        "until they were stopped, and that wrote a lookup which cannot be read. A model that does not look up says "
        "nothing of retrieval, and an elicitation under which most answers are cut or stopped says little of L: the "
        "model was hardly heard. Where lookups are forbidden, none can be.",
        interval_table(("model", "state", "lookups a prompt", "cut", "looped", "malformed"), body),
        wide=True,
    )


def leakages(models: Models) -> Figure:
    """Leakage in every way in which it is looked for, a row an elicitation."""
    body: list[tuple[str, list[Any]]] = []
    for model, group, part in _parts(models):
        for state, shown in OFF.items():
            cells: list[Any] = [group, shown]
            for way in WAYS:
                value = part.leakage[state][way].drawn
                cells += [span_track(f"L by {way} of {model}, {group}, {shown}", *value), figures(*value)]
            body.append((model, cells))
    head = ("model", "topology", "elicitation", *(name for way in WAYS for name in ("-1 to 1", way)))
    return Figure(
        "Leakage, looked for in five ways",
        "Exact: the whole answer is the deleted object. Contains: it holds the object. Recall: the share of the "
        "object's tokens in it. First and last: of all objects that are named. All but exact are above luck: the other "
        "objects of the same relation looked for in the same answers, or the object in answers about the others. 0 is "
        "what any object would reach, and below 0 others are said more.",
        interval_table(head, body),
        wide=True,
    )


def databases(found: LmlmPart) -> Figure:
    """The same numbers database by database."""
    told = {cell.name: cell for cell in found.cells}
    body: list[tuple[str, list[Any]]] = []
    for name, group, part in _parts(found.models, "cells", total=False):
        cell = told.get(group)
        known = [ABSENT] * 3 if cell is None else [str(cell.rows), str(cell.facts), cell.deletion]
        rates = (part.full, part.residual, part.above_chance)
        body.append((name, [group, *known, *map(_figures, rates), *_off(part)]))
    head = ("model", "database", "rows", "facts", "deletion", "FULL", "DEL-ON", "above chance")
    panels = [*interval_table((*head, *(f"L, {name}" for name in OFF.values())), body)]
    for model in found.models:
        grid: dict[str, dict[str, MeanCell]] = {}
        for row in model.grid:
            cells_of = grid.setdefault(row.cell, {})
            if row.residual is not None:
                cells_of[row.wording] = MeanCell(row.residual, row.n)
        panels += shaded_table(f"{model.model}, DEL-ON", [*grid.items()])
    settings = found.retriever.model_dump()
    retriever = ", ".join(f"{k} {spell(v) if isinstance(v, float) and v % 1 else v}" for k, v in settings.items())
    return Figure(
        "Database by database",
        f"A database that a model does not answer with every row in place (FULL) says nothing of deletion, however low "
        f"the rest. Then DEL-ON wording by wording. Retriever: {retriever}.",
        tuple(panels),
        wide=True,
    )


def traces(models: Models) -> Figure:
    """Some traces of each label, to be opened."""
    panels: list[Markup] = []
    for model in models:
        if model.traces:
            told = browser(model.traces, STATES)
            panels.append(folded(model.model, told))
    return Figure(
        "Trace by trace",
        "Open a model, a database, then a fact: some of each label. What it answered in every state, what it looked "
        "up, what it was given, and which rows were found, best first, with their scores, among those there and those "
        "deleted. The deleted object is marked where it stands.",
        tuple(panels),
        wide=True,
    )


def draw(part: LmlmPart) -> list[Figure]:
    """Its figures on the page, those that have something to show."""
    of_models = (survival, attribution, scores, discordance, labels, lookups, leakages)
    drawn = [*(figure(part.models) for figure in of_models), databases(part), traces(part.models)]
    return [figure for figure in drawn if figure.panels]


CHAPTERS = (
    Chapter(
        name="lmlm",
        title="Lookup memory",
        question="After a row is deleted from the database, does its answer survive, and by which channel?",
        measures=(
            "lmlm.leakage",
            "lmlm.leakage_domain",
            "lmlm.leakage_ever",
            *(f"lmlm.{claim}.{topology}" for topology in TOPOLOGIES for claim in FALLEN_BACK),
        ),
        limits=(0.0, 1.0),
        ends=("the deleted object is gone", "it is still said"),
        judge=draw,
    ),
)
