"""The one verdict at the top of the page. It is green only where everything says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uds_bench.figures.reading import table, text, whole
from uds_bench.report.claim import Claim
from uds_bench.report.words import WORDS, Word, word

DECIDED = frozenset({"pass", "caught", "cleared", "fail", "expected miss", "waived", "warning", "result"})
KNOWN = ("caught", "cleared")
"""Verdicts of specimens that came to what they must."""


@dataclass(frozen=True)
class Headline:
    """`terms`: every verdict word with its count, so that `planned` is seen to be their sum."""

    green: bool
    title: str
    reason: str
    planned: int | None
    terms: tuple[tuple[Word, int], ...]
    notes: tuple[str, ...]

    @property
    def colour(self) -> str:
        return "green" if self.green else "red"


def _names(claims: Sequence[Claim], most: int = 6) -> str:
    names = [claim.name for claim in claims]
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _by_word(claims: Sequence[Claim]) -> str:
    """`2 fail (a, b), 1 crashed (c)`, in the order of the verdict words."""
    groups: dict[str, list[Claim]] = {}
    for claim in claims:
        groups.setdefault(claim.word.word, []).append(claim)
    ordered = sorted(groups, key=lambda name: list(WORDS).index(name) if name in WORDS else len(WORDS))
    return ", ".join(f"{len(groups[name])} {name} ({_names(groups[name])})" for name in ordered)


def _arithmetic(planned: int | None, counts: Mapping[str, int], claims: Sequence[Claim]) -> str:
    """What is wrong with the sums, or nothing."""
    if planned is None:
        return "the report has no count of planned claims"
    if sum(counts.values()) != planned:
        return f"{planned} claims were planned but {sum(counts.values())} are accounted for"
    listed = Counter(claim.verdict for claim in claims)
    wrong = sorted(name for name in {*counts, *listed} if counts.get(name, 0) != listed[name])
    if wrong:
        return "the summary and the list of claims disagree on: " + ", ".join(name or "no verdict" for name in wrong)
    return ""


def _accepted(claims: Sequence[Claim]) -> str:
    """Why a green run is green, with everything that is not a plain pass named."""
    passed = sum(claim.verdict == "pass" for claim in claims)
    known = [claim for claim in claims if claim.verdict in KNOWN]
    rest = [claim for claim in claims if claim.verdict not in ("pass", *KNOWN)]
    specimens = f" Specimens that came to what they must: {_by_word(known)}." if known else ""
    accounted = f" Accounted for, but not passes: {_by_word(rest)}." if rest else ""
    return f"{passed} of {len(claims)} claims pass and none fails.{specimens}{accounted}"


def headline(run: Mapping[str, Any], claims: Sequence[Claim]) -> Headline:
    """Red for any claim that stops the release, for a run in which nothing was decided, for sums that do not add
    up, and for a run that does not say that it is ok; green otherwise."""
    summary = table(run.get("summary"))
    planned = whole(summary.get("planned"))
    counts = {str(name): whole(count) or 0 for name, count in table(summary.get("counts")).items()}
    stopping = [claim for claim in claims if claim.stops]
    wrong = _arithmetic(planned, counts, claims)
    if stopping:
        plural = "claim stops" if len(stopping) == 1 else "claims stop"
        title, reason = f"{len(stopping)} {plural} this release", f"{_by_word(stopping)}."
        reason += f" Also, {wrong}." if wrong else ""
    elif not any(claim.verdict in DECIDED for claim in claims):
        title = "nothing was decided"
        reason = "No claim came to a decision: nothing is known about this release. An empty run is never green."
    elif wrong:
        title, reason = "this report does not add up", f"{_capital(wrong)}. It cannot be relied upon."
    elif summary.get("ok") is not True:
        title = "the run did not end well"
        reason = "No claim stops the release, but the run does not say that it is ok: see its terminal output."
    else:
        title, reason = "no claim stops this release", _accepted(claims)
    notes = summary.get("notes")
    terms = [(entry, counts.get(name, 0)) for name, entry in WORDS.items()]
    terms += [(word(name), count) for name, count in counts.items() if name not in WORDS]
    return Headline(
        green=title == "no claim stops this release",
        title=title,
        reason=reason,
        planned=planned,
        terms=tuple(terms),
        notes=tuple(text(note) for note in notes) if isinstance(notes, (list, tuple)) else (),
    )
