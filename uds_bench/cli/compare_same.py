"""`uds-bench compare --same`: whether two reports are one run on two machines."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from uds_bench.claims.compared import by_address, changes, pairs, read_verdicts
from uds_bench.claims.default_run import alike
from uds_bench.claims.record import is_good
from uds_bench.cli.documents import ScoreFile
from uds_bench.console.app import ABSENT
from uds_bench.console.lines import say

if TYPE_CHECKING:
    from uds_bench.claims.record import ClaimRecord
    from uds_bench.claims.run_report import RunReport
    from uds_bench.scores import Score

EQUAL = 1e-5
"""How far a continuous score may differ between the kernels of two processors: 2.8e-8 was measured of UDS."""
TURNED = 0.02
"""Share of the choices of a score that may come out otherwise; none did between SSE4, AVX2 and AVX-512 kernels."""
ONE_RUN = ("profile", "draw")
"""What two reports of one run share, beside the manifest."""


def are_same(first: ScoreFile, second: ScoreFile) -> bool:
    """Whether verdicts, bounds and controls are equal, and every continuous score within `EQUAL`, of the same models on
    the same facts; choices that came out otherwise, of a token or a rank, are counted and told: they turn where two are
    alike within rounding.

    Raises ConfigurationError for a report that is red, decides nothing, or has no score: it is like any other of its
    kind.
    """
    wrong = []
    verdicts: list[dict[str, Any]] = []
    if first.run is not None and second.run is not None:
        for document, run in ((first, first.run), (second, second.run)):
            if not (run.summary.ok and is_good(run.claims)):
                raise document.error("is of a run that was red, or decided nothing: such runs are alike in that alone")
        verdicts = changes(read_verdicts(first.run), read_verdicts(second.run))
        wrong += [f"{one['claim']}: {one['a'] or ABSENT} and {one['b'] or ABSENT}" for one in verdicts]
        wrong += [key for key in ONE_RUN if getattr(first.run, key) != getattr(second.run, key)]
        wrong += ["manifest"] if first.run.manifest.digest != second.run.manifest.digest else []
        wrong += list(_claim_differences(first.run, second.run))
    compared = pairs(*(by_address(one.scores, one.path) for one in (first, second)))
    if not compared:
        raise first.error("holds no score: there is nothing to compare")
    flips, furthest, of_facts = 0, 0.0, 0.0
    for address, a, b in compared:
        name = " ".join(address)
        apart = [math.nan] if a is None or b is None else _distances(a, b)
        if a is None or b is None or any(map(math.isnan, apart)):
            wrong.append(f"{name}: scored in one alone")
            continue
        wrong += [f"{name}: another {key}" for key in ("checkpoint", "facts") if _of(a, key) != _of(b, key)]
        if a.counts_choices and b.counts_choices:
            if turned := sum(one > EQUAL for one in apart):
                flips += turned
                say(f"{name}: {turned} of {len(apart)} came out otherwise")
                wrong += [f"{name}: too many choices"] if turned > max(2, TURNED * len(apart)) else []
        else:
            furthest, of_facts = max(furthest, apart[-1]), max(of_facts, *apart)
            wrong += [f"{name}: {apart[-1]:.2g} apart"] if apart[-1] > EQUAL else []
    for line in wrong:
        say(f"differs: {line}")
    say(
        f"{len(compared)} scores: continuous ones at most {furthest:.2g} apart (allowed {EQUAL:.0e}; of single facts "
        f"{of_facts:.2g}), {flips} choices of a token or rank came out otherwise; {len(verdicts)} verdicts differ"
    )
    return not wrong


def _distances(a: Score, b: Score) -> list[float]:
    """By fact how far two scores are apart, and last the scores themselves; NaN where one of them has no value."""
    before, after = ({fact.id: fact.value for fact in score.per_fact} for score in (a, b))

    def apart(one: float | None, other: float | None) -> float:
        if one is None or other is None:
            return 0.0 if one is other else math.nan
        return abs(one - other)

    found = [apart(before.get(id), after.get(id)) for id in {**before, **after}]
    return [*found, apart(a.value, b.value) if before.keys() == after.keys() else math.nan]


def _claim_differences(first: RunReport, second: RunReport) -> Iterator[str]:
    """Claims that were held against another bound, which pools may have measured, or kept honest by other controls."""
    before, after = ({record.name: _held(record) for record in run.told} for run in (first, second))
    for name in before.keys() & after.keys():
        for what, value in before[name].items():
            if not alike(value, after[name][what], EQUAL):
                yield f"{name}: another {what}"


def _held(record: ClaimRecord) -> dict[str, Any]:
    controls = [(control.name, control.must, control.held) for control in record.controls]
    return {"bound": record.bound.value, "controls": controls}


def _of(score: Score, key: str) -> Any:
    return score.provenance.get(key)
