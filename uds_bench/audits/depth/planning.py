"""The scores that a run will read, known before any model is loaded: tests declare them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from uds_bench.attacks import NONE
from uds_bench.audits.depth.section import Depth
from uds_bench.errors import ConfigurationError
from uds_bench.facts import FactSet
from uds_bench.metrics import find_metric
from uds_bench.scoring.runner import Request

GROUPS = ("full", "retain", "nested", "pools", "candidates", "every_candidate")


@dataclass(frozen=True)
class ScoreRequest:
    """What a test declares by `@pytest.mark.scores("metric[variant]", ..., of=(group, ...), under=(attack, ...))`.

    Groups are full, retain, nested, pools, candidates (those that selected tests speak of) and every_candidate (with
    those of the sweep).
    """

    metric: str
    of: tuple[str, ...]
    under: tuple[str, ...]


def wishes_of(marks: Iterable[Any]) -> list[ScoreRequest]:
    """What the marks of the selected tests declare."""
    wishes = []
    for mark in marks:
        of, under = mark.kwargs.get("of", GROUPS[:-1]), mark.kwargs.get("under", (NONE,))
        wishes += [ScoreRequest(metric, tuple(of), tuple(under)) for metric in mark.args]
    return wishes


def plan_requests(
    section: Depth, facts: FactSet, wishes: Iterable[ScoreRequest], candidates: Iterable[str]
) -> list[Request]:
    """The scores that the selected tests wish for, as far as the manifest has the attacks and splits for them."""
    groups = {
        "full": ["full"],
        "retain": ["retain"],
        "nested": list(section.nested),
        "pools": [*section.pools.positive, *section.pools.negative],
        "candidates": list(dict.fromkeys(candidates)),
        "every_candidate": list(section.unlearned),
    }
    attacks = {NONE, *section.chosen_attacks()}
    requests: dict[Request, None] = {}
    for wish in wishes:
        name, _, variant = wish.metric.rstrip("]").partition("[")
        if not all(facts.split(split) for split in find_metric(name).splits):
            continue  # the claim that wants it says so
        for group in wish.of:
            if group not in groups:
                raise ConfigurationError(f"marker scores: there is no group {group!r}: choose from {', '.join(groups)}")
        places = [(checkpoint, attack) for group in wish.of for checkpoint in groups[group] for attack in wish.under]
        for checkpoint, attack in places:
            if attack in attacks:
                requests[Request(checkpoint, name, variant or None, attack)] = None
    return list(requests)
