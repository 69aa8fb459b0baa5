"""The LMLM audit's printed tables: the counts behind their rates, and how they are pooled.

A table here holds `rows`, tables 5 and 6 side by side by database and wording, and `text`: what the text prints of one
family of aggregates, with the range that its notation leaves open. Shares are in percent; more is more that survives.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from replication.uds import Table
from uds_bench.audits.lmlm.attribution import Contingency
from uds_bench.facts.lookup_prompts import WORDINGS
from uds_bench.facts.topology import TOPOLOGIES

VARIANTS = (*TOPOLOGIES, "released")
RATES = ("leaked", "mediated", "artifact")
SCORES = ("precision", "recall", "f1")
LEAST_BASELINE = 0.05
"""A database is dead if its exact match cannot reach this in any wording even before deletion; ours, and far from both
sides: the dead ones stay below 0.011 and every other one exceeds 0.59."""

Span = tuple[float, float]
"""What rounding of the printed inputs leaves open; a point where counts decide."""
Deduced = Literal["nothing leaked", "token scores", "complete deletion"]


@dataclass(frozen=True)
class Group:
    """A wording asked of a database, each fact once: `row` as it is printed, `half` a unit of its last place."""

    name: str
    row: Mapping[str, float]
    half: float

    @property
    def n(self) -> int:
        return int(self.row["n"])

    @property
    def database(self) -> str:
        return self.name.rpartition("/")[0]

    @property
    def wording(self) -> str:
        return self.name.rpartition("/")[2]

    @property
    def variant(self) -> str:
        return self.database.rpartition("/")[2]

    def count(self, rate: str) -> int:
        """Facts behind a printed rate: the only number that rounds to it, as long as 1 / n exceeds the rounding."""
        return round(self.row[rate] * self.n)

    @property
    def counts(self) -> Contingency:
        """Proposition C.2 with the DEL-ON rate that the tables lack taken from A, so a = n(A - R).

        A leaves out right answers with a retained gold candidate, so this holds where deletion was complete; see
        `deduced`.
        """
        leaked, mediated, artifact = (self.count(rate) for rate in RATES)
        a = artifact - mediated
        return Contingency(a, mediated, leaked - a, self.n - leaked - mediated)

    def ceiling(self, state: str) -> float:
        """The most that exact match can be in a state: an exact match scores 1 in every token score."""
        return min(self.row[f"{state}_{score}"] for score in SCORES) + self.half

    @property
    def possible(self) -> tuple[int, int]:
        """The least and the largest a, whatever the deletion left: A counts no more than all who are right with
        retrieval, and these are no more than `ceiling` allows."""
        most = int(self.n * self.ceiling("on") + 1e-9) - self.count("mediated")
        return max(0, self.count("artifact") - self.count("mediated")), min(self.count("leaked"), most)

    @property
    def deduced(self) -> Deduced:
        """What fixes a: no fact leaked, so it is 0; the token scores leave one number; or deletion is taken at its
        word to be complete."""
        if self.count("leaked") == 0:
            return "nothing leaked"
        low, high = self.possible
        return "token scores" if low == high else "complete deletion"


def joined(rates: Table, tokens: Table, text: Mapping[str, Any]) -> Table:
    """Tables 6 and 5 side by side, and what the text says of a family.

    ValueError where their rows are not the same, or a number is not finite.
    """
    if rates["rows"].keys() != tokens["rows"].keys() or rates["decimals"] != tokens["decimals"]:
        raise ValueError("tables 5 and 6 have not the same rows and decimals; copy both whole")
    rows = {name: {**row, **tokens["rows"][name]} for name, row in rates["rows"].items()}
    if broken := [f"{name}/{k}" for name, row in rows.items() for k, v in row.items() if not math.isfinite(v)]:
        raise ValueError(f"tables 5 and 6: not finite: {', '.join(broken)}")
    source = {**rates["source"], "place": "tables 5 and 6, text and captions"}
    return {"source": source, "decimals": rates["decimals"], "rows": rows, "text": text}


def groups(table: Table) -> list[Group]:
    half = 0.5 * 10.0 ** -int(table["decimals"])
    return [Group(name, row, half) for name, row in table["rows"].items()]


def custom(found: Iterable[Group]) -> list[Group]:
    """Without the released database: what the printed aggregates by wording are over."""
    return [group for group in found if group.variant != "released"]


def pooled(found: Iterable[Group]) -> Contingency:
    """Counts summed: every share of it is count-weighted."""
    return sum((group.counts for group in found), Contingency(0, 0, 0, 0))


def by_variant(found: Iterable[Group]) -> dict[str, list[Group]]:
    found = list(found)
    return {variant: [group for group in found if group.variant == variant] for variant in VARIANTS}


def by_wording(found: Iterable[Group]) -> dict[str, list[Group]]:
    found = list(found)
    return {wording: [group for group in found if group.wording == wording] for wording in WORDINGS}


def share(part: int, counts: Contingency) -> Span:
    return (100 * part / counts.n,) * 2


def stack(found: Iterable[Group]) -> Span:
    """L + R, percent."""
    counts = pooled(found)
    return share(counts.a + counts.b + counts.c, counts)


def mean_score(found: Iterable[Group], column: str) -> Span:
    """Count-weighted mean of a token score, percent, give or take what its printed parts were rounded by."""
    found = list(found)
    mean = sum(group.n * group.row[column] for group in found) / sum(group.n for group in found)
    return 100 * max(0.0, mean - found[0].half), 100 * (mean + found[0].half)


def ceiling(found: Iterable[Group], state: str) -> float:
    """The most that exact match can be over groups, percent."""
    found = list(found)
    return min(mean_score(found, f"{state}_{score}")[1] for score in SCORES)


def minus(one: Span, other: Span) -> Span:
    return one[0] - other[1], one[1] - other[0]


def dead(found: Iterable[Group]) -> list[str]:
    """Databases whose intact baseline cannot reach `LEAST_BASELINE` in any wording: nothing survives what never was."""
    best: dict[str, float] = {}
    for group in found:
        best[group.database] = max(best.get(group.database, 0.0), group.ceiling("full"))
    return [database for database, value in best.items() if value < LEAST_BASELINE]
