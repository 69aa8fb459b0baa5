"""Subjects and controls side by side on one axis, each interval against its bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from uds_bench.claims.record import Bound, ClaimRecord, Control
from uds_bench.figures.chapter import Chapter
from uds_bench.figures.spelling import spell, spell_interval
from uds_bench.figures.svg import Scale, domain, element, label, line, marked_along, picture, stretch, ticks
from uds_bench.grouping import grouped
from uds_bench.report.claim import ClaimView
from uds_bench.report.verdict_words import Tone
from uds_bench.statistics import Interval
from uds_bench.verdicts import Flag

WIDTH, EDGE, HEIGHT = 460.0, 14.0, 40.0
MOST_RINGS = 12
"""So many controls are said in words."""
TALL = 400.0
"""How far zone and bound reach beyond a row: its cell cuts them off, so that rows join into one axis."""


@dataclass(frozen=True)
class NumberLineRow:
    """A candidate with everything else that is claimed about it."""

    claim: ClaimView
    axis: Markup
    related: tuple[ClaimView, ...]


@dataclass(frozen=True)
class ControlRow:
    """A control with its own axis."""

    control: Control
    axis: Markup


@dataclass(frozen=True)
class OutcomeGroup:
    """Rows of one kind of outcome: passes and misses never mix, so that no miss is read as a pass."""

    title: str
    words: str
    rows: tuple[NumberLineRow, ...]


@dataclass(frozen=True)
class NumberLine:
    """One claim over its subjects; `head` is the axis with its ticks."""

    id: str
    statement: str
    head: Markup
    groups: tuple[OutcomeGroup, ...]
    controls: tuple[ControlRow, ...]


CAUGHT = Flag.CAUGHT.value
_GROUPS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("bad",), "Stopping the release", ""),
    ((CAUGHT,), "Caught", "specimens that must fail, and do: this gate can fail"),
    (("good",), "Passing", "the whole interval lies on the side that passes"),
    (
        ("apart",),
        "Set apart: not passes",
        "declared or waived beforehand, or results; they neither stop the release nor back it",
    ),
    (("mute",), "Not decided here", ""),
)


def zone(bound: Bound, kind: str) -> tuple[float, float] | None:
    """The values that pass a claim.

    Args:
        bound: What its interval is held against.
        kind: Of the claim: an equivalence passes on both sides of 0.

    Returns:
        Low and high, infinite at an open end; None where the bound does not tell.

    Example:
        >>> zone(Bound(">=", 0.7), "threshold"), zone(Bound(value=0.1), "equivalence")
        ((0.7, inf), (-0.1, 0.1))
    """
    if bound.value is None:
        return None
    if kind == "equivalence":
        return -abs(bound.value), abs(bound.value)
    if bound.relation in (">=", ">"):
        return bound.value, float("inf")
    return (float("-inf"), bound.value) if bound.relation in ("<=", "<") else None


def _zone(claim: ClaimView) -> tuple[float, float] | None:
    return zone(claim.record.bound, claim.record.kind)


def _axis(
    limits: tuple[float, float],
    passing: tuple[float, float] | None,
    observed: float | None,
    interval: Interval | None,
    tone: Tone,
    words: str,
    more: Sequence[Markup] = (),
) -> Markup:
    x = Scale(*limits, EDGE, WIDTH - EDGE)
    middle = HEIGHT / 2
    parts = [line(EDGE, middle, WIDTH - EDGE, middle, "rule")]
    if passing is not None:
        left, right = x(passing[0]), x(passing[1])
        zone = element("rect", x=left, y=-TALL, width=right - left, height=HEIGHT + 2 * TALL, class_="zone")
        edges = [x(edge) for edge in passing if abs(edge) != float("inf")]
        parts = [zone, *(line(edge, -TALL, edge, HEIGHT + TALL, "bound") for edge in edges), *parts]
    if interval is not None:
        parts.append(stretch(x, interval.low, interval.high, middle - 7, 14.0, f"bar {tone}", 3.0))
    if observed is None:
        parts.append(label(WIDTH / 2, middle + 4, "no value", "absent", "middle"))
    else:
        parts.append(element("circle", cx=x(observed), cy=middle, r=4.0, class_=f"dot {tone}"))
    return picture(WIDTH, HEIGHT + (16.0 if more else 0.0), words, *parts, *more, class_="axis")


def number_line(claim: ClaimView, chapter: Chapter | None) -> Markup:
    """A claim's value and interval against its bound, its controls as rings; "" where there is nothing to draw."""
    record, passing = claim.record, _zone(claim)
    seen = [control for control in record.controls if control.observed is not None]
    if record.observed is None or (passing is None and record.interval is None):
        return Markup("")
    values = [record.observed, *(control.observed for control in seen if control.observed is not None)]
    values += [record.interval.low, record.interval.high] if record.interval else []
    values += [edge for edge in passing or () if abs(edge) != float("inf")]
    known = chapter.limits if chapter and record.id in chapter.measures else None
    limits = domain(values, known)
    told = [_words(record.name, record.observed, record.interval, record.needs, claim.word.word)]
    told += [f"control {one.name}: {spell(one.observed)}, must {one.must}" for one in seen]
    words = "; ".join([*told[: 1 + MOST_RINGS], *(["and more controls"] if len(seen) > MOST_RINGS else [])])
    x = Scale(*limits, EDGE, WIDTH - EDGE)
    more = [*_rings(x, seen), *marked_along(x, ticks(*limits), HEIGHT + 12)]
    return _axis(limits, passing, record.observed, record.interval, claim.word.tone, words, more)


def _rings(x: Scale, controls: Sequence[Control]) -> list[Markup]:
    return [
        element("circle", cx=x(one.observed), cy=HEIGHT - 6, r=3.0, class_=f"ring {'mute' if one.held else 'bad'}")
        for one in controls
        if one.observed is not None
    ]


def _head(limits: tuple[float, float], ends: tuple[str, str]) -> Markup:
    x = Scale(*limits, EDGE, WIDTH - EDGE)
    marks = ticks(*limits)
    parts = [line(x(mark), 30, x(mark), 36, "rule") for mark in marks]
    parts += marked_along(x, marks, 25)
    parts += [label(EDGE - 4, 10, ends[0], "end"), label(WIDTH - EDGE + 4, 10, ends[1], "end", "end")]
    words = f"axis from {spell(limits[0])} {ends[0]} to {spell(limits[1])} {ends[1]}"
    return picture(WIDTH, 36.0, words, *parts, class_="axis")


def _words(name: str, observed: float | None, interval: Interval | None, needs: str, verdict: str) -> str:
    span = f", 95% interval {spell_interval(interval)}" if interval else ""
    return f"{name}: {spell(observed)}{span}, needs {needs}, {verdict}"


def _kind(claim: ClaimView) -> str:
    """What is shown together: by tone, but what was caught is no pass."""
    return CAUGHT if claim.record.flag is Flag.CAUGHT else claim.word.tone


def _lineup(chapter: Chapter, claims: Sequence[ClaimView], everything: Sequence[ClaimView]) -> NumberLine:
    controls: dict[Control, ClaimView] = {}
    for claim in claims:
        for control in claim.record.controls:
            controls.setdefault(control, claim)
    items: list[ClaimRecord | Control] = [*(claim.record for claim in claims), *controls]
    values = [item.observed for item in items if item.observed is not None]
    values += [end for item in items if item.interval for end in (item.interval.low, item.interval.high)]
    values += [edge for claim in claims for edge in _zone(claim) or () if abs(edge) != float("inf")]
    limits = domain(values, chapter.limits)
    rows, controlled = [], []
    for claim in claims:
        record = claim.record
        words = _words(record.name, record.observed, record.interval, record.needs, claim.word.word)
        axis = _axis(limits, _zone(claim), record.observed, record.interval, claim.word.tone, words)
        others = [one for one in everything if one.record.subject == record.subject and one.record.id != record.id]
        rows.append(NumberLineRow(claim, axis, tuple(others) if record.subject else ()))
    for control, owner in controls.items():
        told = control.observed, control.interval
        words = _words(f"control {control.name}", *told, owner.record.needs, control.verdict)
        tone: Tone = "mute" if control.held else "bad"
        controlled.append(ControlRow(control, _axis(limits, _zone(owner), *told, tone, words)))
    sorted_out = [(title, words, [row for row in rows if _kind(row.claim) in kinds]) for kinds, title, words in _GROUPS]
    groups = tuple(OutcomeGroup(title, words, tuple(found)) for title, words, found in sorted_out if found)
    one = claims[0].record
    return NumberLine(one.id, one.statement, _head(limits, chapter.ends), groups, tuple(controlled))


def lineups(chapter: Chapter, claims: Sequence[ClaimView]) -> list[NumberLine]:
    """One lineup per measured claim id: those that the chapter names, else every claim with a bound to draw."""
    ids = chapter.measures
    shown = [claim for claim in claims if (claim.record.id in ids if ids else _zone(claim) is not None)]
    return [_lineup(chapter, group, claims) for group in grouped(shown, lambda claim: claim.record.id).values()]
