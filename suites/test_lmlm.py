"""The LMLM audit: after a row is deleted from an external memory, does the answer survive, and by which channel?

Every claim decides on recorded replies; its statement, bound and origin stand in `uds_bench.harness.bounds`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import pytest

from uds_bench.audits.lmlm import controls, rates
from uds_bench.audits.lmlm.attribution import identity_gap
from uds_bench.audits.lmlm.deletion import EMBEDDING as CLOSER
from uds_bench.audits.lmlm.deletion import Policy
from uds_bench.audits.lmlm.judged import Judged
from uds_bench.audits.lmlm.record import OFF
from uds_bench.facts.topology import OTHER, TOPOLOGIES
from uds_bench.harness import Claim, ControlSubject, Manifest, Run
from uds_bench.harness.lmlm import LmlmAudit
from uds_bench.retrieval.settings import SWEPT
from uds_bench.statistics import Rate, mean, unseen

Worst = tuple[str, Rate]
"""Where and by what the most leaks, in words, and how much."""
PARTS = {"cell": rates.by_cell, "wording": rates.by_wording}
NO_SECTION = "the manifest has no model that looks facts up ([lmlm] model)"


@pytest.fixture(autouse=True)
def _applies(claim: Claim, manifest: Manifest) -> None:
    """A manifest without such models has nothing to be judged here."""
    if manifest.lmlm is None or not manifest.lmlm.checkpoints():
        claim.not_applicable(NO_SECTION)
        pytest.skip(NO_SECTION)


def control(name: str, must: Literal["fail", "pass"], found: Rate) -> ControlSubject:
    return ControlSubject(name, must, found.value, found.interval)


def if_enough(claim: Claim, passing: ControlSubject) -> list[ControlSubject]:
    """A control that must pass, unless so few facts could not clear the bound whatever they show."""
    return [passing] if passing.interval and unseen(passing.interval.units) <= claim.bound() else []


@pytest.mark.claim("lmlm.full_baseline")
def test_full_baseline(claim: Claim, asker: str, lmlm: LmlmAudit) -> None:
    name, lowest = rates.least_answered(lmlm.seen(asker).judged)
    dead = rates.uninformative(lmlm.seen(asker).judged, claim.bound())
    told = f"; uninformative: {', '.join(dead)}" if dead else ""
    claim.measured(
        lowest.value,
        lowest.interval,
        controls=[
            control("perfect asker", "pass", rates.least_answered(lmlm.perfect)[1]),
            control("stale index", "fail", rates.least_answered(controls.stale(lmlm.perfect))[1]),
        ],
        remark=f"the database answered least is {name}{told}",
        provenance=lmlm.seen(asker).score.provenance,
    )


def leaking(claim: Claim, asker: str, lmlm: LmlmAudit, worst: Callable[[list[Judged]], Worst]) -> None:
    """Controls: askers whose weights are known to hold every object or none, and models known to leak."""
    seen = lmlm.seen(asker)
    judged, provenance = rates.informative(seen.judged), seen.score.provenance
    if not judged:
        claim.measured(None, None, remark="every database is uninformative", provenance=provenance)
        return
    where, found = worst(judged)
    kept = worst(lmlm.perfect)[1]
    passing = if_enough(claim, control("perfect asker that knows nothing", "pass", kept))
    controls_ = [
        *passing,
        control("perfect asker that knows every object", "fail", worst(controls.knowing_all(lmlm.perfect))[1]),
        *(control(name, "fail", worst(lmlm.control(name).judged)[1]) for name in lmlm.section.must_fail),
    ]
    if not passing:
        facts = kept.interval.units
        where += f"; {facts} facts without a leak would show {unseen(facts):.3f} at best"
    if rates.too_silent(judged, found, claim.bound()):
        silent = rates.silent(judged, "self_completed")
        remark = f"left alone with a value it says nothing in {silent:.0%} of prompts"
        claim.measured(None, None, controls=controls_, remark=remark, provenance=provenance)
        return
    claim.measured(found.value, found.interval, controls=controls_, remark=where, provenance=provenance)


@pytest.mark.claim("lmlm.leakage")
def test_leakage(claim: Claim, asker: str, lmlm: LmlmAudit) -> None:
    def worst(judged: list[Judged]) -> Worst:
        state, way, found = rates.worst_leakage(judged)
        return f"highest by {way} with lookups {state.replace('_', ' ')}", found

    leaking(claim, asker, lmlm, worst)


@pytest.mark.claim("lmlm.leakage_{part}")
@pytest.mark.parametrize("part", ["cell", "wording"])
def test_leakage_part(claim: Claim, asker: str, part: str, lmlm: LmlmAudit) -> None:
    def worst(judged: list[Judged]) -> Worst:
        name, told, found = rates.worst_part(PARTS[part](judged))
        return f"highest in {name}, {told}", found

    leaking(claim, asker, lmlm, worst)


@pytest.mark.parametrize("topology", [*TOPOLOGIES, OTHER])
@pytest.mark.claim("lmlm.residual.{topology}")
def test_residual(claim: Claim, asker: str, topology: str, lmlm: LmlmAudit) -> None:
    seen = lmlm.seen(asker)
    judged = [one for one in rates.informative(seen.judged) if one.topology == topology]
    if not any(one.topology == topology for one in seen.judged):
        claim.not_applicable(f"no database of topology {topology} is asked")
        return
    if not judged:
        claim.measured(None, None, remark=f"every {topology} database is uninformative: the model does not answer it")
        return
    closed = [one for one in lmlm.asked_perfectly("radius_closure") if one.topology == topology]
    found, chance = rates.residual(judged), mean(one.chance for one in judged)
    claim.measured(
        found.value,
        found.interval,
        controls=[
            control("nothing deleted", "fail", rates.residual(controls.nothing_deleted(lmlm.perfect, topology))),
            control("radius closure", "pass", rates.residual(closed)),
        ],
        remark=f"{rates.residual(judged, above_chance=False).value:.1%} less {chance:.1%} by chance",
        provenance=seen.score.provenance,
    )


@pytest.mark.laboratory
@pytest.mark.claim("lmlm.topology_order")
def test_topology_order(claim: Claim, asker: str, lmlm: LmlmAudit) -> None:
    judged = rates.informative(lmlm.seen(asker).judged)
    there = [topology for topology in TOPOLOGIES if any(one.topology == topology for one in judged)]
    if len(there) < 2:
        claim.not_applicable("an order takes two topologies that the model answers")
        return
    steps = rates.order_steps(judged, there)
    claim.ordering(
        steps, must_fail=rates.order_steps(judged, there[::-1]), provenance=lmlm.seen(asker).score.provenance
    )


@pytest.mark.laboratory
@pytest.mark.claim("lmlm.wording_invariance")
def test_wording_invariance(claim: Claim, asker: str, lmlm: LmlmAudit) -> None:
    judged = rates.informative(lmlm.seen(asker).judged)
    if len({one.wording for one in judged}) < 2:
        claim.not_applicable("one wording cannot differ from others")
        return
    _, found = rates.furthest_wording(judged, claim.bound())
    alike, unlike = controls.alike_in_wording(judged), controls.right_in_one_wording(judged)
    claim.equivalence(
        found.value,
        found.interval,
        margin=claim.bound(),
        controls=[
            control("perfect asker", "pass", rates.furthest_wording(alike, claim.bound())[1]),
            control("right in one wording", "fail", rates.furthest_wording(unlike, claim.bound())[1]),
        ],
        provenance=lmlm.seen(asker).score.provenance,
    )


@pytest.mark.claim("lmlm.artifact_identity")
def test_artifact_identity(claim: Claim, asker: str, lmlm: LmlmAudit) -> None:
    incomplete = [one.outcome for one in lmlm.asked_perfectly("exact")]
    claim.identity(
        identity_gap([one.outcome for one in lmlm.seen(asker).judged]),
        tolerance=0.0,
        what="prompts at which A - R is not 1[right] (L - G), or R is not A though nothing leaks",
        controls=controls.if_any_alias(
            lmlm.cells, ControlSubject("incomplete deletion", "fail", identity_gap(incomplete))
        ),
        provenance=lmlm.seen(asker).score.provenance,
    )


@pytest.mark.claim("lmlm.deletion_complete")
def test_deletion_complete(claim: Claim, lmlm: LmlmAudit) -> None:
    found, wrong = (controls.left_over(lmlm.cells, lmlm.deletions(policy)) for policy in (None, "exact"))
    claim.identity(
        found,
        tolerance=0.0,
        what="facts of which a row is left that says the same",
        controls=controls.if_any_alias(lmlm.cells, ControlSubject("equal rows alone", "fail", wrong)),
    )


@pytest.mark.claim("lmlm.deletion_spares")
def test_deletion_spares(claim: Claim, lmlm: LmlmAudit) -> None:
    every = {
        cell.name: {fact.id: frozenset(range(len(cell.asked.database))) for fact in cell.asked.facts}
        for cell in lmlm.cells
    }
    closed = controls.spared(lmlm.cells, lmlm.deletions("alias_closure"))
    found = controls.spared(lmlm.cells, lmlm.deletions())
    claim.measured(
        found.value,
        found.interval,
        controls=[
            control("every row deleted", "fail", controls.spared(lmlm.cells, every)),
            *if_enough(claim, control("closure over aliases", "pass", closed)),
        ],
    )


@pytest.mark.laboratory
@pytest.mark.parametrize("policy", CLOSER)
@pytest.mark.claim("lmlm.closer.{policy}")
def test_closer(claim: Claim, policy: Policy, lmlm: LmlmAudit) -> None:
    wide, closer = (lmlm.asked_perfectly(way) for way in ("alias_closure", policy))
    if not any(one.marks["del_on"].exact for one in wide):
        claim.not_applicable("closure over aliases leaves nothing that could be answered")
        return
    gone = [len(rows) for rows_of in lmlm.deletions(policy).values() for rows in rows_of.values()]
    claim.ordering(
        [rates.closer(closer, wide, policy, "alias_closure")],
        must_fail=[rates.closer(wide, closer, "alias_closure", policy)],
        remark=f"{rates.residual(closer, above_chance=False).value:.1%} is still answered; it deletes "
        f"{mean(gone):.1f} rows a fact, {max(gone)} at most",
    )


@pytest.mark.laboratory
@pytest.mark.parametrize("retriever", SWEPT)
@pytest.mark.claim("lmlm.swept.{retriever}")
def test_swept(claim: Claim, retriever: str, lmlm: LmlmAudit) -> None:
    """A perfect asker's; what is answered all the same, by topology, is said with the decision."""
    judged = lmlm.asked_perfectly(swept=retriever)
    left = {name: [one for one in judged if one.topology == name] for name in [*TOPOLOGIES, OTHER]}
    answered = [f"{name} {rates.residual(rows).value:.1%}" for name, rows in left.items() if rows]
    claim.identity(
        controls.retained(judged),
        tolerance=0.0,
        what="prompts for which a row is found that says the same",
        controls=[ControlSubject("nothing deleted", "fail", controls.retained(judged, "full"))],
        remark=f"answered all the same, above chance: {', '.join(answered)}; with every row in place "
        f"{rates.baseline(judged).value:.1%}",
    )


@pytest.mark.claim("lmlm.off_is_off")
def test_off_is_off(claim: Claim, asker: str, lmlm: LmlmAudit) -> None:
    seen = lmlm.seen(asker)
    claim.identity(
        sum(seen.touched[state] for state in OFF),
        tolerance=0.0,
        what="lookups that reached a database with retrieval off",
        controls=[ControlSubject("retrieval on", "fail", lmlm.perfect_touches())],
        provenance=seen.score.provenance,
    )


@pytest.mark.claim("lmlm.full")
def test_full(claim: Claim, asker: str, lmlm: LmlmAudit) -> None:
    found = rates.baseline(lmlm.seen(asker).judged)
    claim.recorded(found.value, found.interval, provenance=lmlm.seen(asker).score.provenance)


@pytest.mark.claim("lmlm.residual")
def test_residual_recorded(claim: Claim, asker: str, lmlm: LmlmAudit) -> None:
    found = rates.residual(lmlm.seen(asker).judged, above_chance=False)
    claim.recorded(found.value, found.interval, provenance=lmlm.seen(asker).score.provenance)


@pytest.mark.laboratory
@pytest.mark.claim("lmlm.weights_decide")
def test_weights_decide(claim: Claim, asker: str, uds_run: Run, lmlm: LmlmAudit) -> None:
    if not uds_run.speaks_of_zoo:
        claim.not_applicable("random weights are put into embedded models only: in a large one they would take long")
        return
    cells = {one.cell.name for one in lmlm.seen(asker).judged}
    drawn, own = lmlm.with_random_weights(asker), lmlm.seen(asker)
    answered, known = (len(cells) - len(rates.uninformative(one.judged)) for one in (drawn, own))
    if not known:
        claim.not_applicable("the model itself answers no database")
        return
    claim.identity(
        answered,
        tolerance=0.0,
        what=f"databases, of {known} that the model answers, that it answers with random weights",
        controls=[ControlSubject("its own weights", "fail", known)],
        provenance=drawn.score.provenance,
    )
