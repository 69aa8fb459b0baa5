"""The axes of a model's standing, each a harmonic mean in [0, 1], higher better; NaN where an input is NaN or outside.

UDS guide, section 6.1; what the guide leaves open as the field's framework computes it (definitions, U-priv).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from uds_bench.statistics import harmonic_mean

MEMORIZATION = ("es", "em", "para_prob", "truth_ratio")
MIA = ("s_loss", "s_zlib", "s_min_k", "s_min_k_plus_plus")


def axis(*shares: float) -> float:
    """How well a model stands by several shares together: their harmonic mean.

    Args:
        shares: Each 0 to 1, higher better; one of 0 makes the axis 0: what is saturated cannot rank.

    Returns:
        0 to 1, higher better; NaN where one is NaN or outside.

    Source: UDS guide, section 6.1.

    Example:
        >>> axis(0.5, 1.0, 1.0, 1.0), axis(0.0, 1.0), axis(0.5, math.nan)  # 4 / (2 + 1 + 1 + 1)
        (0.8, 0.0, nan)
    """
    return harmonic_mean(*shares) if all(0 <= share <= 1 for share in shares) else math.nan


def relative_utility(own: float, full: float) -> float:
    """How much of the full model's utility is left: min(1, U / U_full).

    Args:
        own: U of the model, 0 and above.
        full: U of the full model.

    Returns:
        0 to 1, higher better; NaN where the full model has no utility to compare with.

    Source: UDS guide, section 6.1.

    Example:
        >>> relative_utility(0.25, 0.5), relative_utility(0.75, 0.5), relative_utility(0.5, 0.0)
        (0.5, 1.0, nan)
    """
    return min(1.0, own / full) if own >= 0 and full > 0 else math.nan


@dataclass(frozen=True)
class Standing:
    """One model's axes, and Overall with and without UDS in Privacy."""

    model: str
    mem: float
    mia: float
    uds: float
    privacy: float
    utility: float
    overall: float
    overall_without_uds: float


def standing(model: str, values: Mapping[str, float], relative: float) -> Standing:
    """A model's axes from its raw metric values: no axis is made of fewer parts than it has.

    With HM the harmonic mean, Mem = HM(1 - ES, 1 - EM, 1 - ParaProb, 1 - Truth Ratio[prob_mean]): 1 is nothing
    memorized. MIA = HM of the four s_*: 1 is as the retain model. Privacy = HM(MIA, UDS), without UDS the MIA axis
    alone, as the field has it. Overall = HM(Mem, Privacy, relative Utility).

    Args:
        model: Its name.
        values: Metric values by name, 0 to 1.
        relative: Its relative utility, 0 to 1.

    Returns:
        The axes, 0 to 1, higher better.

    Raises:
        ValueError: A value is missing.

    Source: UDS guide, section 6.1.

    Example:
        >>> values = dict.fromkeys(MEMORIZATION, 0.0) | dict.fromkeys(MIA, 1.0) | {"uds": 0.5}
        >>> found = standing("a", values, 1.0)
        >>> round(found.privacy, 4), round(found.overall, 4), found.overall_without_uds  # HM(1, 2/3, 1)
        (0.6667, 0.8571, 1.0)
    """
    if lacking := [name for name in (*MEMORIZATION, *MIA, "uds") if name not in values]:
        raise ValueError(f"{model} has no value of {', '.join(lacking)}: score them first")
    mem, mia = axis(*(1 - values[name] for name in MEMORIZATION)), axis(*(values[name] for name in MIA))
    privacy = axis(mia, values["uds"])
    with_uds, without = axis(mem, privacy, relative), axis(mem, mia, relative)
    return Standing(model, mem, mia, values["uds"], privacy, relative, with_uds, without)
