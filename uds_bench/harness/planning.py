"""What a run will read, known before any model is loaded: the scores that tests declare, and checkpoints that fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uds_bench.attacks import NONE
from uds_bench.errors import ConfigurationError, UdsError
from uds_bench.harness.engine import Request

if TYPE_CHECKING:
    import pytest

    from uds_bench.checkpoints import CheckpointSpec
    from uds_bench.facts import FactSet
    from uds_bench.harness.manifest import Manifest

GROUPS = ("full", "retain", "nested", "pools", "candidates", "every_candidate")


@dataclass(frozen=True)
class Wish:
    """What a test declares by `@pytest.mark.scores("metric[variant]", ..., of=(group, ...), under=(attack, ...))`.

    Groups are full, retain, nested, pools, candidates (those that selected tests speak of) and every_candidate (with
    those of the sweep).
    """

    metric: str
    of: tuple[str, ...]
    under: tuple[str, ...]


def wishes_of(items: Iterable[pytest.Item]) -> list[Wish]:
    """What the selected tests declare."""
    wishes = []
    for item in items:
        for marker in item.iter_markers("scores"):
            of, under = marker.kwargs.get("of", GROUPS[:-1]), marker.kwargs.get("under", (NONE,))
            wishes += [Wish(metric, tuple(of), tuple(under)) for metric in marker.args]
    return wishes


def plan_requests(
    manifest: Manifest, facts: FactSet, wishes: Iterable[Wish], candidates: Iterable[str]
) -> list[Request]:
    """The scores that the selected tests wish for, as far as the manifest has the attacks and splits for them."""
    from uds_bench.metrics import find_metric

    groups = {
        "full": ["full"],
        "retain": ["retain"],
        "nested": list(manifest.nested),
        "pools": [*manifest.pools.positive, *manifest.pools.negative],
        "candidates": list(dict.fromkeys(candidates)),
        "every_candidate": list(manifest.unlearned),
    }
    attacks = {NONE, *manifest.chosen_attacks()}
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


def preflight(specs: dict[str, CheckpointSpec], names: Iterable[str]) -> None:
    """Everything that configuration files alone can tell about the checkpoints, in one go."""
    from uds_bench.checkpoints import resolve
    from uds_bench.harness.specs import check_shapes
    from uds_bench.zoo import specimens
    from uds_bench.zoo.names import SPECIMEN

    problems, wanted = [], set(names)
    for name in [n for n in specs if n in wanted and not specs[n].model.startswith("zoo:")]:
        try:
            if specs[name].model.startswith(SPECIMEN):
                specimens.folder(specs[name].model)
                continue
            resolve(specs[name])
            check_shapes(name, specs)
        except UdsError as error:
            problems.append(f"{name}: {error}" if not str(error).startswith(name) else str(error))
    if problems:
        raise ConfigurationError("; ".join(dict.fromkeys(problems)))
