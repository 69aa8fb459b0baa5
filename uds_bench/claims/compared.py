"""What changed between two runs: verdicts, and scores paired over the facts of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uds_bench.errors import ConfigurationError

if TYPE_CHECKING:
    from uds_bench.claims.run_report import RunReport
    from uds_bench.scores import Address, Score

ORDER = ("worse", "better", "other")
"""Kinds of change of a verdict, in the order in which they are shown: what a reader must see comes first."""


def by_address(scores: Iterable[Score], place: Path) -> dict[Address, Score]:
    """Scores by what tells them apart. Raises ConfigurationError, naming their file, for two that disagree."""
    found: dict[Address, Score] = {}
    for score in scores:
        if found.setdefault(score.address, score) != score:
            raise ConfigurationError(f"{place}: holds two different scores of {', '.join(score.address)}: keep one")
    return found


def difference(address: Address, a: Score | None, b: Score | None) -> dict[str, Any]:
    """B - A of one score: of the values, and paired over the facts that both scored, clusters as B names them.

    `paired` is None where no fact matches; its interval is None where fewer than two clusters do.
    """
    from uds_bench.scores import ADDRESS  # which imports numpy

    values = [None if score is None else score.value for score in (a, b)]
    row: dict[str, Any] = dict(zip(ADDRESS, address, strict=True))
    row |= {"a": values[0], "b": values[1], "difference": None, "paired": None, "note": None}
    if a is None or b is None:
        return row | {"note": "only in B" if a is None else "only in A"}
    if values[0] is not None and values[1] is not None:
        row["difference"] = values[1] - values[0]
    if a.provenance.get("facts") != b.provenance.get("facts"):
        row["note"] = "other facts"
    return row | {"paired": paired(a, b)}


def paired(a: Score, b: Score) -> dict[str, Any] | None:
    """Mean difference over matching facts, with the 95% interval over their clusters."""
    from uds_bench.statistics import cluster_interval

    before = {fact.id: fact.value for fact in a.scored if fact.value is not None}
    both = [(f.value - before[f.id], f.cluster) for f in b.scored if f.value is not None and f.id in before]
    if not both:
        return None
    deltas, clusters = [delta for delta, _ in both], [cluster for _, cluster in both]
    interval = cluster_interval(deltas, clusters)
    return {
        "difference": sum(deltas) / len(deltas),
        "ci": [interval.low, interval.high] if interval.units >= 2 else None,
        "method": interval.method,
        "clusters": interval.units,
        "facts": len(deltas),
        "unmatched": len(a.scored) + len(b.scored) - 2 * len(deltas),
    }


def read_verdicts(run: RunReport) -> dict[str, str]:
    """The status of each claim; the worst one if several tests decided it."""
    worst: dict[str, str] = {}
    for record in run.told:
        worst[record.name] = max(record.status, worst.get(record.name, record.status), key=_rank)
    return worst


def changes(a: Mapping[str, str], b: Mapping[str, str]) -> list[dict[str, Any]]:
    """The claims whose verdict differs, in the order of A and then B; `change` is worse, better or other."""
    found = []
    for name in dict.fromkeys([*a, *b]):
        before, after = a.get(name), b.get(name)
        if before != after:
            # A new claim takes nothing away unless it is bad; a claim that is gone is no longer guarded.
            step = _rank(after) - (_rank(before) if before else min(_rank(after), 1))
            change = "worse" if step > 0 else "better" if step < 0 else "other"
            found.append({"claim": name, "a": before, "b": after, "change": change})
    return found


def _rank(status: str | None) -> int:
    """0 pass, or a specimen that came to what it must; 1 good in another way, 2 undecided, 3 fail, 4 gone."""
    from uds_bench.verdicts import KNOWN, Verdict

    if status in (Verdict.PASS, *KNOWN):
        return 0
    if status is None:
        return 4
    return 3 if status == Verdict.FAIL else 2 if status == Verdict.UNDECIDED else 1


def pairs(a: Mapping[Address, Score], b: Mapping[Address, Score]) -> list[tuple[Address, Score | None, Score | None]]:
    """Every address of either side with its score there, None where it has none."""
    return [(address, a.get(address), b.get(address)) for address in dict.fromkeys([*a, *b])]


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


def changes_since(
    before: RunReport, now: RunReport, earlier: Mapping[Address, Score], scores: Mapping[Address, Score]
) -> Changes:
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
