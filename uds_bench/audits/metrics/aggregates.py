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


def _hm(*values: float) -> float:
    return harmonic_mean(*values) if all(0 <= v <= 1 for v in values) else math.nan


def memorization(es: float, em: float, para_prob: float, truth_ratio: float) -> float:
    """How little is memorized: Mem = HM(1 - ES, 1 - EM, 1 - ParaProb, 1 - Truth Ratio[prob_mean]).

    Args:
        es: Extraction strength, 0 to 1.
        em: Exact memorization, 0 to 1.
        para_prob: Probability of the paraphrased answer, 0 to 1.
        truth_ratio: Truth ratio as `prob_mean`, 0 to 1.

    Returns:
        0 to 1, higher better: 1 is nothing memorized; NaN where one is NaN or outside.

    Source: UDS guide, section 6.1.

    Example:
        >>> memorization(0.5, 0.0, 0.0, 0.0)  # 4 / (2 + 1 + 1 + 1)
        0.8
    """
    return _hm(1 - es, 1 - em, 1 - para_prob, 1 - truth_ratio)


def mia_axis(s_loss: float, s_zlib: float, s_min_k: float, s_min_k_plus_plus: float) -> float:
    """How like the retain model's membership inference is: HM of the four s_*.

    Args:
        s_loss: s of the loss, 0 to 1.
        s_zlib: s of zlib, 0 to 1.
        s_min_k: s of min-k, 0 to 1.
        s_min_k_plus_plus: s of min-k++, 0 to 1.

    Returns:
        0 to 1, higher better: 1 is as the retain model. One that is saturated at 0 makes the axis 0: it cannot rank.

    Source: UDS guide, section 6.1.

    Example:
        >>> mia_axis(0.5, 1.0, 1.0, 1.0), mia_axis(0.0, 1.0, 1.0, 1.0)
        (0.8, 0.0)
    """
    return _hm(s_loss, s_zlib, s_min_k, s_min_k_plus_plus)


def privacy(mia: float, uds: float | None = None) -> float:
    """How little an attacker finds: HM(MIA, UDS); without UDS the MIA axis alone, as the field has it.

    Args:
        mia: The MIA axis, 0 to 1.
        uds: The unlearning depth score, 0 to 1.

    Returns:
        0 to 1, higher better; NaN where one is NaN or outside.

    Source: UDS guide, section 6.1.

    Example:
        >>> round(privacy(1.0, 0.5), 4), privacy(0.25)  # 2 / (1 + 2)
        (0.6667, 0.25)
    """
    return _hm(mia) if uds is None else _hm(mia, uds)


def utility(model: float, fluency: float) -> float:
    """How useful a model is: HM(model utility, fluency).

    Args:
        model: Model utility, 0 to 1.
        fluency: Fluency, 0 to 1.

    Returns:
        0 to 1, higher better; NaN where one is NaN or outside.

    Source: UDS guide, section 6.1.

    Example:
        >>> round(utility(0.5, 1.0), 4)  # 2 / (2 + 1)
        0.6667
    """
    return _hm(model, fluency)


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


def overall(mem: float, private: float, useful: float) -> float:
    """How well a model is unlearned: HM(Mem, Privacy, relative Utility).

    Args:
        mem: The memorization axis, 0 to 1.
        private: The privacy axis, 0 to 1.
        useful: Relative utility, 0 to 1.

    Returns:
        0 to 1, higher better; NaN where one is NaN or outside.

    Source: UDS guide, section 6.1.

    Example:
        >>> overall(1.0, 1.0, 0.5)  # 3 / (1 + 1 + 2)
        0.75
    """
    return _hm(mem, private, useful)


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
    mem, mia = memorization(*(values[n] for n in MEMORIZATION)), mia_axis(*(values[n] for n in MIA))
    both = privacy(mia, values["uds"])
    with_uds, without = overall(mem, both, relative), overall(mem, privacy(mia), relative)
    return Standing(model, mem, mia, values["uds"], both, relative, with_uds, without)
