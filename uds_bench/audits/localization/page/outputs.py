"""What each model says of everybody, beside the floor of chance, who leaks, and what benchmarks still get answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from uds_bench.audits.localization.part import LocalizationPart, SaidShares, TestbedPart
from uds_bench.audits.localization.rates import FORMS
from uds_bench.figures.bars import Share, shares
from uds_bench.figures.chapter import Figure
from uds_bench.figures.spelling import ABSENT, spell
from uds_bench.figures.svg import element
from uds_bench.figures.tables import MeanCell, figures, interval_table, shaded_table, span_track, track

PARTS: Mapping[TestbedPart, str] = {
    "forget": "to be forgotten",
    "retain": "to be retained",
    "spared": "to be retained, asked for what is forgotten",
    "unseen": "never injected",
    "public": "public before",
}


def said(found: LocalizationPart) -> Figure:
    """What each model says of each part of the testbed."""
    panels: list[Markup] = []
    for part, shown in PARTS.items():
        panels += _part(found, part, shown)
    forget, retain = (field or "every field" for field in (found.fields.forget, found.fields.retain))
    return Figure(
        "What each model says",
        f"Of those to be forgotten {forget} is asked, of those to be retained {retain}, and in a table "
        "of its own, if they have it, what others are to forget: a method may forget it of everybody. The injected "
        f"model knows {found.people.known} of {found.people.forget} to be forgotten: claims are "
        "decided on these, while the tables count everybody. Extraction: share of replies that hold the answer, with "
        "its 95% interval over people; dashed, how often the same model happens to answer for people who were never "
        "injected. EM: share of the answer's tokens that the model itself would say. ES: how little of the answer has "
        "to be given until it says the rest; the floor below it, one over the answer's length, is reached whatever it "
        "knows. Prob: probability a token. Reworded: asked in other words. The last table is utility: what was known "
        "before injection. Those to be retained, and utility, are to stay as in the injected model; those to be "
        "forgotten are to fall to the dashed line.",
        tuple(panels),
        wide=True,
    )


def _part(found: LocalizationPart, part: TestbedPart, shown: str) -> tuple[Markup, ...]:
    """One table: every model on one part of the testbed; none where nobody is in it."""
    body: list[tuple[str, list[Any]]] = []
    for name, model in found.models.items():
        forms = [model.outputs[part][form] for form in FORMS]
        rates = [form.rate.drawn for form in forms]
        floor = model.outputs["unseen"]["plain"].rate.value if part == "forget" else None
        if all(value is None for value, _ in rates):
            continue
        cells: list[Any] = [track(f"extraction of {name}, {shown}", *rates[0], mark=floor)]
        cells += [*(figures(*rate) for rate in rates), *(form.em for form in forms)]
        cells += [*map(_over_floor, forms), *(form.prob for form in forms)]
        body.append((name, cells))
    head = [f"{shown} ({getattr(found.people, part)})", "0 to 1"]
    for what in ("extraction", "EM", "ES", "Prob"):
        head += [what, "reworded"]
    return interval_table(head, body)


def _over_floor(form: SaidShares) -> Markup:
    """Extraction strength with its floor below."""
    small = () if form.floor is None else (Markup("<br>"), element("small", f"floor {spell(form.floor)}"))
    return element("td", spell(form.es), *small, class_="figure" if form.es is not None else "absent")


def answered(part: LocalizationPart) -> Figure:
    """One table of every candidate and task; without panels where no benchmark was asked."""
    body: list[tuple[str, list[Any]]] = []
    for name, found in part.benchmarks.items():
        for task, told in [*found.tasks.items(), ("mean of tasks", found.mean)]:
            change = told.change.drawn
            cells: list[Any] = [task, span_track(f"change of {name}, {task}", *change), figures(*change)]
            cells += [figures(*who.drawn) for who in (told.candidate, told.injected)]
            cells += [spell(told.guesser), f"{told.documents:,}"]
            body.append((name, cells))
    head = ("candidate", "task", "−1 to 1", "change", "candidate", "injected", "a guesser", "documents")
    return Figure(
        "What benchmarks are still answered",
        "Share of documents answered rightly, asked through lm-evaluation-harness, with its 95% interval over "
        "documents; the change is paired, less than 0 where unlearning cost something. In the mean every task counts "
        "the same. Where the injected model does no better than a guesser, a change says nothing.",
        interval_table(head, body),
        wide=True,
    )


def resurfacing(part: LocalizationPart) -> list[Figure]:
    """Who leaks after fine-tuning, beside before and beside people never injected."""
    known, unseen = part.people.known, part.people.unseen
    body: list[tuple[str, list[Any]]] = []
    drawn: list[Share] = []
    for name, told in part.leaks.items():
        cells: list[Any] = [track(f"leaks of {name}", *told.rate.drawn, mark=told.floor.value)]
        cells += [figures(*one.drawn) for one in (told.before, told.rate, told.floor, told.taught)]
        body.append((name, [*cells, _counts(told.seeds, known), _counts(told.floor_seeds, unseen)]))
        drawn += [Share(f"{name}, {at}", seed, known) for at, seed in enumerate(told.seeds, 1) if known]
    head = ("model", "0 to 1", "before", "after", "never injected", "taught", "by seed", "never injected, by seed")
    return [
        Figure(
            "Who resurfaces",
            "After fine-tuning on other people: share of those to be forgotten, as far as the injected model knew "
            "them, whose answer is said at least once however they are asked, over all seeds, with its 95% interval "
            "over people; before: without fine-tuning. Dashed, and beside it: people who were never injected, whom "
            "chance alone gives away. What leaks above them was hidden, not gone. Taught: the people of the "
            "fine-tuning. What teaches them well may also overwrite what it was to bring back.",
            interval_table(head, body),
            wide=True,
        ),
        Figure(
            "Who resurfaces, seed by seed",
            "The number after a model counts the seeds of its fine-tuning. Below the bars: who it was.",
            shares(drawn),
        ),
    ]


def overlaps(part: LocalizationPart) -> Figure:
    """Jaccard indices between candidates."""
    pairs: dict[tuple[str, str], MeanCell] = {}
    for row in part.jaccard:
        cell = MeanCell(row.value, row.seeds, "seeds")
        pairs |= {(row.first, row.second): cell, (row.second, row.first): cell}
    names = dict.fromkeys(name for pair in pairs for name in pair)
    body = []
    for name in names:
        # Beside itself a method has 1 by definition, as long as somebody leaks.
        own = sum(map(bool, part.leaks[name].seeds)) if name in part.leaks else 0
        cells = {(name, name): MeanCell(1.0 if own else None, own, "seeds")} | pairs
        body.append((name, {other: cells[name, other] for other in names if (name, other) in cells}))
    return Figure(
        "Whether the same people leak",
        "Jaccard index of who leaks from each two candidates, the mean over seeds: 1 where it is the same people, 0 "
        "where nobody leaks from both; n/a where nobody leaks from either with any seed. With few who leak, one person "
        "moves it a long way.",
        shaded_table("Jaccard", body),
        wide=True,
    )


def _counts(seeds: Sequence[Sequence[str]], total: int) -> str:
    counts = ", ".join(str(len(seed)) for seed in seeds)
    return f"{counts} of {total}" if counts else ABSENT
