"""What each model says of everybody, beside the floor of chance, and what it still answers of benchmarks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from uds_bench.figures.chapter import Figure
from uds_bench.figures.reading import ABSENT, measured, number, spell, table, text, whole, within
from uds_bench.figures.svg import element
from uds_bench.figures.tables import figures, interval_table, span_track, track

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
