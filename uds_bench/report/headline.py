"""The one verdict at the top of the page. It is green only where everything says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from uds_bench.claims.record import STATUSES, decides_something
from uds_bench.claims.run_report import RunReport
from uds_bench.errors import some
from uds_bench.report.claim import ClaimView
from uds_bench.report.verdict_words import WORDS, VerdictWord
from uds_bench.verdicts import KNOWN, Verdict


@dataclass(frozen=True)
class Headline:
    """`terms`: every word with its count, so that `planned` is seen to be their sum. `problems` make a run red."""

    green: bool
    title: str
    reason: str
    planned: int
    terms: tuple[tuple[VerdictWord, int], ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def colour(self) -> str:
        """Green or red."""
        return "green" if self.green else "red"


NAMES_SHOWN = 6
"""So many names are said."""


def _named(names: Iterable[str]) -> str:
    return some(list(dict.fromkeys(names)), NAMES_SHOWN)


def _by_word(claims: Sequence[ClaimView], named: str = "") -> str:
    """`2 fail, 1 undecided`, in the order of the words; those of the tone `named` with names: `2 declared (a, b)`."""
    groups: dict[str, list[str]] = {}
    for claim in claims:
        groups.setdefault(claim.record.status, []).append(claim.record.name)
    return ", ".join(
        f"{len(groups[word])} {word}" + (f" ({_named(groups[word])})" if WORDS[word].tone == named else "")
        for word in WORDS
        if word in groups
    )


def _stopping(stopping: Sequence[ClaimView], claims: Sequence[ClaimView]) -> str:
    """What came out how, and who fails, is undecided, and clears; the matrix below says why."""
    failed = _subjects(one for one in stopping if one.record.verdict is Verdict.FAIL)
    undecided = [name for name in _subjects(stopping) if name not in failed]
    passed = (one for one in claims if one.record.subject and one.record.status == Verdict.PASS)
    others = _subjects(one for one in claims if one.record.verdict not in (Verdict.PASS, Verdict.NOT_APPLICABLE))
    clear = [name for name in _subjects(passed) if name not in others]
    groups = {"Fails": failed, "Undecided": undecided, "Clears": clear}
    return f"{_by_word(stopping)}." + "".join(f" {word}: {_named(names)}." for word, names in groups.items() if names)


def _subjects(claims: Iterable[ClaimView]) -> list[str]:
    """Whom claims are about, each once."""
    return list(dict.fromkeys(one.record.subject or "the set-up" for one in claims))


def _accepted(claims: Sequence[ClaimView]) -> str:
    """Why a green run is green, with everything that is not a plain pass named."""
    known = [claim for claim in claims if claim.record.flag in KNOWN]
    plain = [claim for claim in claims if claim.record.status == Verdict.PASS]
    rest = [claim for claim in claims if claim not in known and claim not in plain]
    specimens = f" Specimens that came to what they must: {_by_word(known)}." if known else ""
    accounted = f" Accounted for, but not passes: {_by_word(rest, 'apart')}." if rest else ""
    return f"{len(plain)} of {len(claims)} claims pass and none fails.{specimens}{accounted}"


def headline(run: RunReport, claims: Sequence[ClaimView]) -> Headline:
    """Red for any claim that stops the release, for a run in which nothing was decided, for claims that are not
    accounted for, and for a run that does not say that it is ok; green otherwise."""
    summary, planned = run.summary, run.summary.planned
    stopping = [claim for claim in claims if not claim.record.is_good]
    there, listed = len(run.claims), Counter(one.status for one in run.claims)
    wrong = f"{planned} claims were planned and {there} are accounted for" if planned != there else ""
    if {word: number for word, number in summary.counts.items() if number} != listed:
        wrong = wrong or "the summary counts other claims than the report lists"
    if stopping:
        plural = "claim stops" if len(stopping) == 1 else "claims stop"
        title, reason = f"{len(stopping)} {plural} this release", _stopping(stopping, claims)
        reason += f" Also, {wrong}." if wrong else ""
    elif not decides_something(claim.record for claim in claims):
        title = "nothing was decided"
        reason = "No claim came to a decision: nothing is known about this release. An empty run is never green."
    elif wrong:
        title, reason = "this report does not add up", f"{wrong[0].upper()}{wrong[1:]}. It cannot be relied upon."
    elif not summary.ok:
        title = "the run did not end well"
        reason = "No claim stops the release, but the run does not say that it is ok: see its terminal output."
    else:
        title, reason = "no claim stops this release", _accepted(claims)
    of_method = Counter(one.status for one in run.of_method)
    return Headline(
        green=title == "no claim stops this release",
        title=title,
        reason=reason,
        planned=planned + len(run.of_method),
        terms=tuple((WORDS[name], summary.counts.get(name, 0) + of_method[name]) for name in STATUSES),
        problems=tuple(summary.problems),
        notes=tuple(summary.notes),
    )
