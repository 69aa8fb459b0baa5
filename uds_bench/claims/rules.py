"""The rules that turn a decision into a verdict: thresholds, controls, goldens, declarations and waivers of one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from uds_bench.claims.goldens import Goldens
from uds_bench.claims.record import Bound, ClaimRecord, Control, label
from uds_bench.claims.spec import ClaimSpec
from uds_bench.claims.waivers import Waivers, looser
from uds_bench.errors import MESSAGE_LENGTH, counted, one_line
from uds_bench.verdicts import ADVICE, BAD, Cause, Decision, Flag, Verdict

Settled = tuple[Verdict, Cause | None, Flag | None, str]
"""A verdict, why it is undecided, what was known of it beforehand, and the text."""
LEAST_TEXT = 120
"""The least number of characters of the finding that stand before the controls that missed."""
NOT_MEANT = "not meant to pass"
IS_PASSED = "is expected not to pass, and passes or was not judged: take it out"
"""The complaint about a claim that a method need not pass, and that passed or was not judged. An expectation does not
excuse everything."""


@dataclass
class Rules:
    """The rules of one run.

    `claims`: the table of claims by id. `thresholds` are the bounds in force, keyed by claim id or claim[subject];
    `explicit` names those that the manifest or a waiver sets.

    `specimens`: by claim[subject] the verdict that a shipped model must come to. `laboratory`: whether claims only
    report, as about models that the run trains itself. Then identities gate, and so do controls that come out wrong;
    every other claim is a result. `excused`: by claim, why a method's models need not pass it.
    """

    claims: Mapping[str, ClaimSpec]
    thresholds: Mapping[str, float]
    explicit: frozenset[str]
    expect: Mapping[str, Any]
    waivers: Waivers
    goldens: Goldens
    evidence: str
    reproduce: Callable[[str], str]
    specimens: Mapping[str, str] = field(default_factory=dict)
    laboratory: bool = False
    excused: Mapping[str, str] = field(default_factory=dict)

    def in_force(self, spec: ClaimSpec, subject: str | None) -> ClaimSpec:
        """The claim with the bound that the manifest gives it.

        A threshold looser than the bound at hand (a cut measured on pools may be tighter than the default) holds only
        where a waiver sets or allows it.
        """
        for name in (f"{spec.id}[{subject}]", spec.id):
            if name in self.explicit:
                value = self.thresholds[name]
                is_looser = looser(value, spec.bound, spec.relation)
                if value == spec.bound or (is_looser and self.waivers.find(name) is None):
                    return spec
                origin = f"{'a waiver' if is_looser else 'the manifest'}; without it {spec.bound:g}: {spec.origin}"
                return replace(spec, bound=value, origin=origin, loosened_from=spec.bound if is_looser else None)
        return spec

    def has_golden(self, id: str, subject: str | None) -> bool:
        """Whether a value of the claim is recorded."""
        return label(id, subject) in self.goldens.entries

    def settle(
        self,
        spec: ClaimSpec,
        subject: str | None,
        node: str,
        decision: Decision,
        controls: Sequence[Control],
        provenance: Mapping[str, Any] | None,
    ) -> ClaimRecord:
        """The record of a decision: a missed control makes it undecided; then golden, declaration and waiver apply.

        If a claim has too few units to be decided, a control that has too few as well does not count as missed.
        """
        name = label(spec.id, subject)
        text = decision.text
        missed = [c for c in controls if not c.held]
        if decision.cause is Cause.UNITS:
            few = [c.name for c in missed if c.has_few_units]
            missed = [c for c in missed if not c.has_few_units]
            text += f"; nor can its controls be decided: {', '.join(few)}" if few else ""
        golden = self.goldens.compare(name, decision.observed, provenance or {})
        if missed:
            # A model trained by the run may have become another than its name says: the claim is void, and says so.
            is_void = self.laboratory and spec.kind != "identity" and all(c.is_open for c in missed)
            text = ("void: " if is_void else "") + _with_misses(
                text, missed, MESSAGE_LENGTH - len(name) - len(" []: void: ")
            )
            settled: Settled = (Verdict.UNDECIDED, Cause.CONTROL, Flag.RESULT if is_void else None, text)
        else:
            settled = self._beside_known(spec, name, decision, text)
            if decision.verdict is not Verdict.NOT_APPLICABLE and golden["status"] in ("stale", "differs"):
                settled = self._beside_golden(spec, decision, settled, golden)
        verdict, cause, flag, text = settled
        expected = self._expectation(name)
        if flag is None and verdict in BAD and subject and spec.id in self.excused:
            flag, expected = Flag.DECLARED, {"reason": self.excused[spec.id]}
            text = f"{text}; {NOT_MEANT}: {self.excused[spec.id]}"
        waiver = self.waivers.match(name) or self.waivers.match(spec.id)
        # A waiver with a threshold has loosened the bound already and forgives nothing beyond it.
        forgives = waiver is not None and waiver.waives and waiver.claim == name
        is_bad = flag is None and verdict in BAD
        used = forgives and is_bad and cause is not Cause.CONTROL
        if spec.loosened_from is not None and verdict is Verdict.PASS:
            used, text = True, f"{text}; the bound is loosened from {spec.loosened_from:.3f}"
            verdict, flag = Verdict.FAIL, None  # unless the waiver that loosened it is at hand
        if used and waiver is not None:
            flag, text = Flag.WAIVED, f"{text}; waived until {waiver.expires}: {waiver.reason}"
        return ClaimRecord(
            id=spec.id,
            subject=subject,
            kind=spec.kind,
            verdict=verdict,
            cause=cause,
            flag=flag,
            outcome=decision.verdict,
            message=one_line(f"{spec.id} [{subject}]: {text}" if subject else f"{spec.id}: {text}", MESSAGE_LENGTH),
            statement=spec.statement,
            observed=decision.observed,
            interval=decision.interval,
            unit=spec.unit,
            bound=Bound(spec.read_by, spec.bound, spec.origin, spec.needs.format(spec.bound)),
            shortfall=decision.shortfall,
            evidence=spec.evidence or self.evidence,
            controls=tuple(controls),
            golden=golden,
            specimen=self.specimens.get(name),
            expected=expected,
            advice=_advice(verdict, cause, flag, spec, decision),
            waiver={"reason": waiver.reason, "expires": str(waiver.expires)} if used and waiver else {},
            reproduce=self.reproduce(node),
            provenance=dict(provenance or {}),
            node=node,
        )

    def undecided(self, spec_id: str, subject: str | None, node: str, text: str, cause: Cause | None) -> ClaimRecord:
        """The record of a claim whose test raised, was skipped or never decided; `cause` None: it does not apply."""
        claim = f"{spec_id} [{subject}]" if subject else spec_id
        verdict = Verdict.UNDECIDED if cause else Verdict.NOT_APPLICABLE
        return ClaimRecord(
            spec_id,
            subject,
            "none",
            verdict,
            one_line(f"{claim}: {text}", MESSAGE_LENGTH),
            cause,
            advice=ADVICE[cause] if cause else "",
            reproduce=self.reproduce(node),
            node=node,
        )

    def _expectation(self, name: str) -> dict[str, Any]:
        entry = self.expect.get(name)
        return {} if entry is None else {"verdict": entry.verdict, "reason": entry.reason}

    def _beside_known(self, spec: ClaimSpec, name: str, decision: Decision, text: str) -> Settled:
        """The verdict, compared with what was known of the claim beforehand."""
        verdict = decision.verdict
        if specimen := self.specimens.get(name):
            return _specimen(name, decision, text, specimen)
        if expected := self._expectation(name):
            return _expected(decision, text, expected)
        if self.laboratory and spec.kind != "identity" and verdict in BAD:
            return verdict, decision.cause, Flag.RESULT, f"came out {verdict.value}: {text}"
        return verdict, decision.cause, None, text

    def _beside_golden(self, spec: ClaimSpec, decision: Decision, told: Settled, golden: Mapping[str, Any]) -> Settled:
        """The verdict on a value that is not the recorded one; what the claim itself came to is said after that."""
        verdict, cause, flag, text = told
        if self.laboratory:  # models trained here take another path on every processor
            return verdict, cause, flag, f"{text}; {golden['text']}"
        if flag is None and verdict is decision.verdict and spec.kind != "golden":
            text = f"came out {verdict.value}: {text}"
        cause = Cause.STALE if golden["status"] == "stale" else Cause.DRIFTED
        return Verdict.UNDECIDED, cause, None, f"{golden['text']}; {text}"


def _advice(verdict: Verdict, cause: Cause | None, flag: Flag | None, spec: ClaimSpec, decision: Decision) -> str:
    """What to do where a claim stops a release."""
    if flag is not None:
        return ""
    if decision.advice and cause in (decision.cause, Cause.CONTROL):  # a control may have missed for the same reason
        return decision.advice
    is_missed = verdict is Verdict.FAIL and decision.verdict is not Verdict.PASS  # not a pass that was declared a fail
    return ADVICE[cause] if cause else spec.advice if is_missed else ""


def _specimen(name: str, decision: Decision, text: str, must: str) -> Settled:
    flag, verdict = Flag.CLEARED if must == Verdict.PASS else Flag.CAUGHT, decision.verdict
    if verdict == must:
        return verdict, None, flag, f"{flag.value} as declared: {text}"
    subject = name.partition("[")[2].rstrip("]")
    told = f"specimen {subject} must be {flag.value} ({must}) and came out {verdict.value}: {text}"
    return Verdict.FAIL, None, None, told


def _expected(decision: Decision, text: str, expected: Mapping[str, Any]) -> Settled:
    declared, verdict = expected["verdict"], decision.verdict
    if verdict != declared:
        told = f"declared to come out {declared} but came out {verdict.value}: look into it, then correct [expect]"
        return Verdict.FAIL, None, None, f"{text}; {told}"
    return verdict, decision.cause, Flag.DECLARED, f"{text}; declared: {expected['reason']}"


def _with_misses(text: str, missed: Sequence[Control], room: int) -> str:
    """The finding with the controls that missed, at least the first one; the finding is cut to make room for them."""
    told = [missed[0].miss]
    for at, control in enumerate(missed[1:], 1):
        left = len(missed) - at
        if len("; ".join([*told, control.miss])) + LEAST_TEXT > room:
            told.append(f"and {counted(left, 'more control')}")
            break
        told.append(control.miss)
    return "; ".join([one_line(text, max(LEAST_TEXT, room - len("; ".join(told)) - 2)), *told])
