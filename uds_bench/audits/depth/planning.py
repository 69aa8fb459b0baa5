"""The scores that a run will read, known before any model is loaded: tests declare them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from uds_bench.attacks import NONE
from uds_bench.audits.depth.section import Depth
from uds_bench.errors import ConfigurationError, did_you_mean
from uds_bench.facts import FactSet
from uds_bench.metrics import find_metric
from uds_bench.scoring.runner import ScoreRequest

USUAL = ("full", "retain", "nested", "pools", "candidates")
"""Groups that a marker without `of` means."""


def plan_requests(
    section: Depth, facts: FactSet, marks: Iterable[Any], candidates: Iterable[str]
) -> list[ScoreRequest]:
    """The scores that the selected tests ask for, as far as the manifest has the attacks and splits for them.

    A test declares them by `@pytest.mark.scores("metric[variant]", ..., of=(group, ...), under=(attack, ...))`. Groups
    are full, retain, nested, pools, candidates (those that selected tests speak of), every_candidate (with those of the
    sweep), and every_component: these too, where the manifest asks for the parts of a block.
    """
    groups = {
        "full": ["full"],
        "retain": ["retain"],
        "nested": list(section.nested),
        "pools": [*section.pools.positive, *section.pools.negative],
        "candidates": list(dict.fromkeys(candidates)),
        "every_candidate": list(section.unlearned),
        "every_component": list(section.unlearned) if section.wants_components else [],
    }
    attacks = {NONE, *section.chosen_attacks()}
    requests: dict[ScoreRequest, None] = {}
    for metric, of, under in _requested(marks):
        name, _, variant = metric.rstrip("]").partition("[")
        if not all(facts.split(split) for split in find_metric(name).splits):
            continue  # the claim that wants it says so
        for group in of:
            if group not in groups:
                raise ConfigurationError(f"marker scores: there is no group {group!r}: {did_you_mean(group, groups)}")
        places = [(checkpoint, attack) for group in of for checkpoint in groups[group] for attack in under]
        for checkpoint, attack in places:
            if attack in attacks:
                requests[ScoreRequest(checkpoint, name, variant or None, attack)] = None
    return list(requests)


def _requested(marks: Iterable[Any]) -> Iterator[tuple[str, Iterable[str], Iterable[str]]]:
    """Metrics, each with groups and attacks, as marks declare them."""
    for mark in marks:
        of, under = mark.kwargs.get("of", USUAL), mark.kwargs.get("under", (NONE,))
        yield from ((metric, of, under) for metric in mark.args)
