"""Whether an attack that teaches could teach its model at all: a model that learns nothing withstands nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from uds_bench.claims.record import Control
from uds_bench.scores import LEARNED, LEAST_LEARNED
from uds_bench.statistics import largest

BESIDE = 2 / 3
"""Least share of what the attack teaches a known model that the judged model must learn."""


def is_taught(own: Any, known: Sequence[Any]) -> list[Control]:
    """A control against a model that was kept from learning: by the sizes of its weights, by settings, or otherwise.

    Args:
        own: A score of the model under the attack.
        known: The same of models that know, attacked alike; the one that learns least counts.

    Returns:
        One control; none where the attack teaches nothing by its kind. Of several settings that were tried, the one
        that was kept counts, and the one that taught most: it misses if either does.

    Example:
        >>> from types import SimpleNamespace
        >>> def score(name, nats):
        ...     return SimpleNamespace(checkpoint=name, provenance={"learned": {"kept": "", "nats": {"": nats}}})
        >>> [one.held for one in is_taught(score("npo", 1.0), [score("full", 1.5)])]
        [True]
        >>> print(is_taught(score("npo", 0.5), [score("full", 1.5)])[0].miss)
        control npo can be taught must pass and came out fail: it learns 0.50 nats, full 1.50
        >>> print(is_taught(score("npo", 0.05), [score("full", 0.05)])[0].why)
        it learns 0.05 nats, full 0.05: raise lr or epochs
    """
    models = [own, *known]
    if not any(LEARNED in one.provenance for one in models):
        return []
    kept = own.provenance.get(LEARNED, {"kept": ""})["kept"]
    nats = [one.provenance.get(LEARNED, {"nats": {}})["nats"] for one in models]
    names = [one.checkpoint for one in models]
    # Where settings are searched, what was kept may be one that trains the known models to pieces.
    at_kept = _beside(names, [float(one.get(kept, math.nan)) for one in nats], -math.inf)
    at_best = _beside(names, [largest(one.values()) for one in nats], LEAST_LEARNED)
    return [at_best if at_kept.held else at_kept]


def _beside(names: Sequence[str], nats: Sequence[float], fewest: float) -> Control:
    """What the first of some models learns, held against the others, who learn `fewest` nats at least."""
    mine, *theirs = nats
    least = math.nan if any(map(math.isnan, theirs)) else min(theirs, default=LEAST_LEARNED)
    held = mine >= max(LEAST_LEARNED, BESIDE * least) and least >= fewest
    why = f"it learns {mine:.2f} nats" + "".join(
        f", {name} {one:.2f}" for name, one in zip(names[1:], theirs, strict=True) if one == least or math.isnan(one)
    )
    why += ": raise lr or epochs" if min(max(nats), least) < LEAST_LEARNED else ""
    came = "pass" if held else "fail"
    return Control(f"{names[0]} can be taught", "pass", came, mine, None, held, "" if held else why)
