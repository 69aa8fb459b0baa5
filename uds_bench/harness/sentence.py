"""A run in one sentence, for who reads nothing else."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from uds_bench.claims.record import ClaimRecord
from uds_bench.harness.result import RunResult
from uds_bench.verdicts import Verdict

Sorted = Mapping[Verdict, Sequence[ClaimRecord]]

NAMED = {Verdict.WARNING: "warned of", Verdict.WAIVED: "waived", Verdict.EXPECTED: "missed as declared"}
"""Good verdicts in spite of which a release goes on: the claims are named."""
COUNTED = {Verdict.RESULT: ("is a result", "are results"), Verdict.NOT_APPLICABLE: ("does not apply", "do not apply")}
RED = {
    Verdict.FAIL: "failed",
    Verdict.INVALID: "void as a control missed",
    Verdict.CRASHED: "crashed",
    Verdict.DRIFTED: "drifted from the golden",
    Verdict.STALE: "with a stale golden",
    Verdict.INCONCLUSIVE: "undecided",
    Verdict.MISSING: "missing",
}
MOST = 3
"""So many names are said."""


def sentence(found: RunResult, is_embedded: bool, exit_code: int, instead: str = "") -> str:
    """About 200 characters at most. `instead`: models that take the place of the shipped ones, in words. `exit_code`:
    of the whole run, with the tests in it that decide no claim."""
    who = f"uds_bench: {instead}: " if instead else "uds_bench: "
    of = {verdict: [r for r in found.records.values() if r.verdict is verdict] for verdict in Verdict}
    if found.is_green and exit_code == 0:
        left = [f"{found.deselected} left out"] if found.deselected else []
        judged, whole = found.of_gate or (0, 0)
        left += [f"{judged} of the default's {whole} claims judged"] if judged < whole else []
        return f"{who}{'; '.join([*(_embedded(of) if is_embedded else _user(of)), *left])}."
    if red := [verdict for verdict in RED if of[verdict]]:
        told = f"{len(of[red[0]])} of {len(found.planned)} claims {RED[red[0]]} ({_names(of[red[0]])})"
        told = ", ".join([told, *(f"{len(of[verdict])} {RED[verdict]}" for verdict in red[1:])])
    else:
        told = textwrap.shorten("; ".join(found.problems), 150) or "other tests than those of claims did not pass"
    return f"{who}RED: {told}: {'do not rely on it' if is_embedded else 'do not release'}."


def _embedded(of: Sorted) -> list[str]:
    """What the shipped specimens came to, or, where models are trained by the run, what all claims did."""
    cleared, caught = len(of[Verdict.CLEARED]), len(of[Verdict.CAUGHT])
    told = [f"clears all {cleared} that it must clear"] if cleared else []
    told += [f"catches all {caught} that it must catch"] if caught else []
    told = told or [_hold(of), *_counted(of)]
    held = [control.held for records in of.values() for record in records for control in record.controls]
    right = f"every control ({len(held)})" if all(held) else f"{sum(held)} of {len(held)} controls"
    return [", ".join(told) + (f", and {right} came out right" if held else ""), *_named(of)]


def _user(of: Sorted) -> list[str]:
    subjects = dict.fromkeys(record.subject for record in of[Verdict.PASS] if record.subject)
    return [_hold(of) + (f" for {_some(subjects)}" if subjects else ""), *_named(of), *_counted(of)]


def _hold(of: Sorted) -> str:
    number = len(of[Verdict.PASS])
    return "1 claim holds" if number == 1 else f"{number} claims hold"


def _named(of: Sorted) -> list[str]:
    return [f"{len(of[verdict])} {word} ({_names(of[verdict])})" for verdict, word in NAMED.items() if of[verdict]]


def _counted(of: Sorted) -> list[str]:
    return [f"{len(of[verdict])} {words[len(of[verdict]) > 1]}" for verdict, words in COUNTED.items() if of[verdict]]


def _names(records: Iterable[ClaimRecord]) -> str:
    return _some(f"{record.id} [{record.subject}]" if record.subject else record.id for record in records)


def _some(names: Iterable[str]) -> str:
    """The first names, and dots where there are more."""
    listed = iter(names)
    return ", ".join([*islice(listed, MOST), *("..." for _ in islice(listed, 1))])
