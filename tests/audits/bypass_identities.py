"""What must hold of any replies by the definitions of gap and trace, and parsers that break it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from uds_bench.audits.bypass import rates
from uds_bench.audits.bypass.rates import Rows
from uds_bench.audits.bypass.record import Reply
from uds_bench.audits.bypass.reply import Fallback, Split, contains, split_reply
from uds_bench.facts.canaries import CLOSING
from uds_bench.facts.reasoning import PREFILLS
from uds_bench.statistics import largest

FALLBACKS: tuple[Fallback, ...] = ("trace", "answer")
Parse = Callable[[str, Fallback], Split]


def leak_under_prefill(rows: Rows, parse: Parse = split_reply) -> float:
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
        >>> leak_under_prefill(rows)
        0.0
        >>> leak_under_prefill(rows, lambda text, fallback: Split(text, "", True))
        1.0
    """
    shares = []
    for arm in PREFILLS:
        held = [contains(parse(probed.replies[arm].text, "answer").trace, canary) for canary, probed in rows]
        shares.append(sum(held) / len(held) if held else float("nan"))
    return largest(shares)


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


def repeating(rows: Rows) -> Rows:
    """The same replies, each closing its trace a second time at the end."""
    return [(canary, replace(p, replies={a: _twice(r) for a, r in p.replies.items()})) for canary, p in rows]


def split_at_last(text: str, fallback: Fallback) -> Split:
    """A parser that is wrong: it splits at the last closing tag."""
    trace, tag, answer = text.rpartition(CLOSING)
    return Split(trace, answer, True) if tag else split_reply(text, fallback)


def _twice(reply: Reply) -> Reply:
    return replace(reply, text=f"{reply.text}\n{CLOSING}")
