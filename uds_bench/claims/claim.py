"""The `claim` fixture: takes numbers, decides, checks controls, golden, expectation and waiver, records, and fails."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import pytest

from uds_bench import verdicts
from uds_bench.claims.record import UNTRIED, ClaimRecord, Control
from uds_bench.claims.rules import Rules
from uds_bench.claims.spec import ClaimSpec, Kind
from uds_bench.errors import ConfigurationError
from uds_bench.metrics.erasure import NO_LAYER
from uds_bench.scores import LEAST_SCORED, Score
from uds_bench.statistics import Interval, Rate
from uds_bench.verdicts import Decision, Relation, Verdict


@dataclass(frozen=True)
class ControlSubject:
    """A subject whose verdict is known in advance: it is decided by the same rule as the candidate.

    `or_open`: the control also holds if its interval contains the bound, as for a subject that rightly lies near it.
    """

    name: str
    must: Literal["fail", "pass"]
    value: float | None
    interval: Interval | None = None
    score: Score | None = None
    or_open: bool = False

    @classmethod
    def fails(cls, name: str, found: Rate, or_open: bool = False) -> ControlSubject:
        """A rate that must fail."""
        return cls(name, "fail", found.value, found.interval, or_open=or_open)

    @classmethod
    def passes(cls, name: str, found: Rate, or_open: bool = False) -> ControlSubject:
        """A rate that must pass."""
        return cls(name, "pass", found.value, found.interval, or_open=or_open)

    @classmethod
    def of(cls, score: Score, must: Literal["fail", "pass"]) -> ControlSubject:
        """A scored checkpoint as control."""
        return cls(score.checkpoint, must, score.value, score.interval, score)


class Claim:
    """One claim of one test. Call one of its methods once; it raises when the claim does not hold."""

    def __init__(self, name: str, subject: str | None, node: str, rules: Rules) -> None:
        self.subject = subject
        self._name = name
        self._node = node
        self._rules = rules
        self.record: ClaimRecord | None = None

    def threshold(
        self,
        score: Score,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        cut: float | None = None,
        controls: Sequence[ControlSubject] = (),
        pools: Sequence[ControlSubject] = (),
        preconditions: Sequence[Control] = (),
        readable: Callable[[Decision, Score], Decision] | None = None,
        statement: str = "",
        remark: str = "",
    ) -> Decision:
        """Hold the score's interval against a bound: of the table of claims, or `at_least` / `at_most`.

        `cut`: a bound measured on the manifest's pools; it takes the place of the table's. `pools`: controls by the
        rule of `pooled`. `preconditions`: controls that were decided by a rule of their own. `readable`: takes back a
        decision where the score cannot be read; `remark`: is said with the decision.
        """
        if cut is not None and not pools:
            raise ConfigurationError(f"{self._node}: a cut is measured on pools: give them as well")
        plain = self._spec("threshold", at_least, at_most, statement or f"{score.metric} of {score.checkpoint}")
        return self._threshold(
            plain,
            score.value,
            score.interval,
            score,
            cut,
            controls,
            [*preconditions, *_pooled(self._in_force(plain, cut), pools)],
            score.provenance,
            remark,
            readable,
        )

    def measured(
        self,
        value: float | None,
        interval: Interval | None,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        controls: Sequence[ControlSubject] = (),
        preconditions: Sequence[Control] = (),
        statement: str = "",
        remark: str = "",
        provenance: Any = None,
    ) -> Decision:
        """As `threshold`, for a number made from several scores; None, with a `remark`, if a score is missing."""
        plain = self._spec("threshold", at_least, at_most, statement)
        return self._threshold(plain, value, interval, None, None, controls, preconditions, provenance, remark)

    def recorded(
        self,
        value: float | None,
        interval: Interval | None,
        *,
        controls: Sequence[Control] = (),
        provenance: Any = None,
        reason: str = "",
    ) -> Decision:
        """Decide a number that has no bound by its golden; without a golden nothing is decided.

        `reason`: why there is no number, if there is none; the claim then differs from its golden.
        """
        spec = self._spec("golden")
        text = f"no number: {reason}"
        if value is not None and interval is not None:
            text = (
                f"observed {value:.3f}, 95% CI {interval.low:.3f}..{interval.high:.3f} ({interval.units} {spec.unit})"
            )
        known = self._rules.has_golden(spec.id, self.subject)
        verdict = Verdict.PASS if known else Verdict.NOT_APPLICABLE
        told = text if known else f"{text}; no golden decides on it"
        return self._settle(spec, Decision(verdict, value, interval, told), controls, provenance)

    def _threshold(
        self,
        plain: ClaimSpec,
        value: float | None,
        interval: Interval | None,
        score: Score | None,
        cut: float | None,
        controls: Sequence[ControlSubject],
        preconditions: Sequence[Control],
        provenance: Any,
        remark: str = "",
        readable: Callable[[Decision, Score], Decision] | None = None,
    ) -> Decision:
        if math.isnan(plain.bound):
            raise ConfigurationError(f"claim {plain.id} is not in the table of claims: give at_least or at_most")
        spec = self._in_force(plain, cut)
        bounded = self._in_force(plain, None)
        decided = [_held(c, _judge(bounded, c.value, c.interval, c.score)) for c in controls]
        decision = _judge(spec, value, interval, score)
        if readable is not None and score is not None:
            decision = readable(decision, score)
        decision = _remarked(decision, remark)
        return self._settle(spec, decision, [*preconditions, *decided], provenance)

    def pooled(self, pools: Sequence[ControlSubject], id: str | None = None, cut: float | None = None) -> list[Control]:
        """Models that know, and models that never knew, as controls of this claim or of `id`.

        No model may cross the nearest member of the other pool, or come out wrong at the bound. Most of each side must
        be decided rightly; the rest may stay open, since a pool reaches from the clear to the borderline.
        """
        return _pooled(self._rule(id, cut), pools)

    def identity(
        self,
        observed: float | None,
        *,
        expected: float = 0.0,
        tolerance: float,
        what: str,
        controls: Sequence[ControlSubject] = (),
        readable: Callable[[Decision], Decision] = lambda decision: decision,
        remark: str = "",
        provenance: Any = None,
    ) -> Decision:
        """An exact statement: `abs(observed - expected) <= tolerance`; `readable` as of `threshold`."""
        spec = self._within("identity", tolerance, what)
        decision = _remarked(readable(verdicts.decide_identity(observed, expected, tolerance, what)), remark)
        decided = [_held(c, verdicts.decide_identity(c.value, expected, tolerance, c.name)) for c in controls]
        return self._settle(spec, decision, decided, provenance)

    def ordering(
        self,
        steps: Sequence[verdicts.Step],
        *,
        must_fail: Sequence[verdicts.Step] = (),
        remark: str = "",
        provenance: Any = None,
    ) -> Decision:
        """Every step's paired difference lies above 0; `must_fail`: the steps of an order known to be wrong.

        That control holds if the wrong order does not pass: where the models do not differ it cannot clearly fail.
        """
        spec = self._spec("ordering", statement="an ordering")
        decision = _remarked(verdicts.decide_ordering(steps, spec.unit), remark)
        decided = []
        if must_fail:
            wrong = verdicts.decide_ordering(must_fail, spec.unit)
            # Where the order itself is refuted, the gate has shown that it can fail, and the opposite may well pass.
            held = wrong.verdict is not Verdict.PASS or decision.verdict is Verdict.FAIL
            decided.append(Control("shuffled order", "fail", wrong.verdict.value, wrong.observed, wrong.interval, held))
        return self._settle(spec, decision, decided, provenance)

    def equivalence(
        self,
        observed: float,
        interval: Interval,
        *,
        margin: float,
        controls: Sequence[ControlSubject] = (),
        preconditions: Sequence[Control] = (),
        remark: str = "",
        advice: str = "",
        provenance: Any = None,
    ) -> Decision:
        """The whole interval lies within +-margin of 0; `advice` as of `Decision`."""
        spec = self._within("equivalence", margin, "an equivalence")
        decision = _remarked(verdicts.decide_equivalence(observed, interval, margin, spec.unit), remark)
        decision = replace(decision, advice=advice)
        decided = [_held(c, verdicts.decide_equivalence(c.value, c.interval, margin, spec.unit)) for c in controls]
        return self._settle(spec, decision, [*preconditions, *decided], provenance)

    def decided(self, decision: Decision, *, controls: Sequence[Control] = (), provenance: Any = None) -> Decision:
        """Record a decision that the audit itself made, with its controls; for rules that join several scores."""
        return self._settle(self._spec("threshold", statement=decision.text), decision, controls, provenance)

    def not_applicable(self, reason: str) -> None:
        """Record that the manifest lacks what this claim speaks of: it is shown and counted, never a pass."""
        spec = self._spec("threshold", statement=reason)
        self._settle(spec, Decision(Verdict.NOT_APPLICABLE, None, None, reason), (), None)

    def bound(self, id: str | None = None, cut: float | None = None) -> float:
        """The bound in force for a claim about this subject, after pools, manifest and waivers."""
        return self._rule(id, cut).bound

    def judge(self, found: Score | Rate, id: str, cut: float | None = None) -> Decision:
        """What another claim about this subject comes to on a score or a rate; nothing is recorded."""
        score = found if isinstance(found, Score) else None
        return _judge(self._rule(id, cut), found.value, found.interval, score)

    def _rule(self, id: str | None, cut: float | None) -> ClaimSpec:
        """The rule of a claim about this subject; what a waiver loosens for another claim does not count."""
        spec = self._in_force(self._spec("threshold", id=id), cut)
        if id in (None, self._name) or spec.loosened_from is None:
            return spec
        return replace(spec, bound=spec.loosened_from, loosened_from=None)

    def _spec(
        self,
        kind: Kind,
        at_least: float | None = None,
        at_most: float | None = None,
        statement: str = "",
        id: str | None = None,
    ) -> ClaimSpec:
        if at_least is not None and at_most is not None:
            raise ConfigurationError(f"{self._node}: a claim has one bound: give at_least or at_most, not both")
        name = id or self._name
        given = at_least if at_least is not None else at_most
        spec = self._rules.claims.get(name) or ClaimSpec(
            name, kind, statement, ">=", math.nan, "given by the test", "clusters"
        )
        if given is not None:
            relation: Relation = ">=" if at_least is not None else "<="
            is_tighter = relation == spec.relation and (given - spec.bound) * (1 if relation == ">=" else -1) >= 0
            spec = replace(self._tightened(spec, is_tighter), bound=given, relation=relation)
        return spec

    def _within(self, kind: Kind, bound: float, statement: str) -> ClaimSpec:
        """A claim whose bound is how far off a value may be."""
        spec = self._spec(kind, statement=statement)
        return replace(self._tightened(spec, spec.kind == kind and bound <= spec.bound), bound=bound)

    def _tightened(self, spec: ClaimSpec, is_tighter: bool) -> ClaimSpec:
        """Raises ConfigurationError where a test gives a claim of the table a bound that is no tighter."""
        if spec.id in self._rules.claims and not is_tighter:
            raise ConfigurationError(
                f"{self._node}: claim {spec.id} has the bound {spec.relation} {spec.bound:g}, which a test may only "
                "tighten: give the claim another name, or loosen it by a waiver"
            )
        return spec

    def _in_force(self, spec: ClaimSpec, cut: float | None) -> ClaimSpec:
        if cut is not None:
            spec = replace(spec, bound=cut, origin="the cut between the manifest's pools, by balanced accuracy")
        return self._rules.in_force(spec, self.subject)

    def _settle(self, spec: ClaimSpec, decision: Decision, controls: Sequence[Control], provenance: Any) -> Decision:
        if self.record is not None:
            raise RuntimeError(f"{self._node}: one test decides one claim, and this one is decided already")
        if spec.needs_control and not controls and decision.verdict is Verdict.PASS:
            controls = [Control(spec.must_fail, "fail", UNTRIED, None, None, held=False)]
        self.record = self._rules.settle(spec, self.subject, self._node, decision, list(controls), provenance)
        if not self.record.is_good:
            pytest.fail(self.record.failure_text(), pytrace=False)
        return decision


def _held(control: ControlSubject, decision: Decision) -> Control:
    known = decision.interval is not None and decision.interval.decides
    open_ = control.or_open and known and decision.verdict is Verdict.UNDECIDED
    held = open_ or decision.verdict.value == control.must
    return Control(control.name, control.must, decision.verdict.value, control.value, control.interval, held)


def _pooled(spec: ClaimSpec, pools: Sequence[ControlSubject]) -> list[Control]:
    sign = 1.0 if spec.relation == ">=" else -1.0
    decided = [_held(c, _judge(spec, c.value, c.interval, c.score)) for c in pools]
    right = {must: [c.held for c in decided if c.must == must] for must in ("fail", "pass")}
    most = {must: 2 * sum(held) > len(held) for must, held in right.items()}
    told = []
    for control in decided:
        known = control.observed is not None and control.interval is not None and control.interval.decides
        open_ = known and control.verdict == Verdict.UNDECIDED and most[control.must]
        crosses = _crossed(control, decided, sign)
        told.append(replace(control, held=(control.held or open_) and not crosses, why=crosses))
    return told


def _crossed(control: Control, pools: Sequence[Control], sign: float) -> str:
    """Which member of the other pool lies on the wrong side of a control's value; "" if none does.

    `sign`: 1 where those that must pass lie above those that must fail, else -1.
    """
    side = sign if control.must == "fail" else -sign
    own, others = control.observed, [(c.observed, c.name) for c in pools if c.must != control.must]
    known = [(side * value, value, name) for value, name in others if value is not None]
    if own is None or not known or side * own < min(known)[0]:
        return ""
    _, value, name = min(known)
    return f"its {own:.3f} and the {value:.3f} of {name} cross"


def _remarked(decision: Decision, remark: str) -> Decision:
    return replace(decision, text=f"{decision.text}; {remark}") if remark else decision


def _judge(spec: ClaimSpec, value: float | None, interval: Interval | None, score: Score | None) -> Decision:
    relation: Literal[">=", "<="] = ">=" if spec.relation == ">=" else "<="
    decision = verdicts.decide_threshold(value, interval, relation, spec.bound, spec.unit)
    return decision if score is None else _enough(decision, score)


def _enough(decision: Decision, score: Score) -> Decision:
    """A mean over too few facts decides nothing, and a fact that could not be computed is never left out silently."""
    broken = {reason: n for reason, n in score.reasons.items() if reason != NO_LAYER}
    planned, scored = len(score.per_fact), len(score.scored)
    note = f"; {planned - scored} of {planned} facts without a knowledge-encoding layer" if scored < planned else ""
    if broken:
        listed = ", ".join(f"{n} x {reason}" for reason, n in broken.items())
        text = f"{decision.text}; {sum(broken.values())} of {planned} facts could not be scored ({listed})"
        return replace(decision, verdict=Verdict.UNDECIDED, text=text)
    if planned and scored < LEAST_SCORED * planned:
        least = math.ceil(LEAST_SCORED * planned)
        return replace(
            decision, verdict=Verdict.UNDECIDED, text=f"{decision.text}{note}: too few to decide, {least} would"
        )
    return replace(decision, text=f"{decision.text}{note}")
