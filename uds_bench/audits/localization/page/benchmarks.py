"""What each candidate still answers of benchmarks, beside the injected model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uds_bench.figures.chapter import Figure
from uds_bench.figures.ledger import figures, ledger, span_track
from uds_bench.figures.reading import ABSENT, measured, number, spell, table, text, whole, within


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
        ledger(head, body),
        wide=True,
    )
