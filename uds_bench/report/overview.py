"""The first screen: a row a candidate, a cell an audit, and of each red cell one sentence."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from uds_bench.claims.candidate_table import WORST, candidate_table
from uds_bench.report.claim import ClaimView
from uds_bench.report.verdict_words import WORDS, VerdictWord
from uds_bench.verdicts import Verdict

LETTERS_SHOWN = 180
"""Characters of a sentence: its claim tells the rest."""
RANK = {status.value: rank for rank, status in enumerate(WORST)}


@dataclass(frozen=True)
class AuditCell:
    """What a candidate came to in an audit; `word` is None where no claim of the audit speaks of it."""

    word: VerdictWord | None
    rank: int


@dataclass(frozen=True)
class Sentence:
    """Why a cell is red: its worst claim, `more` others that are red too."""

    claim: ClaimView
    text: str
    more: int


@dataclass(frozen=True)
class CandidateRow:
    """A candidate, or the set-up, whose name is ""; `card` is its place on the page. `passed`: where nothing of it is
    red, a claim with a number for each audit that it passes."""

    name: str
    card: str
    cells: tuple[AuditCell, ...]
    sentences: tuple[Sentence, ...]
    passed: tuple[Sentence, ...] = ()


@dataclass(frozen=True)
class Overview:
    """Rows that stop the release come first, those that failed before those that are undecided."""

    audits: tuple[str, ...]
    rows: tuple[CandidateRow, ...]


def overview(claims: Sequence[ClaimView]) -> Overview:
    """The claims of a run, put together by whom they speak of and by audit."""
    found, by_record = (
        candidate_table((claim.record for claim in claims), set_up=True),
        {id(one.record): one for one in claims},
    )
    rows = []
    for name in found.candidates:
        sentences, passed, cells = [], [], []
        for audit in found.audits:
            status, own = found.status(name, audit), [by_record[id(r)] for r in found.cells.get((name, audit), ())]
            cells.append(AuditCell(WORDS.get(status), RANK.get(status, len(RANK))))
            bad = sorted((one for one in own if not one.record.is_good), key=_severity)
            sentences += [Sentence(bad[0], _sentence(bad[0]), len(bad) - 1)] if bad else []
            good = [one for one in own if name and one.record.status == Verdict.PASS]
            first = next((one for one in good if one.record.interval is not None), None)
            passed += [Sentence(first, _sentence(first), len(good) - 1)] if first is not None else []
        card = next(one.card for one in claims if (one.record.subject or "") == name)
        rows.append(
            CandidateRow(
                name,
                card,
                tuple(cells),
                tuple(sorted(sentences, key=lambda one: _severity(one.claim))),
                () if sentences else tuple(passed),
            )
        )
    rows.sort(key=lambda row: (_severity(row.sentences[0].claim) if row.sentences else 2, row.name != ""))
    return Overview(found.audits, tuple(rows))


def _severity(claim: ClaimView) -> int:
    return 0 if claim.record.verdict is Verdict.FAIL else 1


def _sentence(claim: ClaimView) -> str:
    return textwrap.shorten(claim.text_alone, LETTERS_SHOWN, placeholder=" …") or claim.meaning
