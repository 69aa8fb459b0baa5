"""What a run found, added up in one place: read by the terminal, the JSON report and the page."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from uds_bench.claims.record import ClaimRecord, count, is_good

if TYPE_CHECKING:
    from uds_bench.scores import Score

NEVER_RUN = "was never run"


@dataclass
class RunResult:
    """Keyed by the test's node id: `planned` claims as (claim, subject), and the `records` of those that ran.

    `problems` make the run red whatever the claims say. `of_method`: claims over the seeds of a method that is tried
    beside a manifest, about no candidate. `remarks` only tell. `loads`: how often each checkpoint was loaded, over all
    processes. `deselected`: claims that were collected and then left out on request. `left_out`: claims that the
    manifest asks for and the run leaves out, whatever the cause. `is_whole`: whether nothing was deselected or left
    out, and no single tests are named. `unasked`: audits to which the manifest says nothing. `of_gate`: how many claims
    of the default run were judged, and how many it has. `written`: the files that the run left behind, by kind.
    """

    started: float = field(default_factory=time.time)
    planned: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    records: dict[str, ClaimRecord] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    of_method: list[ClaimRecord] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    loads: Counter[str] = field(default_factory=Counter)
    scores: list[Score] = field(default_factory=list)
    wordings: dict[str, dict[str, str]] = field(default_factory=dict)
    deselected: int = 0
    left_out: list[str] = field(default_factory=list)
    is_whole: bool = False
    unasked: list[str] = field(default_factory=list)
    of_gate: tuple[int, int] | None = None
    written: dict[str, Path] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """Claims per status; they must add up to the claims planned."""
        return count(self.records.values())

    @property
    def told(self) -> list[ClaimRecord]:
        """The claims that a reader is shown: of candidates, of what those rest on, and of a method."""
        return [*self.records.values(), *self.of_method]

    @property
    def is_green(self) -> bool:
        """Whether every planned claim is there and good, without a problem."""
        adds_up = sum(self.counts.values()) == len(self.planned)
        held = all(record.is_good for record in self.of_method)
        return adds_up and held and not self.problems and is_good(self.records.values())

    def check_sum(self) -> None:
        """Add a problem if the claims by status do not add up to the claims planned."""
        if sum(self.counts.values()) != len(self.planned):
            self.problems.append(f"{len(self.planned)} claims were planned and {len(self.records)} accounted for")
