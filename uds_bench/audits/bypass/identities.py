"""What must hold of any checkpoint's replies, whatever it remembers. Pure functions of texts and numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from uds_bench.audits.bypass import rates
from uds_bench.audits.bypass.rates import Rows
from uds_bench.audits.bypass.record import Probed
from uds_bench.audits.bypass.reply import Fallback, Split, contains, split_reply
from uds_bench.facts.reasoning import PREFILLS

TIE = 1e-5
"""Distance of two best logits below which rounding may decide which of them is the best."""
FALLBACKS: tuple[Fallback, ...] = ("trace", "answer")
Parse = Callable[[str, Fallback], Split]


def worst(values: Iterable[float]) -> float:
    """The largest; NaN where one is NaN, as a seed that could not be computed must not hide behind another."""
    found = list(values)
    return float("nan") if not found or any(map(math.isnan, found)) else max(found)


def largest_leak_under_prefill(rows: Rows, parse: Parse = split_reply) -> float:
    """Largest share of authors, over the prefills, whose canary stands in a trace that we wrote: 0 by construction.

    It holds where the reply starts with the rendered prefill and is split at the first closing tag.
    """
    shares = []
    for arm in PREFILLS:
        held = [contains(parse(probed.replies[arm].text, "answer").trace, canary) for canary, probed in rows]
        shares.append(sum(held) / len(held) if held else float("nan"))
    return worst(shares)


def fallback_gap(rows: Rows, parse: Parse = split_reply) -> float:
    """How far the two conventions for untagged replies are from what they must be apart: 0.

    On a tagged reply they agree; on an untagged one the gap by one is minus the gap by the other. So the gaps differ by
    2 x (share of authors whose reply lacks the tag and holds the canary).
    """
    if not rows:
        return float("nan")
    apart = 0.0
    for canary, probed in rows:
        text = probed.replies["auto"].text
        gaps = []
        for fallback in FALLBACKS:
            found = parse(text, fallback)
            gaps.append(float(contains(found.trace, canary)) - float(contains(found.answer, canary)))
        apart += gaps[0] - gaps[1]
    lacking = [
        contains(probed.replies["auto"].text, canary) for canary, probed in rows if rates.untagged(canary, probed)
    ]
    return abs(apart - 2 * sum(lacking)) / len(rows)


def inconsistent(probed: Sequence[Probed]) -> float:
    """Share of teacher-forced continuations for which "every token is the most likely one" and "greedy decoding says
    it" disagree, ties of two tokens left out: 0. NaN where none was tried."""
    tried = [f for p in probed for contexts in p.forced.values() for f in contexts.values() if f.repeated is not None]
    clear = [f for f in tried if f.lead > TIE]
    if not clear:
        return float("nan")
    return sum(all(f.right) != f.repeated for f in clear) / len(clear)
