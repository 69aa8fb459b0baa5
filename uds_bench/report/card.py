"""A candidate's card on the page: its claims with their number lines, and what was not tested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from uds_bench.cards.card import card_of
from uds_bench.claims.run_report import RunReport
from uds_bench.figures.chapter import Chapter
from uds_bench.report.claim import ClaimView
from uds_bench.report.number_line import number_line
from uds_bench.report.overview import CandidateRow
from uds_bench.report.verdict_words import WORDS, VerdictWord


@dataclass(frozen=True)
class CardView:
    """`lines`: by place of a claim, its number line. `result`: of the release card; "" where there can be none, as
    claims were left out, and of a specimen, whose card nobody releases by. `untested`: of a release card."""

    row: CandidateRow
    claims: tuple[ClaimView, ...]
    lines: Mapping[str, Markup]
    result: str
    untested: tuple[str, ...]

    @property
    def counts(self) -> list[tuple[VerdictWord, int]]:
        """Its claims by word, each word that occurs."""
        found = Counter(claim.record.status for claim in self.claims)
        return [(word, found[name]) for name, word in WORDS.items() if found[name]]


def read_cards(
    run: RunReport, claims: Sequence[ClaimView], rows: Sequence[CandidateRow], chapters: Mapping[str, Chapter]
) -> list[CardView]:
    """A card for each row of the overview, those that stop the release first."""
    found, judged = [], {one.subject for one in run.claims}
    for row in rows:
        own = sorted((c for c in claims if (c.record.subject or "") == row.name), key=lambda c: c.record.is_good)
        lines = {claim.anchor: number_line(claim, chapters.get(claim.record.audit)) for claim in own}
        released = run.summary.whole and row.name and not any(claim.record.specimen for claim in own)
        card = card_of(run, row.name) if released and row.name in judged else None
        found.append(CardView(row, tuple(own), lines, card.result if card else "", card.untested if card else ()))
    return found
