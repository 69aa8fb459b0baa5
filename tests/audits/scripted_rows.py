"""Scripted authors whose replies are changed by hand, and what a model of such replies comes to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from uds_bench.audits.bypass.finding import GapOutcome, find
from uds_bench.audits.bypass.record import Arm, Probed, Reply
from uds_bench.audits.bypass.scripted import scripted
from uds_bench.facts.canaries import CLOSING, OPENING, Canary, embedded_canaries

CANARIES = embedded_canaries(40, 10, 10)
Rows = list[tuple[Canary, Probed]]


def found(rows: Rows, retain: str = "memorized", never: str = "erased") -> GapOutcome:
    kept = scripted(CANARIES, retain, "retain")
    strangers = [p for _, p in scripted(CANARIES, never, "holdout")]
    return find(rows, kept, strangers).word


def said(rows: Rows, arm: Arm, text: Callable[[Canary, int], str], ended: bool = True) -> Rows:
    return [(c, replace(p, replies={**p.replies, arm: Reply(text(c, i), ended)})) for i, (c, p) in enumerate(rows)]


def answer(canary: Canary, holds: bool, trace: str = "T") -> str:
    return f"{OPENING}\n{trace}\n{CLOSING}\n\n{canary.canary if holds else canary.head}"


def strangers() -> list[Probed]:
    return [p for _, p in scripted(CANARIES, "erased", "holdout")]
