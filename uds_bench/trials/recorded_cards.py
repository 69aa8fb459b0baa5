"""What the built-in methods came to: their cards as they were recorded, for a method of one's own to stand beside."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files

from uds_bench.trials.card import ClaimRow, MethodCard, RetrainingCost

FILE = "recorded.jsonl"
"""Beside this module: a card a line, by `.ci/method_cards.py`."""


@cache
def recorded() -> tuple[MethodCard, ...]:
    """The cards of built-in methods, in the file's order."""
    return tuple(map(read, files(__package__).joinpath(FILE).read_text().splitlines()))


def read(text: str) -> MethodCard:
    """A card as `MethodCard.to_json` gives it."""
    card = json.loads(text)
    rows = tuple(ClaimRow(**row) for row in card["rows"])
    costs = tuple(RetrainingCost(**cost) for cost in card["costs"])
    return MethodCard(card["method"], rows, costs, tuple(card["problems"]), tuple(card["remarks"]))


def cleared_by(claim: str, cards: Iterable[MethodCard]) -> str:
    """How many of these methods pass a claim with every seed, of those that were judged by it, such as `4 of 10`.

    Example:
        >>> row = ClaimRow("depth.spared", "pass", {"pass": 3}, 0.8, 0.78, 0.83, ">= 0.5")
        >>> cleared_by("depth.spared", [MethodCard("npo", (row,), ())])
        '1 of 1'
    """
    found = [row.verdict for card in cards for row in card.rows if row.claim == claim]
    judged = [verdict for verdict in found if verdict != "not applicable"]
    return f"{judged.count('pass')} of {len(judged)}"


def nearest(claim: str, observed: float | None, cards: Iterable[MethodCard]) -> str:
    """Which of these methods came nearest to a number, such as `npo 0.69`; "" where there is none.

    Args:
        claim: Of which claim.
        observed: The mean over seeds, in the claim's unit.
        cards: Of the methods.

    Returns:
        Its name and its own mean.

    Example:
        >>> row = ClaimRow("depth.spared", "pass", {"pass": 3}, 0.8, 0.78, 0.83, ">= 0.5")
        >>> nearest("depth.spared", 0.9, [MethodCard("npo", (row,), ())])
        'npo 0.80'
    """
    rows = [(row.observed, card.method) for card in cards for row in card.rows if row.claim == claim]
    found = [(abs(mean - observed), name, mean) for mean, name in rows if mean is not None and observed is not None]
    return "{1} {2:.2f}".format(*min(found)) if found else ""


def tables(cards: Iterable[MethodCard]) -> Iterator[str]:
    """Markdown, a table an audit: a row a method, a column a claim about what it made, and what one model cost. Then
    what methods are not meant to pass."""
    cards = tuple(cards)
    claims: dict[str, dict[str, None]] = {}
    for row in (row for card in cards for row in card.rows if row.verdict != "not applicable"):
        audit, _, short = row.claim.partition(".")
        claims.setdefault(audit, {})[short] = None
    for audit, columns in claims.items():
        yield from ("", f"## {audit}", "", f"| method | {' | '.join(f'`{one}`' for one in columns)} | cost |")
        yield "|---|" + "---|" * (len(columns) + 1)
        for card in cards:
            found = {row.claim: row for row in card.rows}
            cells = [_cell(found.get(f"{audit}.{one}")) for one in columns]
            yield f"| {card.method} | {' | '.join(cells)} | {_cost(card, audit)} |"
    declared: dict[str, list[str]] = {}
    for card in cards:
        for row in card.rows:
            if row.expected:
                declared.setdefault(f"| {card.method} | {row.expected} |", []).append(f"`{row.claim}`")
    if declared:
        yield from ("", "## Declared", "", "| method | why | not meant to pass |", "|---|---|---|")
    yield from (f"{said} {', '.join(claims)} |" for said, claims in declared.items())


def _cell(row: ClaimRow | None) -> str:
    if row is None:
        return "-"
    seeds = sum(row.seeds.values())
    told = row.verdict if row.seeds.get(row.verdict) == seeds else f"{row.seeds.get('pass', 0)} of {seeds} pass"
    told += ", as declared" if row.expected else ""
    if row.observed is None:
        return told
    return f"{told}: {row.observed:.2f}" + ("" if row.low is None else f" ({row.low:.2f}..{row.high:.2f})")


def _cost(card: MethodCard, audit: str) -> str:
    found = next((one for one in card.costs if one.audit == audit), None)
    if found is None:
        return "-"
    return f"{found.seconds:.0f} s" + ("" if found.share is None else f", {found.share:.0%}")
