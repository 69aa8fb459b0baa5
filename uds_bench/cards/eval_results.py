"""A card as evaluation results of a model repository on the hub: rows of a file in its folder `.eval_results`."""

from __future__ import annotations

from typing import Any

from uds_bench.cards.card import Card, in_words
from uds_bench.cards.statement import CLAIM
from uds_bench.claims.record import ClaimRecord
from uds_bench.claims.run_report import RunReport


def eval_results(card: Card, run: RunReport, benchmark: str) -> list[dict[str, Any]]:
    """A row for each claim about the candidate that came to a number; its notes say what it came to.

    Args:
        card: Of one candidate.
        run: The run that judged it.
        benchmark: The hub's dataset whose eval.yaml names the claims as tasks, `owner/name`: the hub files by it.

    Returns:
        Rows to be written as YAML.

    Source: huggingface.co/docs/hub/eval-results.
    """
    return [
        {
            "dataset": {"id": benchmark, "task_id": one.id},
            "value": one.observed,
            "date": run.started,
            "notes": "; ".join((in_words(one), *_interval(one), f"card {card.result}", CLAIM)),
        }
        for one in card.measured
    ]


def _interval(record: ClaimRecord) -> list[str]:
    interval = record.interval
    if interval is None:
        return []
    return [f"95% interval {interval.low:.3f} to {interval.high:.3f} over {interval.units} {record.unit}".strip()]
