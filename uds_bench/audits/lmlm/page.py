"""The LMLM audit on the page: what survives a deletion from the database, by which channel, and every lookup of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from uds_bench.audits.lmlm.claims import EXCUSED, FALLEN_BACK
from uds_bench.facts.topology import TOPOLOGIES
from uds_bench.figures.bars import Stack, stacks
from uds_bench.figures.chapter import Chapter, Figure
from uds_bench.figures.reading import ABSENT, measured, number, rows, spell, table, text, whole
from uds_bench.figures.replies import browser
from uds_bench.figures.tables import MeanCell, figures, interval_table, shaded_table, span_track, tally

OFF = {"forbidden": "forbidden", "self_completed": "self-completed", "unknown": "unknown"}
STATES = {"full": "FULL", "del_on": "DEL-ON", **{state: f"DEL-OFF, {name}" for state, name in OFF.items()}}
LABELS = {"parametric": "leak", "reconstructed": "own", "drifted": "artifact", "other": "other"}
CHANNELS = {"L": "leak", "R": "own", "A": "artifact"}
WAYS = ("exact", "contains", "recall")
FAINTEST = 1e-300
"""Smaller p-values are no longer told from 0 by double precision."""

Models = Sequence[tuple[str, Mapping[str, Any]]]
Part = tuple[str, str, Mapping[str, Any]]


def _figures(found: Any) -> Markup:
    return figures(*measured(found))


def _count(value: Any) -> str:
    found = whole(value)
    return ABSENT if found is None else str(found)


def _parts(models: Models, key: str = "topologies", total: bool = True) -> Iterator[Part]:
    """Model, group and numbers: every topology (or wording, or cell), then all together."""
    for name, model in models:
        for group, part in table(model.get(key)).items():
            yield name, text(group), table(part)
        if total and "all" in model:
            yield name, "all", table(model["all"])


def _shares(part: Mapping[str, Any], key: str, names: Sequence[str]) -> dict[str, float | None]:
    """Counts of a part over its prompts."""
    counts, n = table(part.get(key)), whole(part.get("n"))
    found = {name: whole(counts.get(name)) for name in names}
    return {name: None if count is None or not n else count / n for name, count in found.items()}


def survival(models: Models) -> Figure:
    """What is still answered after deletion, by topology."""
    body: list[tuple[str, list[Any]]] = []
    for model, group, part in _parts(models):
        chance, left, off = number(part.get("chance")), measured(part.get("residual")), table(part.get("leakage"))
        cells: list[Any] = [group, *(_count(part.get(key)) for key in ("n", "facts")), _figures(part.get("full"))]
        cells += [figures(*left), chance]
        cells += [_figures(part.get("above_chance")), _count(part.get("given"))]
        cells += [_figures(table(off.get(state)).get("exact")) for state in OFF]
        body.append((model, cells))
    head = ("model", "topology", "prompts", "facts", "FULL", "DEL-ON", "chance", "above chance", "given")
    return Figure(
        "What survives deletion, by topology",
        "Share of prompts whose whole answer is the object of the row that was deleted. FULL: before, with every row "
        "in place; where it is low, nothing below says anything. DEL-ON: after, with retrieval on; chance is "
        "what the rows left under the same relation give away, as objects are shared, and above chance takes "
        f"{EXCUSED:.0%} off at most. Each model stands there once a fallback: what a lookup that finds nothing is "
        "answered with. L: by the weights alone, with lookups forbidden, with values that the model completes itself, "
        "and with every lookup answered unknown; prompts that hold the object themselves (given) are left out of L. "
        "Below each: its 95% interval over facts.",
        interval_table((*head, *(f"L, {name}" for name in OFF.values())), body),
        wide=True,
    )


def _channels(part: Mapping[str, Any]) -> dict[str, float | None]:
    cells = _shares(part, "contingency", ("a", "c"))
    both, off = cells["a"], cells["c"]
    mediated, artifact = (measured(part.get(key))[0] for key in ("mediated", "artifact"))
    return {"L": None if both is None or off is None else both + off, "R": mediated, "A": artifact}


def attribution(models: Models) -> Figure:
    """Which channel answers come through: weights, retrieval, or an artefact."""
    panels: list[Markup] = []
    body: list[tuple[str, list[Any]]] = []
    for name, model in models:
        for what, key, total in (("topology", "topologies", True), ("wording", "wordings", False)):
            drawn = []
            for _, group, part in _parts([(name, model)], key, total):
                found = _channels(part)
                drawn.append(Stack(group, ({way: found[way] for way in ("L", "R")}, {"A": found["A"]})))
                body.append((name, [group, found["L"], *(_figures(part.get(way)) for way in ("mediated", "artifact"))]))
            panels += stacks(f"{name}, by {what}", drawn, CHANNELS)
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
            told, n = table(part.get(key)), whole(part.get("n")) or 0
            found = {shown: number(told.get(state)) for state, shown in STATES.items()}
            cells = {shown: MeanCell(value, n) for shown, value in found.items() if value is not None}
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
    found = [{key: whole(table(part.get("contingency")).get(key)) for key in "abcd"} for _, _, part in listed]
    most = max((count for cells in found for key in "bc" if (count := cells[key]) is not None), default=0)
    body: list[tuple[str, list[Any]]] = []
    for (model, group, part), counts in zip(listed, found, strict=True):
        test, p = table(part.get("mcnemar")), number(table(part.get("mcnemar")).get("p"))
        cells: list[Any] = [group, _count(counts["a"])]
        cells += [tally(f"{key} of {model}, {group}", counts[key], most) for key in "bc"]
        cells += [_count(counts["d"]), text(test.get("test")) or ABSENT, number(test.get("statistic"))]
        body.append((model, [*cells, f"below {FAINTEST:g}" if p is not None and 0 <= p < FAINTEST else p]))
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
    for name, model in models:
        drawn = []
        for _, group, part in _parts([(name, model)]):
            counts, shares = table(part.get("labels")), _shares(part, "labels", tuple(LABELS))
            drawn.append(Stack(group, (shares,)))
            body.append((name, [group, *(_share(counts.get(label), shares[label]) for label in LABELS)]))
        panels += stacks(name, drawn, LABELS)
    return Figure(
        "What the answers after deletion are",
        "Parametric: the weights give the object under some elicitation. Reconstructed: they do not, and the object "
        "comes all the same, through another row. Drifted: another row's object. Other: anything else.",
        (*panels, *interval_table(("model", "topology", *LABELS), body)),
        wide=True,
    )


def _share(count: Any, share: float | None) -> str:
    return _count(count) if share is None else f"{_count(count)} ({share:.1%})"


def lookups(models: Models) -> Figure:
    """Lookups a prompt, and how many were cut, looped or malformed."""
    body: list[tuple[str, list[Any]]] = []
    for name, model in models:
        part = table(model.get("all"))
        told = {key: table(part.get(key)) for key in ("calls", "cut", "looped", "malformed")}
        for state, shown in STATES.items():
            if any(state in row for row in told.values()):
                body.append((name, [shown, *(number(row.get(state)) for row in told.values())]))
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
    """Leakage by exact match, containment and recall, a row an elicitation."""
    body: list[tuple[str, list[Any]]] = []
    for model, group, part in _parts(models):
        for state, shown in OFF.items():
            found = table(table(part.get("leakage")).get(state))
            cells: list[Any] = [group, shown]
            for way in WAYS:
                value = measured(found.get(way))
                cells += [span_track(f"L by {way} of {model}, {group}, {shown}", *value), figures(*value)]
            body.append((model, cells))
    head = ("model", "topology", "elicitation", "-1 to 1", "exact", "-1 to 1", "contains", "-1 to 1", "recall")
    return Figure(
        "Leakage, looked for in three ways",
        "Exact: the whole answer is the deleted object. Contains: it holds the object. Recall: the share of the "
        "object's tokens in it. The last two are above a floor, the other objects of the same relation looked for in "
        "the same answers: 0 is what any object would reach on average, and below 0 the others are said more.",
        interval_table(head, body),
        wide=True,
    )


def databases(models: Models, section: Mapping[str, Any]) -> Figure:
    """The same numbers database by database."""
    told = {text(cell.get("name")): cell for cell in rows(section.get("cells"))}
    body: list[tuple[str, list[Any]]] = []
    for model, name, part in _parts(models, "cells", total=False):
        cell, off = told.get(name, {}), table(part.get("leakage"))
        cells: list[Any] = [name, *(_count(cell.get(key)) for key in ("rows", "facts"))]
        cells += [text(cell.get("deletion")) or ABSENT]
        cells += [_figures(part.get(key)) for key in ("full", "residual", "above_chance")]
        body.append((model, cells + [_figures(table(off.get(state)).get("exact")) for state in OFF]))
    head = ("model", "database", "rows", "facts", "deletion", "FULL", "DEL-ON", "above chance")
    panels = [*interval_table((*head, *(f"L, {name}" for name in OFF.values())), body)]
    for model, found in models:
        grid: dict[str, dict[str, MeanCell]] = {}
        for row in rows(found.get("grid")):
            value = number(row.get("residual"))
            cells_of = grid.setdefault(text(row.get("cell")) or ABSENT, {})
            if value is not None:
                cells_of[text(row.get("wording")) or ABSENT] = MeanCell(value, whole(row.get("n")) or 0)
        panels += shaded_table(f"{model}, DEL-ON", [*grid.items()])
    retriever = ", ".join(
        f"{key} {spell(value) if number(value) is not None and whole(value) is None else text(value)}"
        for key, value in table(section.get("retriever")).items()
    )
    return Figure(
        "Database by database",
        f"A database that a model does not answer with every row in place (FULL) says nothing of deletion, however low "
        f"the rest. Then DEL-ON wording by wording. Retriever: {retriever or ABSENT}.",
        tuple(panels),
        wide=True,
    )


def traces(models: Models) -> Figure:
    """Some traces of each label, to be opened."""
    panels: list[Markup] = []
    for name, model in models:
        if listed := rows(model.get("traces")):
            panels.append(Markup("<details><summary>{}</summary>{}</details>").format(name, browser(listed, STATES)))
    return Figure(
        "Trace by trace",
        "Open a model, a database, then a fact: some of each label. What it answered in every state, what it looked "
        "up, what it was given, and which rows were found, best first, with their scores, among those there and those "
        "deleted. The deleted object is marked where it stands.",
        tuple(panels),
        wide=True,
    )


def draw(section: Mapping[str, Any]) -> list[Figure]:
    """Its figures on the page, those that have something to show."""
    models = [(text(model.get("model")) or "unnamed", model) for model in rows(section.get("models"))]
    of_models = (survival, attribution, scores, discordance, labels, lookups, leakages)
    drawn = [*(figure(models) for figure in of_models), databases(models, section), traces(models)]
    return [figure for figure in drawn if figure.panels]


CHAPTERS = (
    Chapter(
        name="lmlm",
        title="Lookup memory",
        question="After a row is deleted from the database, does its answer survive, and by which channel?",
        measures=(
            "lmlm.leakage",
            "lmlm.leakage_cell",
            *(f"lmlm.{claim}.{topology}" for topology in TOPOLOGIES for claim in FALLEN_BACK),
        ),
        limits=(0.0, 1.0),
        ends=("the deleted object is gone", "it is still said"),
        judge=draw,
        part="lmlm",
        personal=("fact", "prompt", "answer", "query", "value", "kept", "deleted"),
    ),
)
