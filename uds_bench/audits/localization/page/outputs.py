"""What each model says of everybody, beside the floor of chance, who leaks, and what benchmarks still get answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from uds_bench.figures.bars import Share, shares
from uds_bench.figures.chapter import Figure
from uds_bench.figures.reading import ABSENT, measured, number, rows, spell, table, text, texts, whole, within
from uds_bench.figures.svg import element
from uds_bench.figures.tables import MeanCell, figures, interval_table, shaded_table, span_track, track

PARTS = {
    "forget": "to be forgotten",
    "retain": "to be retained",
    "spared": "to be retained, asked for what is forgotten",
    "unseen": "never injected",
    "public": "public before",
}
FORMS = ("plain", "paraphrased")


def said(section: Mapping[str, Any]) -> Figure:
    """What each model says of each part of the testbed."""
    panels: list[Markup] = []
    for part, shown in PARTS.items():
        panels += _part(section, part, shown)
    fields, people = table(section.get("fields")), table(section.get("people"))
    told = {part: text(fields.get(part)) or "every field" for part in ("forget", "retain")}
    known = whole(people.get("known"))
    return Figure(
        "What each model says",
        f"Of those to be forgotten {told['forget']} is asked, of those to be retained {told['retain']}, and in a table "
        "of its own, if they have it, what others are to forget: a method may forget it of everybody. The injected "
        f"model knows {ABSENT if known is None else known} of {_count(people, 'forget')} to be forgotten: claims are "
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


def _part(section: Mapping[str, Any], part: str, shown: str) -> tuple[Markup, ...]:
    """One table: every model on one part of the testbed; none where nobody is in it."""
    body: list[tuple[str, list[Any]]] = []
    for name, model in table(section.get("models")).items():
        forms = [table(within(model, "outputs", part, form)) for form in FORMS]
        rates = [measured(form.get("rate")) for form in forms]
        floor = measured(within(model, "outputs", "unseen", "plain", "rate"))[0] if part == "forget" else None
        if all(value is None for value, _ in rates):
            continue
        cells: list[Any] = [track(f"extraction of {text(name)}, {shown}", *rates[0], mark=floor)]
        cells += [figures(*rate) for rate in rates]
        for key in ("em", "es", "prob"):
            cells += [_over(form, "floor") if key == "es" else number(form.get(key)) for form in forms]
        body.append((text(name), cells))
    head = [f"{shown} ({_count(table(section.get('people')), part)})", "0 to 1"]
    for what in ("extraction", "EM", "ES", "Prob"):
        head += [what, "reworded"]
    return interval_table(head, body)


def _over(form: Mapping[str, Any], below: str) -> Markup:
    """Extraction strength with its floor below."""
    value, floor = number(form.get("es")), number(form.get(below))
    small = () if floor is None else (Markup("<br>"), element("small", f"floor {spell(floor)}"))
    return element("td", spell(value), *small, class_="figure" if value is not None else "absent")


def _count(people: Mapping[str, Any], part: str) -> str:
    found = whole(people.get(part))
    return ABSENT if found is None else str(found)


def answered(section: Mapping[str, Any]) -> Figure:
    """One table of every candidate and task; without panels where no benchmark was asked."""
    body: list[tuple[str, list[Any]]] = []
    for name, found in table(section.get("benchmarks")).items():
        listed = [*table(within(found, "tasks")).items(), ("mean of tasks", within(found, "mean"))]
        for task, row in listed:
            told, shown = table(row), text(task)
            count, change = whole(told.get("documents")), measured(told.get("change"))
            cells: list[Any] = [shown, span_track(f"change of {text(name)}, {shown}", *change), figures(*change)]
            cells += [figures(*measured(told.get(who))) for who in ("candidate", "injected")]
            cells += [spell(number(told.get("guesser"))), ABSENT if count is None else f"{count:,}"]
            body.append((text(name), cells))
    head = ("candidate", "task", "−1 to 1", "change", "candidate", "injected", "a guesser", "documents")
    return Figure(
        "What benchmarks are still answered",
        "Share of documents answered rightly, asked through lm-evaluation-harness, with its 95% interval over "
        "documents; the change is paired, less than 0 where unlearning cost something. In the mean every task counts "
        "the same. Where the injected model does no better than a guesser, a change says nothing.",
        interval_table(head, body),
        wide=True,
    )


def resurfacing(section: Mapping[str, Any]) -> list[Figure]:
    """Who leaks after fine-tuning, beside before and beside people never injected."""
    known, unseen = (whole(table(section.get("people")).get(part)) for part in ("known", "unseen"))
    body: list[tuple[str, list[Any]]] = []
    drawn: list[Share] = []
    for model, found in table(section.get("leaks")).items():
        name, told = text(model), table(found)
        rate, floor = measured(told.get("rate")), measured(told.get("floor"))
        seeds, beside = _seeds(told, "seeds"), _seeds(told, "floor_seeds")
        before, taught = (figures(*measured(told.get(key))) for key in ("before", "taught"))
        track_of = track(f"leaks of {name}", *rate, mark=floor[0])
        cells: list[Any] = [track_of, before, figures(*rate), figures(*floor), taught]
        body.append((name, [*cells, _counts(seeds, known), _counts(beside, unseen)]))
        drawn += [Share(f"{name}, {at}", tuple(seed), known) for at, seed in enumerate(seeds, 1) if known]
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


def overlaps(section: Mapping[str, Any]) -> Figure:
    """Jaccard indices between candidates."""
    pairs: dict[tuple[str, str], MeanCell] = {}
    for row in rows(section.get("jaccard")):
        first, second = text(row.get("first")), text(row.get("second"))
        cell = MeanCell(number(row.get("value")), whole(row.get("seeds")) or 0, "seeds")
        pairs |= {(first, second): cell, (second, first): cell}
    names = dict.fromkeys(name for pair in pairs for name in pair)
    leaks = table(section.get("leaks"))
    body = []
    for name in names:
        # Beside itself a method has 1 by definition, as long as somebody leaks.
        own = sum(bool(seed) for seed in _seeds(table(leaks.get(name)), "seeds"))
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


def _seeds(told: Mapping[str, Any], key: str) -> list[list[str]]:
    listed = told.get(key)
    return [texts(seed) for seed in listed] if isinstance(listed, (list, tuple)) else []


def _counts(seeds: Sequence[Sequence[str]], total: int | None) -> str:
    counts = ", ".join(str(len(seed)) for seed in seeds)
    return f"{counts} of {ABSENT if total is None else total}" if counts else ABSENT
