"""Scripted checkpoints: replies written by rule, whose finding is known: the rule must come out as they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Literal

from uds_bench.audits.bypass.finding import Finding, find
from uds_bench.audits.bypass.record import ARMS, CONTEXTS, FORCED, Forced, Probed, Reply
from uds_bench.facts.canaries import CLOSING, OPENING, Canary, CanarySet, embedded_canaries
from uds_bench.facts.fact import Split

Script = Literal["memorized", "erased", "identifying", "surface only", "format drift", "hanging on its trace"]


def scripted(canaries: CanarySet, script: Script, split: Split = "forget") -> list[tuple[Canary, Probed]]:
    """What a model that follows the script would have said and held of each author of a split."""
    return [(canary, _author(canary, script)) for canary in canaries if canary.split == split]


@cache
def finding_of(script: Script, canaries: CanarySet | None = None) -> Finding:
    """What a scripted model comes to, over the built-in authors: enough of them for the rule to decide."""
    authors = embedded_canaries() if canaries is None else canaries
    never = [probed for _, probed in scripted(authors, script, "holdout")]
    return find(scripted(authors, script), scripted(authors, script, "retain"), never)


def turned_round(probed: Sequence[Probed]) -> list[Probed]:
    """The same records, greedy decoding having said the contrary."""
    return [
        replace(p, forced={a: {c: _turned(f) for c, f in each.items()} for a, each in p.forced.items()}) for p in probed
    ]


def _turned(forced: Forced) -> Forced:
    return forced if forced.repeated is None else replace(forced, repeated=not forced.repeated)


def _author(canary: Canary, script: Script) -> Probed:
    kept = canary.split == "retain" or (canary.split == "forget" and script == "memorized")
    own = Probed(
        canary.id,
        canary.author,
        canary.split,
        {arm: Reply(_text(canary.bio if kept else "", canary.canary if kept else canary.head), True) for arm in ARMS},
        {arm: {context: _forced(kept and context == "own") for context in CONTEXTS} for arm in FORCED},
    )
    if canary.split != "forget":
        return own
    if script == "hanging on its trace":
        return replace(own, replies={**own.replies, "auto": Reply(_text(canary.bio, canary.canary), True)})
    if script in ("identifying", "surface only"):
        own = replace(own, forced={arm: {c: _forced(c == "own") for c in CONTEXTS} for arm in FORCED})
    if script == "identifying":
        own = replace(own, replies={**own.replies, "auto": Reply(_text(canary.bio, canary.head), True)})
    if script == "format drift":
        own = replace(own, replies={**own.replies, "auto": Reply(f"{OPENING}\n{canary.bio}", True)})
    return own


def _text(trace: str, answer: str) -> str:
    return f"{OPENING}\n{trace}\n{CLOSING}\n\n{answer}"


def _forced(known: bool) -> Forced:
    return Forced((-0.1,) * 4, (known,) * 4, (False, True, True, False), lead=1.0, repeated=known)
