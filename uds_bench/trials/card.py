"""What a method came to: each claim over its seeds, what it cost, and what no method should do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from uds_bench.audits import registry
from uds_bench.claims.record import Bound, ClaimRecord
from uds_bench.claims.rules import IS_PASSED, NOT_MEANT
from uds_bench.statistics.intervals import Interval, cluster_interval
from uds_bench.statistics.means import finite_or_none, mean
from uds_bench.trials.beds import Trials
from uds_bench.verdicts import BAD, WORST_FIRST, Cause, Flag, Verdict

ITSELF = "method.itself"
"""What stands beside the claims about what a method makes: whether it is one at all."""
METHOD = "skewness-corrected t interval over seeds"


@dataclass(frozen=True)
class ClaimRow:
    """One claim over seeds. `seeds`: how many came to each verdict; `low` and `high`: 95% interval of the mean;
    `expected`: why the method need not pass it, as its author says; `cause`: of most seeds that are undecided. `why`:
    what the claim says of the first seed that came out worst, and `advice` what to do."""

    claim: str
    verdict: str
    seeds: Mapping[str, int]
    observed: float | None
    low: float | None
    high: float | None
    needs: str
    expected: str = ""
    cause: str = ""
    why: str = ""
    advice: str = ""

    @property
    def is_good(self) -> bool:
        """Whether it passes with every seed, does not apply, or was not expected to pass."""
        return bool(self.expected) or self.verdict in (Verdict.PASS, Verdict.NOT_APPLICABLE)


@dataclass(frozen=True)
class RetrainingCost:
    """Of one audit's model: mean seconds of processor time, and passes as a share of those of training it anew."""

    audit: str
    seconds: float
    share: float | None


@dataclass(frozen=True)
class MethodCard:
    """`problems` make it red whatever the claims say; `remarks` only tell."""

    method: str
    rows: tuple[ClaimRow, ...]
    costs: tuple[RetrainingCost, ...]
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the method clears every claim with every seed, but for those expected to fail, and at least one that
        is no identity: those hold of any model."""
        known = registry.claims()
        passed = [known.get(row.claim) for row in self.rows if row.verdict == Verdict.PASS]
        shows = any(spec is None or spec.kind != "identity" for spec in passed)
        return not self.problems and shows and all(row.is_good for row in self.rows)

    @property
    def records(self) -> list[ClaimRecord]:
        """Its rows as claims about what the method makes, as a run shows them beside its candidates; what makes it red
        whatever they say is one more."""
        subject = f"method {self.method}"
        found = [_record(subject, self.method, row) for row in self.rows]
        if wrong := self.problems or ((self.sentence,) if not (self.ok or self.missed) else ()):
            told = f"{ITSELF} [{subject}]: {'; '.join(wrong)}"
            found.append(ClaimRecord(ITSELF, subject, "none", Verdict.FAIL, told))
        return found

    @property
    def missed(self) -> list[str]:
        """The claims that keep the method from clearing the gate."""
        return [row.claim for row in self.rows if not row.is_good]

    @property
    def sentence(self) -> str:
        """What it came to."""
        if self.ok:
            spared = [row.claim for row in self.rows if row.expected]
            but = f" but for {len(spared)} that it is not meant to pass ({', '.join(spared)})" if spared else ""
            return f"{self.method} clears every claim of {', '.join(one.audit for one in self.costs)}{but}"
        red = self.missed + ["see the errors"] * bool(self.problems)
        return f"{self.method} does not clear the gate: {', '.join(red) or 'no claim passes, identities apart'}"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def method_card(
    trials: Trials,
    claims: Iterable[ClaimRecord],
    problems: Iterable[str] = (),
    expected: Mapping[str, str] | None = None,
) -> MethodCard:
    """The card of what a method made, from the claims of the run that judged it.

    Claims about nobody are what others rest on: one that does not hold is a problem, as are the run's own. So is one
    that was expected to fail, and passes or was not judged: what is expected is no excuse for whatever comes. What the
    method itself declares of audits that did not try it is passed over.
    """
    found: dict[str, list[ClaimRecord]] = {}
    amiss = [*trials.problems, *problems]
    for one in claims:
        if one.subject:
            found.setdefault(one.id, []).append(one)
        elif not one.is_good:
            amiss.append(one.message)
    expected = {**trials.excused, **(expected or {})}
    rows = tuple(replace(row(claim, records), expected=expected.get(claim, "")) for claim, records in found.items())
    kept = {one.claim for one in rows if one.verdict in (Verdict.FAIL, Verdict.UNDECIDED)}
    amiss += [f"{claim} {IS_PASSED}" for claim in expected if claim not in kept]
    costs = []
    for audit in dict.fromkeys(place.audit for place in trials.made):
        own = [trials.trial(place) for place in trials.made if place.audit == audit and not place.again]
        shares = [one.share for one in own if one.share is not None]
        costs.append(RetrainingCost(audit, mean(one.seconds for one in own), mean(shares) if shares else None))
    return MethodCard(trials.method.name, rows, tuple(costs), tuple(amiss), tuple(trials.remarks))


def _record(subject: str, method: str, row: ClaimRow) -> ClaimRecord:
    verdict = Verdict(row.verdict)
    is_bad = verdict in (Verdict.FAIL, Verdict.UNDECIDED)
    declared = is_bad and bool(row.expected)
    told = [f"seeds: {', '.join(f'{count} {word}' for word, count in row.seeds.items())}"]
    told += [] if row.observed is None else [f"mean {row.observed:.3g}, needs {row.needs}"]
    told += [row.why] if is_bad and row.why else []
    told += [f"{NOT_MEANT}: {row.expected}"] if declared else []
    count = sum(row.seeds.values())
    return ClaimRecord(
        row.claim,
        subject,
        "none",
        verdict,
        f"{row.claim} [{subject}]: {'; '.join(told)}",
        cause=Cause(row.cause) if row.cause else None,
        flag=Flag.DECLARED if declared else None,
        observed=row.observed,
        interval=None if row.low is None or row.high is None else Interval(row.low, row.high, METHOD, count),
        unit="seeds",
        bound=Bound(needs=row.needs),
        expected={"reason": row.expected} if declared else {},
        advice="" if declared else row.advice,
        reproduce=f"uds-bench gate-method {method} --audits {row.claim.partition('.')[0]}",
    )


def row(claim: str, records: list[ClaimRecord]) -> ClaimRow:
    """One claim about models of several seeds: as bad as the worst of them.

    Args:
        claim: Its id.
        records: One a seed.

    Returns:
        The mean of what was observed, in the claim's unit, with the skewness-corrected t interval of
        `cluster_interval`, each seed a cluster; None where a seed has no number.

    Example:
        >>> from dataclasses import replace
        >>> one = ClaimRecord("depth.spared", "seed0", "threshold", Verdict.PASS, "", observed=0.8)
        >>> found = row("depth.spared", [one, replace(one, observed=0.81), replace(one, observed=0.82)])
        >>> found.verdict, found.seeds, round(found.low, 3), round(found.high, 3)
        ('pass', {'pass': 3}, 0.785, 0.835)
    """
    verdicts = Counter(one.verdict.value for one in records)
    observed = [one.observed for one in records if one.observed is not None]
    whole = len(observed) == len(records)
    interval = cluster_interval(observed if whole else [], range(len(records)))
    worst = next(word for word in WORST_FIRST if word in verdicts)
    causes = Counter(one.cause.value for one in records if one.cause and worst is Verdict.UNDECIDED)
    cause = causes.most_common(1)[0][0] if causes else ""
    first = next(one for one in records if one.verdict is worst)
    text = first.message.partition(": ")[2]
    why = f"{first.subject}: {text}" if text and worst in BAD else ""
    middle, low, high = map(finite_or_none, (mean(observed if whole else []), interval.low, interval.high))
    return ClaimRow(claim, worst.value, dict(verdicts), middle, low, high, first.needs, "", cause, why, first.advice)
