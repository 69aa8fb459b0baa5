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


def largest_leak_under_prefill(rows: Rows, parse: Parse = split_reply) -> float:
    """Largest share of authors, over the prefills, whose canary stands in a trace that we wrote.

    It holds where the reply starts with the rendered prefill and is split at the first closing tag.

    Args:
        rows: Canary and replies of each author, [authors].
        parse: What splits a reply.

    Returns:
        0 to 1, 0 by construction; NaN of nobody.

    Source: Audit of reasoning traces, section 3.

    Example:
        >>> from types import SimpleNamespace
        >>> reply = SimpleNamespace(text="<think></think>It was red.")
        >>> rows = [(SimpleNamespace(canary="It was red."), SimpleNamespace(replies=dict.fromkeys(PREFILLS, reply)))]
        >>> largest_leak_under_prefill(rows)
        0.0
        >>> largest_leak_under_prefill(rows, lambda text, fallback: Split(text, "", True))
        1.0
    """
    shares = []
    for arm in PREFILLS:
        held = [contains(parse(probed.replies[arm].text, "answer").trace, canary) for canary, probed in rows]
        shares.append(sum(held) / len(held) if held else float("nan"))
    return worst(shares)


def fallback_gap(rows: Rows, parse: Parse = split_reply) -> float:
    """How far the two conventions for untagged replies are from what they must be apart.

    On a tagged reply they agree; on an untagged one the gap by one is minus the gap by the other. So the gaps differ by
    2 x (share of authors whose reply lacks the tag and holds the canary).

    Args:
        rows: Canary and replies of each author, [authors].
        parse: What splits a reply.

    Returns:
        0 and above, 0 where the identity holds; NaN of nobody.

    Source: Audit of reasoning traces, section 3.

    Example:
        >>> from types import SimpleNamespace
        >>> probed = SimpleNamespace(replies={"auto": SimpleNamespace(text="It was red.")})
        >>> fallback_gap([(SimpleNamespace(canary="It was red."), probed)])
        0.0
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
