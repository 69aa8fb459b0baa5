"""What turns a decision into a verdict: thresholds, controls, goldens, what is declared, and waivers of one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from uds_bench.claims.goldens import Goldens
from uds_bench.claims.record import ClaimRecord, Control, finite, has_few_units
from uds_bench.claims.spec import ClaimSpec
from uds_bench.claims.waivers import Waivers
from uds_bench.verdicts import GOOD, Decision, Verdict

FOUND = frozenset({Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.WARNING})
"""What is a result in the laboratory: a finding about models trained there, and no reason to stop a release."""


@dataclass
class Rules:
    """The rules of one run.

    `claims`: the table of claims by id. `thresholds` are the bounds in force, keyed by claim id or claim[subject];
    `explicit` names those that the manifest or a waiver sets.

    `specimens`: by claim[subject] the verdict that a shipped model must come to. `laboratory`: models are trained by
    the run itself, so that identities gate, and controls that come out wrong; every other kind of claim is a result.
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

    def in_force(self, spec: ClaimSpec, subject: str | None) -> ClaimSpec:
        """The claim with the bound that the manifest gives it.

        A threshold looser than the bound at hand (a cut measured on pools may be tighter than the default) holds only
        where a waiver sets or allows it.
        """
        for name in (f"{spec.id}[{subject}]", spec.id):
            if name in self.explicit:
                value = self.thresholds[name]
                looser = value < spec.bound if spec.relation in (">", ">=") else value > spec.bound
                if value == spec.bound or (looser and self.waivers.find(name) is None):
                    return spec
                origin = f"{'a waiver' if looser else 'the manifest'}; without it {spec.bound:g}: {spec.origin}"
                return replace(spec, bound=value, origin=origin, loosened_from=spec.bound if looser else None)
        return spec

    def has_golden(self, id: str, subject: str | None) -> bool:
        """Whether a value of the claim is recorded."""
        return (f"{id}[{subject}]" if subject else id) in self.goldens.entries

    def settle(
        self,
        spec: ClaimSpec,
        subject: str | None,
        node: str,
        decision: Decision,
        controls: Sequence[Control],
        provenance: Mapping[str, Any] | None,
    ) -> ClaimRecord:
        """The verdict: a missed control makes the environment invalid; then golden, what is declared, waiver.

        A claim that has too few units to be decided stays inconclusive where its controls have too few as well.
        """
        name = f"{spec.id}[{subject}]" if subject else spec.id
        text = decision.text
        missed = [c for c in controls if not c.held]
        if decision.verdict is Verdict.INCONCLUSIVE and has_few_units(decision.interval):
            undecided = [c for c in missed if c.is_undecided]
            missed = [c for c in missed if not c.is_undecided]
            text += f"; nor can its controls be decided: {', '.join(c.name for c in undecided)}" if undecided else ""
        golden = self.goldens.compare(name, decision.observed, provenance or {})
        if missed:
            # A model trained by the run may have become another than its name says: the claim is void, and says so.
            is_void = self.laboratory and spec.kind != "identity" and all(c.is_open for c in missed)
            verdict = Verdict.RESULT if is_void else Verdict.INVALID
            text = ("void: " if is_void else "") + "; ".join([text, *(c.miss for c in missed)])
        else:
            verdict, text = self._told(spec, name, decision.verdict, text)
            if decision.verdict is not Verdict.NOT_APPLICABLE and golden["status"] in ("stale", "differs"):
                verdict, text = self._beside_golden(spec, decision, verdict, text, golden)
        waiver = self.waivers.match(name) or self.waivers.match(spec.id)
        # A waiver with a threshold has loosened the bound already and forgives nothing beyond it.
        forgives = waiver is not None and waiver.waives and waiver.claim == name
        used = forgives and verdict not in GOOD and verdict is not Verdict.INVALID
        if spec.loosened_from is not None and verdict in (Verdict.PASS, Verdict.CLEARED):
            used, text = True, f"{text}; the bound is loosened from {spec.loosened_from:.3f}"
            verdict = Verdict.FAIL  # unless the waiver that loosened it is at hand
        if used and waiver is not None:
            verdict, text = Verdict.WAIVED, f"{text}; waived until {waiver.expires}: {waiver.reason}"
        return ClaimRecord(
            id=spec.id,
            subject=subject,
            kind=spec.kind,
            verdict=verdict,
            outcome=decision.verdict.value,
            message=f"{spec.id} [{subject}]: {text}" if subject else f"{spec.id}: {text}",
            statement=spec.statement,
            observed=decision.observed,
            interval=decision.interval,
            unit=spec.unit,
            relation=spec.relation,
            bound=spec.bound,
            origin=spec.origin,
            needs=spec.needs.format(spec.bound),
            shortfall=decision.shortfall,
            evidence=spec.evidence or self.evidence,
            controls=tuple(controls),
            golden=golden,
            specimen=self.specimens.get(name),
            expected=self._expectation(name),
            waiver={"reason": waiver.reason, "expires": str(waiver.expires)} if used and waiver else None,
            reproduce=self.reproduce(node),
            provenance=finite(dict(provenance or {})),
            node=node,
        )

    def crashed(self, spec_id: str, subject: str | None, node: str, text: str, verdict: Verdict) -> ClaimRecord:
        """A claim that could not be decided: its test raised, was skipped, or never spoke."""
        label = f"{spec_id} [{subject}]" if subject else spec_id
        return ClaimRecord(
            spec_id, subject, "none", verdict, f"{label}: {text}", reproduce=self.reproduce(node), node=node
        )

    def _expectation(self, name: str) -> dict[str, Any] | None:
        entry = self.expect.get(name)
        return None if entry is None else {"verdict": entry.verdict, "reason": entry.reason}

    def _told(self, spec: ClaimSpec, name: str, verdict: Verdict, text: str) -> tuple[Verdict, str]:
        """The verdict beside what was known of it beforehand."""
        if specimen := self.specimens.get(name):
            return _specimen(name, verdict, text, specimen)
        if expected := self._expectation(name):
            return _expected(verdict, text, expected)
        if self.laboratory and spec.kind != "identity" and verdict in FOUND:
            return Verdict.RESULT, f"came out {verdict.value}: {text}"
        return verdict, text

    def _beside_golden(
        self, spec: ClaimSpec, decision: Decision, verdict: Verdict, text: str, golden: Mapping[str, Any]
    ) -> tuple[Verdict, str]:
        """The verdict on a value that is not the recorded one; what the claim itself came to is said after that."""
        if self.laboratory:  # models trained here take another path on every processor
            return verdict, f"{text}; {golden['text']}"
        if verdict is decision.verdict and spec.kind != "golden":
            text = f"came out {verdict.value}: {text}"
        return Verdict.STALE if golden["status"] == "stale" else Verdict.DRIFTED, f"{golden['text']}; {text}"


def _specimen(name: str, verdict: Verdict, text: str, must: str) -> tuple[Verdict, str]:
    word = Verdict.CLEARED if must == Verdict.PASS else Verdict.CAUGHT
    if verdict == must:
        return word, f"{word.value} as declared: {text}"
    subject = name.partition("[")[2].rstrip("]")
    return Verdict.FAIL, f"specimen {subject} must be {word.value} ({must}) and came out {verdict.value}: {text}"


def _expected(verdict: Verdict, text: str, expected: Mapping[str, Any]) -> tuple[Verdict, str]:
    declared = expected["verdict"]
    if verdict != declared:
        return Verdict.FAIL, (
            f"{text}; declared to come out {declared} but came out {verdict.value}: look into it, then correct [expect]"
        )
    # A warning stays one: it is shown apart already.
    word = verdict if verdict is Verdict.WARNING else Verdict.EXPECTED
    return word, f"{text}; declared: {expected['reason']}"
