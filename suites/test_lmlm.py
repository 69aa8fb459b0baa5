"""The LMLM audit: after a row is deleted from an external memory, does the answer survive, and by which channel?

Every claim decides on recorded replies; its statement, bound and origin stand in `uds_bench.audits.lmlm.claims`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import chain
from typing import TYPE_CHECKING

import pytest

from uds_bench.attacks import NONE
from uds_bench.audits.lmlm import controls, deletion_orders, rates
from uds_bench.audits.lmlm.asking.deletion import EMBEDDING as CLOSER
from uds_bench.audits.lmlm.asking.deletion import Policy
from uds_bench.audits.lmlm.attribution import identity_gap
from uds_bench.audits.lmlm.claims import EXCUSED, INFORMATIVE
from uds_bench.audits.lmlm.judged import JudgedPrompt
from uds_bench.audits.lmlm.leakage import MANY, Leakage, Worst, silent, too_silent, worst_part
from uds_bench.claims import Claim, ControlSubject
from uds_bench.facts.topology import OTHER, TOPOLOGIES
from uds_bench.retrieval.settings import SWEPT, Fallback
from uds_bench.statistics import mean, zero_rate_bound

if TYPE_CHECKING:
    from uds_bench.audits.lmlm.audit import LmlmAudit

PARTS: dict[str, Callable[[JudgedPrompt], str]] = {
    "domain": lambda one: one.domain,
    "wording": lambda one: one.wording,
}


def if_enough(uds_claim: Claim, known: ControlSubject) -> list[ControlSubject]:
    """A control that must pass; none where the facts are so few that not one leak would still not clear the bound."""
    return [known] if known.interval and zero_rate_bound(known.interval.units) <= uds_claim.bound() else []


@pytest.mark.claim("lmlm.full_baseline")
def test_full_baseline(uds_claim: Claim, uds_subject: str, uds_audit: LmlmAudit) -> None:
    name, lowest = rates.least_answered(uds_audit.seen(uds_subject).judged)
    dead = rates.uninformative(uds_audit.seen(uds_subject).judged, uds_claim.bound())
    told = f"; uninformative: {', '.join(dead)}" if dead else ""
    stale = rates.least_answered(controls.stale(uds_audit.perfect))[1]
    uds_claim.measured(
        lowest.value,
        lowest.interval,
        controls=[
            ControlSubject.passes("perfect subject", rates.least_answered(uds_audit.perfect)[1]),
            # Over few facts the interval of a rate of 0 holds the bound.
            ControlSubject.fails("stale index", stale, or_open=True),
        ],
        remark=f"the database answered least is {name}{told}",
        provenance=uds_audit.seen(uds_subject).score.provenance,
    )


def leaking(
    uds_claim: Claim,
    uds_subject: str,
    uds_audit: LmlmAudit,
    worst: Callable[[Leakage], Worst],
    also: Mapping[str, Leakage] | None = None,
    is_read: bool = False,
    attack: str = NONE,
) -> None:
    """Controls: subjects whose weights are known to hold every object or none, models known to leak, and others
    of which it is known.

    `is_read`: whether a reader looks for signs, of which lists have too many.

    Every prompt counts: a model that rarely answers with the database may say all of it without."""
    seen = uds_audit.seen(uds_subject, attack)
    judged, provenance = seen.judged, seen.score.provenance
    where, found = worst(seen.leakage)
    kept = worst(uds_audit.told_by_perfect(list))[1]
    passing = if_enough(uds_claim, ControlSubject.passes("perfect subject that knows nothing", kept))
    known = {"perfect subject that knows every object": uds_audit.told_by_perfect(controls.knowing_all), **(also or {})}
    known |= {name: uds_audit.control(name, attack).leakage for name in uds_audit.section.must_fail}
    controls_ = [*passing, *(ControlSubject.fails(name, worst(one)[1]) for name, one in known.items())]
    if not passing:
        facts = kept.interval.units
        where += f"; {facts} facts without a leak would show {zero_rate_bound(facts):.3f} at best"
    remark = ""
    if attack != NONE and (dead := rates.uninformative(judged, INFORMATIVE)):
        # A model that the attack broke tells nothing, whatever its weights held.
        remark = f"the attack leaves it no answer from {', '.join(dead)}: what it says tells nothing of what it knew"
    elif too_silent(judged, found, uds_claim.bound()):
        remark = f"left alone with a value it says nothing in {silent(judged, 'self_completed'):.0%} of prompts"
    elif is_read and seen.leakage.lists_too_much(found, uds_claim.bound()):
        share = f"of {seen.leakage.listing:.0%} of facts a reply names more than {MANY} objects, or all"
        remark = f"{share}: which of them is true may be told by any sign"
    if remark:
        uds_claim.measured(None, None, controls=controls_, remark=remark, provenance=provenance)
        return
    if math.isnan(found.value):
        where = f"prompts that hold the object, and facts without another beside them, are left out: {where}"
    uds_claim.measured(found.value, found.interval, controls=controls_, remark=where, provenance=provenance)


@pytest.mark.claim("lmlm.leakage")
def test_leakage(uds_claim: Claim, uds_subject: str, uds_audit: LmlmAudit) -> None:
    leaking(uds_claim, uds_subject, uds_audit, highest(uds_claim))


@pytest.mark.claim("lmlm.withstands.{uds_attack}")
def test_withstands(uds_claim: Claim, uds_subject: str, uds_attack: str, uds_audit: LmlmAudit) -> None:
    if uds_attack not in uds_audit.section.attacked():
        uds_claim.not_applicable("the manifest names no attacks ([lmlm.attacks])")
        return
    leaking(uds_claim, uds_subject, uds_audit, highest(uds_claim), attack=uds_attack)


def highest(uds_claim: Claim) -> Callable[[Leakage], Worst]:
    def worst(leakage: Leakage) -> Worst:
        how, found = leakage.worst(uds_claim.bound())
        return f"highest {how}", found

    return worst


@pytest.mark.claim("lmlm.leakage_{part}")
@pytest.mark.parametrize("part", PARTS)
def test_leakage_part(uds_claim: Claim, uds_subject: str, part: str, uds_audit: LmlmAudit) -> None:
    def worst(leakage: Leakage) -> Worst:
        name, told, found = worst_part(leakage.parts(PARTS[part]), uds_claim.bound())
        return f"highest in {name}, {told}", found

    leaking(uds_claim, uds_subject, uds_audit, worst)


@pytest.mark.claim("lmlm.leakage_ever")
def test_leakage_ever(uds_claim: Claim, uds_subject: str, uds_audit: LmlmAudit) -> None:
    def worst(leakage: Leakage) -> Worst:
        how, found = leakage.worst_ever(uds_claim.bound())
        return f"highest {how}", found

    once = uds_audit.told_by_perfect(controls.telling_once)
    known = {"perfect subject that tells each object at one prompt": once}
    leaking(uds_claim, uds_subject, uds_audit, worst, known, is_read=True)


def surviving(
    uds_claim: Claim,
    uds_subject: str,
    topology: str,
    uds_audit: LmlmAudit,
    fallback: Fallback,
    passing: tuple[str, Callable[[], list[JudgedPrompt]]],
) -> None:
    """Under one fallback, above chance; what is left raw is said beside it. `passing`: who must pass, of all cells."""
    seen = uds_audit.seen(uds_subject)
    if not any(one.topology == topology for one in seen.judged):
        uds_claim.not_applicable(f"no database of topology {topology} is asked")
        return
    if fallback not in seen.under:
        uds_claim.not_applicable(f"[lmlm] retriever.fallback names {fallback} not")
        return
    judged = [one for one in rates.informative(seen.under[fallback]) if one.topology == topology]
    if not judged:
        uds_claim.measured(
            None, None, remark=f"every {topology} database is uninformative: the model does not answer it"
        )
        return
    asked, (name, known) = uds_audit.by_perfect_subject(fallback=fallback), passing
    raw, found, chance = rates.residual(judged, False), rates.residual(judged), mean(one.chance for one in judged)
    uds_claim.measured(
        found.value,
        found.interval,
        controls=[
            ControlSubject.fails("nothing deleted", rates.residual(controls.nothing_deleted(asked, topology))),
            ControlSubject.passes(name, rates.residual([one for one in known() if one.topology == topology])),
        ],
        remark=f"{raw.value:.1%} raw, may be {uds_claim.bound() + EXCUSED:.0%} at most; {chance:.1%} by chance",
        provenance=seen.score.provenance,
    )


@pytest.mark.parametrize("topology", [*TOPOLOGIES, OTHER])
@pytest.mark.claim("lmlm.residual.{topology}")
def test_residual(uds_claim: Claim, uds_subject: str, topology: str, uds_audit: LmlmAudit) -> None:
    def closed() -> list[JudgedPrompt]:
        return uds_audit.by_perfect_subject("radius_closure", fallback="unknown")

    surviving(uds_claim, uds_subject, topology, uds_audit, "unknown", ("radius closure", closed))


@pytest.mark.parametrize("topology", [*TOPOLOGIES, OTHER])
@pytest.mark.claim("lmlm.residual_anyway.{topology}")
def test_residual_anyway(uds_claim: Claim, uds_subject: str, topology: str, uds_audit: LmlmAudit) -> None:
    """As the paper asks: there the rows that are left may give the object whatever is deleted, so that who must pass
    is made by rule."""

    def other() -> list[JudgedPrompt]:
        asked = uds_audit.by_perfect_subject(fallback="top1_anyway")
        return controls.another_row([one for one in asked if one.topology == topology], "del_on")

    surviving(uds_claim, uds_subject, topology, uds_audit, "top1_anyway", ("another row", other))


@pytest.mark.laboratory
@pytest.mark.claim("lmlm.topology_order")
def test_topology_order(uds_claim: Claim, uds_subject: str, uds_audit: LmlmAudit) -> None:
    judged = rates.informative(uds_audit.seen(uds_subject).judged)
    there = [topology for topology in TOPOLOGIES if any(one.topology == topology for one in judged)]
    if len(there) < 2:
        uds_claim.not_applicable("an order takes two topologies that the model answers")
        return
    steps = deletion_orders.order_steps(judged, there)
    uds_claim.ordering(
        steps,
        must_fail=deletion_orders.order_steps(judged, there[::-1]),
        provenance=uds_audit.seen(uds_subject).score.provenance,
    )


@pytest.mark.laboratory
@pytest.mark.claim("lmlm.wording_invariance")
def test_wording_invariance(uds_claim: Claim, uds_subject: str, uds_audit: LmlmAudit) -> None:
    judged = rates.informative(uds_audit.seen(uds_subject).judged)
    if len({one.wording for one in judged}) < 2:
        uds_claim.not_applicable("one wording cannot differ from others")
        return
    _, found = rates.furthest_wording(judged, uds_claim.bound())
    alike, unlike = controls.alike_in_wording(judged), controls.right_in_one_wording(judged)
    uds_claim.equivalence(
        found.value,
        found.interval,
        margin=uds_claim.bound(),
        controls=[
            ControlSubject.passes("perfect subject", rates.furthest_wording(alike, uds_claim.bound())[1]),
            ControlSubject.fails("right in one wording", rates.furthest_wording(unlike, uds_claim.bound())[1]),
        ],
        provenance=uds_audit.seen(uds_subject).score.provenance,
    )


@pytest.mark.claim("lmlm.artifact_identity")
def test_artifact_identity(uds_claim: Claim, uds_subject: str, uds_audit: LmlmAudit) -> None:
    incomplete, whole = uds_audit.by_perfect_subject("exact"), controls.nothing_deleted(uds_audit.perfect)
    every = chain.from_iterable(uds_audit.seen(uds_subject).under.values())
    uds_claim.identity(
        identity_gap([one.outcome for one in every]),
        tolerance=0.0,
        what="prompts at which A - R is not 1[right] (L - G), or R is not A though nothing leaks",
        controls=[
            ControlSubject("nothing deleted", "fail", identity_gap([one.outcome for one in whole])),
            *controls.if_any_alias(
                uds_audit.cells,
                ControlSubject("incomplete deletion", "fail", identity_gap([one.outcome for one in incomplete])),
            ),
        ],
        provenance=uds_audit.seen(uds_subject).score.provenance,
    )


@pytest.mark.claim("lmlm.deletion_complete")
def test_deletion_complete(uds_claim: Claim, uds_audit: LmlmAudit) -> None:
    found, wrong = (controls.left_over(uds_audit.cells, uds_audit.deletions(policy)) for policy in (None, "exact"))
    none = controls.left_over(uds_audit.cells, {cell.name: dict.fromkeys(cell.facts, ()) for cell in uds_audit.cells})
    uds_claim.identity(
        found,
        tolerance=0.0,
        what="facts of which a row is left that says the same",
        controls=[
            ControlSubject("nothing deleted", "fail", none),
            *controls.if_any_alias(uds_audit.cells, ControlSubject("equal rows alone", "fail", wrong)),
        ],
    )


@pytest.mark.claim("lmlm.deletion_spares")
def test_deletion_spares(uds_claim: Claim, uds_audit: LmlmAudit) -> None:
    every = {cell.name: dict.fromkeys(cell.facts, range(len(cell.source.database))) for cell in uds_audit.cells}
    closed = controls.spared(uds_audit.cells, uds_audit.deletions("alias_closure"))
    found = controls.spared(uds_audit.cells, uds_audit.deletions())
    uds_claim.measured(
        found.value,
        found.interval,
        controls=[
            ControlSubject.fails("every row deleted", controls.spared(uds_audit.cells, every)),
            *if_enough(uds_claim, ControlSubject.passes("closure over aliases", closed)),
        ],
    )


@pytest.mark.laboratory
@pytest.mark.parametrize("policy", CLOSER)
@pytest.mark.claim("lmlm.closer.{policy}")
def test_closer(uds_claim: Claim, policy: Policy, uds_audit: LmlmAudit) -> None:
    wide, closer = (uds_audit.by_perfect_subject(way) for way in ("alias_closure", policy))
    if not any(one.marks["del_on"].exact for one in wide):
        uds_claim.not_applicable("closure over aliases leaves nothing that could be answered")
        return
    gone = [len(rows) for rows_of in uds_audit.deletions(policy).values() for rows in rows_of.values()]
    uds_claim.ordering(
        [deletion_orders.closer(closer, wide, policy, "alias_closure")],
        must_fail=[deletion_orders.closer(wide, closer, "alias_closure", policy)],
        remark=f"{rates.residual(closer, above_chance=False).value:.1%} is still answered; it deletes "
        f"{mean(gone):.1f} rows a fact, {max(gone)} at most",
    )


@pytest.mark.laboratory
@pytest.mark.parametrize("retriever", SWEPT)
@pytest.mark.claim("lmlm.swept.{retriever}")
def test_swept(uds_claim: Claim, retriever: str, uds_audit: LmlmAudit) -> None:
    """A perfect subject's; what is answered all the same, by topology, is said with the decision.

    Decoys, of the topology noise, are called after the deleted subject, and may say the same.
    """
    judged = uds_audit.by_perfect_subject(swept=retriever)
    left = {name: [one for one in judged if one.topology == name] for name in [*TOPOLOGIES, OTHER]}
    answered = [f"{name} {rates.residual(rows).value:.1%}" for name, rows in left.items() if rows]
    without = [one for one in judged if one.topology != "noise"]
    found = rates.residual(without)
    uds_claim.measured(
        found.value,
        found.interval,
        controls=[ControlSubject.fails("nothing deleted", rates.baseline(without))],
        remark=f"answered all the same, above chance: {', '.join(answered)}; with every row in place "
        f"{rates.baseline(judged).value:.1%}",
    )


@pytest.mark.claim("lmlm.full")
def test_full(uds_claim: Claim, uds_subject: str, uds_audit: LmlmAudit) -> None:
    found = rates.baseline(uds_audit.seen(uds_subject).judged)
    uds_claim.recorded(found.value, found.interval, provenance=uds_audit.seen(uds_subject).score.provenance)


def left_recorded(uds_claim: Claim, uds_subject: str, uds_audit: LmlmAudit, fallback: Fallback) -> None:
    seen = uds_audit.seen(uds_subject)
    if fallback not in seen.under:
        uds_claim.not_applicable(f"[lmlm] retriever.fallback names {fallback} not")
        return
    found = rates.residual(seen.under[fallback], above_chance=False)
    uds_claim.recorded(found.value, found.interval, provenance=seen.score.provenance)


@pytest.mark.claim("lmlm.residual")
def test_residual_recorded(uds_claim: Claim, uds_subject: str, uds_audit: LmlmAudit) -> None:
    left_recorded(uds_claim, uds_subject, uds_audit, "unknown")


@pytest.mark.claim("lmlm.residual_anyway")
def test_residual_anyway_recorded(uds_claim: Claim, uds_subject: str, uds_audit: LmlmAudit) -> None:
    left_recorded(uds_claim, uds_subject, uds_audit, "top1_anyway")


@pytest.mark.laboratory
@pytest.mark.claim("lmlm.weights_decide")
def test_weights_decide(uds_claim: Claim, uds_subject: str, uds_audit: LmlmAudit) -> None:
    if not uds_audit.section.is_embedded:
        uds_claim.not_applicable(
            "random weights are put into embedded models only: in a large one they would take long"
        )
        return
    cells = {one.cell.name for one in uds_audit.seen(uds_subject).judged}
    drawn, own = uds_audit.with_random_weights(uds_subject), uds_audit.seen(uds_subject)
    answered, known = (len(cells) - len(rates.uninformative(one.judged)) for one in (drawn, own))
    if not known:
        uds_claim.not_applicable("the model itself answers no database")
        return
    uds_claim.identity(
        answered,
        tolerance=0.0,
        what=f"databases, of {known} that the model answers, that it answers with random weights",
        controls=[ControlSubject("its own weights", "fail", known)],
        provenance=drawn.score.provenance,
    )
