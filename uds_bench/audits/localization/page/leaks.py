"""Who gives the answer away after a model is taught other people, and whether it is the same people for each method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from uds_bench.figures.bars import Share, shares
from uds_bench.figures.chapter import Figure
from uds_bench.figures.reading import ABSENT, measured, number, rows, table, text, texts, whole
from uds_bench.figures.tables import MeanCell, figures, interval_table, shaded_table, track


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
