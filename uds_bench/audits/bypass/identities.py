"""What must hold of any checkpoint's replies, whatever it remembers. Pure functions of texts and numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from uds_bench.audits.bypass.record import Probed

TIE = 1e-5
"""Distance of two best logits below which rounding may decide which of them is the best."""


def worst(values: Iterable[float]) -> float:
    """The largest; NaN where one is NaN, as a seed that could not be computed must not hide behind another.

    Args:
        values: One a seed, [seeds].

    Returns:
        A number in their unit; NaN of none.

    Example:
        >>> worst([0.0, 0.5]), worst([0.5, math.nan])
        (0.5, nan)
    """
    found = list(values)
    return float("nan") if not found or any(map(math.isnan, found)) else max(found)


def inconsistent(probed: Sequence[Probed]) -> float:
    """Share of continuations for which "every token is the likeliest one" and "greedy decoding says it" disagree.

    Args:
        probed: Teacher-forced continuations of each author, [authors]; ties of two tokens are left out.

    Returns:
        0 to 1, 0 where the identity holds; NaN where none was tried.

    Source: Audit of reasoning traces, section 3.

    Example:
        >>> from types import SimpleNamespace
        >>> said = [SimpleNamespace(right=(True, right), repeated=True, lead=1.0) for right in (True, False)]
        >>> inconsistent([SimpleNamespace(forced={"bio": {"own": one}}) for one in said])
        0.5
    """
    tried = [f for p in probed for contexts in p.forced.values() for f in contexts.values() if f.repeated is not None]
    clear = [f for f in tried if f.lead > TIE]
    if not clear:
        return float("nan")
    return sum(all(f.right) != f.repeated for f in clear) / len(clear)
