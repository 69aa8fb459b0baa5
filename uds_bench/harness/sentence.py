"""A run in one sentence, for who reads nothing else."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice

from uds_bench.claims.record import ClaimRecord
from uds_bench.harness.result import RunResult
from uds_bench.verdicts import Flag, Verdict

Status = Verdict | Flag

NAMED = {Flag.WAIVED: "waived", Flag.DECLARED: "missed as declared"}
"""Flags in spite of which a release goes on: the claims are named."""
COUNTED: dict[Status, tuple[str, str]] = {
    Flag.RESULT: ("is a result", "are results"),
    Verdict.NOT_APPLICABLE: ("does not apply", "do not apply"),
}
MOST_NAMES = 3
"""So many names are said."""


def sentence(found: RunResult, is_embedded: bool, exit_code: int, instead: str = "") -> str:
    """About 200 characters at most. `instead`: models that take the place of the shipped ones, in words. `exit_code`:
    of the whole run, with the tests in it that decide no claim."""
    who = f"uds_bench: {instead}: " if instead else "uds_bench: "
    records = list(found.records.values())
    if found.is_green and exit_code == 0:
        left = [f"{found.deselected} left out"] if found.deselected else []
        judged, whole = found.of_gate or (0, 0)
        left += [f"{judged} of the default's {whole} claims judged"] if judged < whole else []
        return f"{who}{'; '.join([*(_embedded(records) if is_embedded else _user(records)), *left])}."
    failed, undecided = (_of(records, verdict) for verdict in (Verdict.FAIL, Verdict.UNDECIDED))
    out_of = f" of {len(found.planned)} claims"
    told = [f"{len(failed)}{out_of} failed ({_names(failed)})"] if failed else []
    if undecided:
        of, named = ("", "") if failed else (out_of, f"{_names(undecided)}; ")
        told.append(f"{len(undecided)}{of} undecided ({named}{_causes(undecided)})")
    if not told:
        told = [textwrap.shorten("; ".join(found.problems), 150) or "other tests than those of claims did not pass"]
    return f"{who}RED: {', '.join(told)}: {'do not rely on it' if is_embedded else 'do not release'}."


def _of(records: Iterable[ClaimRecord], status: Status) -> list[ClaimRecord]:
    return [record for record in records if record.status == status]


def _causes(records: Iterable[ClaimRecord]) -> str:
    """`2 x control, 1 x interval`."""
    return ", ".join(f"{number} x {cause}" for cause, number in Counter(r.cause for r in records).items())


def _embedded(records: Sequence[ClaimRecord]) -> list[str]:
    """What the shipped specimens came to, or, where models are trained by the run, what all claims did."""
    cleared, caught = (len(_of(records, flag)) for flag in (Flag.CLEARED, Flag.CAUGHT))
    told = [f"clears all {cleared} that it must clear"] if cleared else []
    told += [f"catches all {caught} that it must catch"] if caught else []
    told = told or [_hold(records), *_counted(records)]
    held = [control.held for record in records for control in record.controls]
    right = f"every control ({len(held)})" if all(held) else f"{sum(held)} of {len(held)} controls"
    return [", ".join(told) + (f", and {right} came out right" if held else ""), *_named(records)]


def _user(records: Sequence[ClaimRecord]) -> list[str]:
    subjects = dict.fromkeys(record.subject for record in _of(records, Verdict.PASS) if record.subject)
    held = _hold(records) + (f" for {_some(subjects)}" if subjects else "")
    return [held, *_named(records), *_counted(records)]


def _hold(records: Sequence[ClaimRecord]) -> str:
    number = len(_of(records, Verdict.PASS))
    return "1 claim holds" if number == 1 else f"{number} claims hold"


def _named(records: Sequence[ClaimRecord]) -> list[str]:
    return [f"{len(of)} {word} ({_names(of)})" for flag, word in NAMED.items() if (of := _of(records, flag))]


def _counted(records: Sequence[ClaimRecord]) -> list[str]:
    return [f"{len(of)} {words[len(of) > 1]}" for status, words in COUNTED.items() if (of := _of(records, status))]


def _names(records: Iterable[ClaimRecord]) -> str:
    return _some(f"{record.id} [{record.subject}]" if record.subject else record.id for record in records)


def _some(names: Iterable[str]) -> str:
    """The first names, and dots where there are more."""
    listed = iter(names)
    return ", ".join([*islice(listed, MOST_NAMES), *("..." for _ in islice(listed, 1))])
