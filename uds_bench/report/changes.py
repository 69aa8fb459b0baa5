"""What changed since an earlier run, as the page shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from uds_bench.claims.compared import changes, difference, pairs, read_verdicts
from uds_bench.claims.run_report import RunReport
from uds_bench.scores import Address, Score

ORDER = ("worse", "better", "other")
Scores = Mapping[Address, Score]


@dataclass(frozen=True)
class Changes:
    """`verdicts`: those that changed, the worse first; `moved`: scores that are not what they were.

    `other`: whether the earlier run was of another manifest.
    """

    started: str
    manifest: str
    other: bool
    verdicts: tuple[Mapping[str, Any], ...]
    moved: tuple[Mapping[str, Any], ...]


def changes_since(before: RunReport, now: RunReport, earlier: Scores, scores: Scores) -> Changes:
    """What changed between two runs, with the scores of both by address."""
    verdicts = changes(read_verdicts(before), read_verdicts(now))
    rows = (difference(*pair) for pair in pairs(earlier, scores) if pair[1] != pair[2])
    moved = [row for row in rows if row["difference"] != 0 or (row["paired"] or {}).get("difference")]
    return Changes(
        started=before.started,
        manifest=before.manifest.path,
        other=before.manifest.digest != now.manifest.digest,
        verdicts=tuple(sorted(verdicts, key=lambda one: ORDER.index(one["change"]))),
        moved=tuple(moved),
    )
