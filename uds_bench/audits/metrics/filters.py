"""Which unlearned models count when a metric's robustness is judged: those that still work and seem to have forgotten.

UDS guide, section 4.1 (model filtering); the cut is ours: best balanced accuracy between the pools.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from uds_bench.audits.metrics.faithfulness import knows_not
from uds_bench.claims.spec import UTILITY_FLOOR
from uds_bench.metrics.metric import Direction


@dataclass(frozen=True)
class Filtered:
    """`kept` models count; `useless` ones fell below the utility floor; of `knowing` ones the metric itself says that
    they know, so it could not be robust about their forgetting. The three make up all models."""

    kept: tuple[str, ...]
    useless: tuple[str, ...]
    knowing: tuple[str, ...]


def filtered(
    values: Mapping[str, float],
    cut: float,
    direction: Direction,
    utility: Mapping[str, float] | None = None,
    floor: float = UTILITY_FLOOR,
) -> Filtered:
    """The models that count: those of relative utility >= floor, and of them those that the metric says know nothing.

    Raising the floor never adds a model.

    Args:
        values: Raw metric values by model.
        cut: What parts models that know from others, in the metric's unit.
        direction: What a higher value means.
        utility: Relative utility by model, 0 to 1; None sets no floor.
        floor: The least relative utility, 0 to 1.

    Returns:
        The models in three parts.

    Raises:
        ValueError: A value, cut or utility is missing or not finite: a model is left out for a reason or not at all.

    Source: UDS guide, section 4.1, model filtering.

    Example:
        >>> filtered({"a": 0.2, "b": 0.9, "c": 0.1}, 0.5, "knowledge", {"a": 0.9, "b": 0.9, "c": 0.5})
        Filtered(kept=('a',), useless=('c',), knowing=('b',))
    """
    needed = {"the cut": cut} | {f"the value of {name}": v for name, v in values.items()}
    if utility is not None:
        needed |= {f"the relative utility of {name}": utility.get(name, math.nan) for name in values}
    if lacking := [what for what, number in needed.items() if not math.isfinite(number)]:
        raise ValueError(f"{', '.join(lacking)} is missing or not finite: the models cannot be filtered")
    useless = tuple(name for name in values if utility is not None and utility[name] < floor)
    useful = [name for name in values if name not in useless]
    kept = tuple(name for name in useful if knows_not(values[name], cut, direction))
    return Filtered(kept, useless, tuple(name for name in useful if name not in kept))
