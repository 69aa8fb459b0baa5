"""What a run shows of one candidate: its claims, those that they rest on, and what was not tested."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from uds_bench.audits import registry
from uds_bench.claims.record import ClaimRecord
from uds_bench.claims.run_report import CLUSTERS, SETTINGS, WEAK, RunReport
from uds_bench.claims.suite_claims import gate_claims
from uds_bench.errors import ConfigurationError
from uds_bench.verdicts import KNOWN, Verdict

Result = Literal["PASSED", "WARNED", "FAILED"]


@dataclass(frozen=True)
class Card:
    """`claims`: about the candidate; `basis`: claims of the same audits about no candidate: identities, references,
    controls.

    `untested`: what the run says nothing about, in words. `problems`: what else makes the run red.
    """

    candidate: str
    claims: tuple[ClaimRecord, ...]
    basis: tuple[ClaimRecord, ...]
    untested: tuple[str, ...]
    problems: tuple[str, ...]

    def named(self, result: Result) -> list[str]:
        """The claims that came to a result; those that do not apply came to none."""
        return [one.name for one in (*self.claims, *self.basis) if result_of(one) == result]

    @property
    def measured(self) -> list[ClaimRecord]:
        """The claims about the candidate that came to a number."""
        return [one for one in self.claims if one.observed is not None and result_of(one) is not None]

    @property
    def result(self) -> Result:
        """PASSED if everything passed; FAILED also if no claim about the candidate itself did, as all are excused; of
        identities apart, which hold of any model."""
        shown = any(result_of(one) == "PASSED" and one.kind != "identity" for one in self.claims)
        if self.problems or self.named("FAILED") or not shown:
            return "FAILED"
        return "WARNED" if self.named("WARNED") else "PASSED"


def result_of(record: ClaimRecord) -> Result | None:
    """A claim's result as others count it: undecided is failed, waived and declared are warned.

    Example:
        >>> result_of(ClaimRecord("depth.score", "npo", "threshold", Verdict.UNDECIDED, ""))
        'FAILED'
    """
    if record.verdict is Verdict.NOT_APPLICABLE:
        return None
    if record.flag is not None and record.flag not in KNOWN:
        return "WARNED"
    return "PASSED" if record.verdict is Verdict.PASS else "FAILED"


def in_words(record: ClaimRecord) -> str:
    """What a claim came to and had to, for formats that have no field of their own for it.

    Example:
        >>> from uds_bench.claims.record import Bound
        >>> in_words(ClaimRecord("depth.score", "npo", "threshold", Verdict.FAIL, "", bound=Bound(">=", 0.7)))
        'fail, needs >= 0.7'
    """
    return record.spelled(str) + (f", needs {record.needs}" if record.needs else "")


def cards(run: RunReport) -> list[Card]:
    """A card for each candidate, in the order of the run.

    Raises:
        ConfigurationError: No claim of the run speaks of a candidate, or some were left out of it: who may choose what
            is decided may choose what passes. Or the run does not say when it was.
    """
    try:
        datetime.fromisoformat(run.started)
    except ValueError:
        raise ConfigurationError(f"started: {run.started!r} is no time: run `pytest suites/` again") from None
    if not run.summary.whole:
        raise ConfigurationError("claims were left out of this run, by name or by -k or -m: run whole files again")
    subjects = list(dict.fromkeys(one.subject for one in run.claims if one.subject))
    if not subjects:
        raise ConfigurationError("no claim of this run speaks of a candidate: run `pytest suites/` on a manifest")
    return [card_of(run, name) for name in subjects]


def card_of(run: RunReport, name: str) -> Card:
    """What a run shows of one candidate, whether or not it may have a card of its own."""
    claims = tuple(one for one in run.claims if one.subject == name)
    audits = {one.audit for one in claims}
    basis = tuple(one for one in run.claims if not one.subject and one.audit in audits)
    return Card(name, claims, basis, tuple(_untested(run, name, claims, basis)), tuple(run.summary.problems))


def _untested(run: RunReport, name: str, claims: Iterable[ClaimRecord], basis: Iterable[ClaimRecord]) -> list[str]:
    from uds_bench.attacks.registry import ATTACKS  # which imports torch

    told = {registry.owners().get(one.audit) for one in claims}
    models = [name for name, audit in registry.audits().items() if audit.section() is not None and not audit.uses]
    missing = [f"the {name} audit" for name in models if name not in told]
    idle = [f"{one.name}: does not apply" for one in (*claims, *basis) if one.verdict is Verdict.NOT_APPLICABLE]
    own, ids = {one.audit for one in claims}, [one.id for one in claims]
    of_it = [one for one in gate_claims() if one.of_subject and one.claim.partition(".")[0] in own]
    undecided = [f"{one.name}: not decided" for one in of_it if not any(map(one.decides, ids))]
    survived = {score.attack for score in run.scores if score.checkpoint == name}
    spared = ", ".join(one for one in ATTACKS if one not in survived)
    attacks = [f"its metrics under attacks ({spared})"] if spared else []
    told_of_it = (WEAK, SETTINGS, f"{name}: ")  # such as replies that another engine gave
    notes = [one for one in run.summary.notes if one.startswith(told_of_it)]
    # The text behind the semicolon names people.
    notes += [one.partition("; ")[0] for one in run.summary.notes if one.startswith(CLUSTERS)]
    return [*missing, *undecided, *attacks, *idle, *notes]
