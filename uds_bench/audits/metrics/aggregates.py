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
    """Mem = HM(1 - ES, 1 - EM, 1 - ParaProb, 1 - Truth Ratio[prob_mean]): 1 is nothing memorized."""
    return _hm(1 - es, 1 - em, 1 - para_prob, 1 - truth_ratio)


def mia_axis(s_loss: float, s_zlib: float, s_min_k: float, s_min_k_plus_plus: float) -> float:
    """HM of the four s_*: 1 is as the retain model. One that is saturated at 0 makes the axis 0: it cannot rank."""
    return _hm(s_loss, s_zlib, s_min_k, s_min_k_plus_plus)


def privacy(mia: float, uds: float | None = None) -> float:
    """HM(MIA, UDS); without UDS the MIA axis alone, as the field has it."""
    return _hm(mia) if uds is None else _hm(mia, uds)


def utility(model: float, fluency: float) -> float:
    """HM(model utility, fluency)."""
    return _hm(model, fluency)


def relative_utility(own: float, full: float) -> float:
    """min(1, U / U_full); NaN where the full model has no utility to compare with."""
    return min(1.0, own / full) if own >= 0 and full > 0 else math.nan


def overall(mem: float, private: float, useful: float) -> float:
    """HM(Mem, Privacy, relative Utility)."""
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
    """A model's axes from its raw metric values by name; `relative`: its relative utility.

    ValueError where a value is missing: no axis is made of fewer parts than it has.
    """
    if lacking := [name for name in (*MEMORIZATION, *MIA, "uds") if name not in values]:
        raise ValueError(f"{model} has no value of {', '.join(lacking)}: score them first")
    mem, mia = memorization(*(values[n] for n in MEMORIZATION)), mia_axis(*(values[n] for n in MIA))
    both = privacy(mia, values["uds"])
    with_uds, without = overall(mem, both, relative), overall(mem, privacy(mia), relative)
    return Standing(model, mem, mia, values["uds"], both, relative, with_uds, without)
