"""The depth audit: can forgotten knowledge be recovered from the activations? (UDS)

Every claim decides on recorded scores; its statement, bound and origin stand in `uds_bench.audits.depth.claims`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from uds_bench.audits.depth import basis
from uds_bench.audits.depth import reading as depth
from uds_bench.audits.depth.claims import CLAIMS
from uds_bench.claims import Claim, Control, ControlSubject
from uds_bench.verdicts import Decision, Verdict

if TYPE_CHECKING:
    from uds_bench.audits.depth.audit import DepthAudit

ROUNDING = next(spec.bound for spec in CLAIMS if spec.id == "depth.self_patch")
DEFAULT = next(spec.bound for spec in CLAIMS if spec.id == "depth.hidden")


@pytest.mark.claim("depth.self_patch")
@pytest.mark.scores("uds[block]", "uds[published]", of=("full",))
def test_self_patch(uds_claim: Claim, uds_audit: DepthAudit) -> None:
    own, published = uds_audit.score("full", "uds", "block"), uds_audit.score("full", "uds", "published")
    uds_claim.identity(
        depth.largest_drop(own),
        tolerance=ROUNDING,
        what="largest drop with the model's own states",
        controls=[ControlSubject("post-norm state", "fail", depth.largest_drop(published))],
        provenance=own.provenance,
    )


@pytest.mark.claim("depth.retain_is_one")
@pytest.mark.scores("uds", of=("full", "retain", "pools"))
def test_retain_is_one(uds_claim: Claim, uds_audit: DepthAudit) -> None:
    own = uds_audit.score("retain", "uds")
    others = [uds_audit.score(name, "uds") for name in ("full", *uds_audit.section.pools.negative)]
    uds_claim.identity(
        depth.largest_distance(own, 1.0),
        tolerance=ROUNDING,
        what="largest distance of a fact's UDS from 1",
        controls=[ControlSubject(s.checkpoint, "fail", depth.largest_distance(s, 1.0)) for s in others],
        provenance=own.provenance,
    )


@pytest.mark.claim("depth.last_layer_is_lens")
@pytest.mark.scores("uds[block]", "uds[published]", of=("full", "retain"))
def test_last_layer_is_lens(uds_claim: Claim, uds_audit: DepthAudit) -> None:
    own, published = uds_audit.score("retain", "uds", "block"), uds_audit.score("retain", "uds", "published")
    uds_claim.identity(
        depth.largest_lens_gap(own),
        tolerance=ROUNDING,
        what="largest gap between the last layer patched and its logit lens",
        controls=[ControlSubject("post-norm state", "fail", depth.largest_lens_gap(published))],
        provenance=own.provenance,
    )


@pytest.mark.claim("depth.basis")
@pytest.mark.scores("uds", "uds[turned]", "uds[block]", of=("retain",))
def test_basis(uds_claim: Claim, uds_audit: DepthAudit) -> None:
    own, turned, plain = (uds_audit.score("retain", "uds", v) for v in (None, "turned", "block"))
    uds_claim.identity(
        basis.largest_gap(own, turned),
        tolerance=ROUNDING,
        what="largest difference between the drops of states and of the same states turned",
        controls=[ControlSubject("patched as they are", "fail", basis.largest_gap(plain, turned))],
        readable=lambda decision: basis.unique(decision, own),
        provenance=own.provenance,
    )


@pytest.mark.claim("depth.frozen")
def test_frozen(uds_claim: Claim, uds_goldens: Path) -> None:
    frozen = json.loads((uds_goldens / "depth" / "frozen.json").read_text())
    uds_claim.identity(
        depth.frozen_gap(frozen),
        tolerance=frozen["tolerance"],
        what="largest deviation from a recorded score",
        controls=[ControlSubject("one drop changed", "fail", depth.frozen_gap(frozen, change=1.01))],
    )


@pytest.mark.claim("depth.order")
@pytest.mark.scores("uds", of=("full", "nested", "retain"))
def test_order(uds_claim: Claim, uds_audit: DepthAudit) -> None:
    if not uds_audit.section.nested:
        uds_claim.not_applicable("the manifest has no nested retain models ([references] nested)")
        return
    ordered = [uds_audit.score(name, "uds") for name in ("full", *uds_audit.section.nested, "retain")]
    uds_claim.ordering(
        depth.order_steps(ordered),
        must_fail=depth.order_steps(depth.shuffled(ordered)),
        provenance=ordered[0].provenance,
    )


@pytest.mark.claim("depth.score")
@pytest.mark.scores("uds", of=("full", "retain", "pools", "candidates"))
@pytest.mark.scores("entity_accuracy", of=("full", "retain"))
def test_score(uds_claim: Claim, uds_subject: str, uds_audit: DepthAudit) -> None:
    cut, pools = bounded(uds_audit, uds_subject)
    uds_claim.threshold(
        uds_audit.score(uds_subject, "uds"),
        cut=cut,
        pools=pools,
        preconditions=[
            full_knows(uds_audit),
            *references(uds_claim, uds_audit),
            *yardstick(uds_claim, uds_audit, uds_subject),
        ],
        readable=basis.readable,
        remark=depth.by_construction(
            uds_audit.score(uds_subject, "uds"), [uds_audit.score(name, "uds") for name in ("full", "retain")]
        ),
    )


@pytest.mark.claim("depth.spared")
@pytest.mark.scores("spared", of=("full", "retain", "candidates"))
@pytest.mark.scores("uds", of=("retain",))
def test_spared(uds_claim: Claim, uds_subject: str, uds_audit: DepthAudit) -> None:
    full = basis.said(uds_audit.score("full", "spared"))

    def judged(name: str) -> Decision:
        score = uds_audit.score(name, "spared")
        carried = uds_claim.judge(score, "depth.spared")
        return basis.kept_of_all(carried, score, full.value, uds_claim.bound())

    retain, lost = judged("retain"), basis.never_known(uds_audit.score("retain", "uds"))
    forgotten = uds_claim.judge(lost, "depth.spared")
    uds_claim.decided(
        judged(uds_subject),
        controls=[
            Control.of("the retain model", "pass", retain),
            Control.of("the retain model, on facts that it never knew", "fail", forgotten),
        ],
        provenance=uds_audit.score(uds_subject, "spared").provenance,
    )


@pytest.mark.claim("depth.hidden")
@pytest.mark.scores("uds", of=("full", "retain", "pools", "candidates"))
@pytest.mark.scores("entity_accuracy", "entity_accuracy[free]", of=("full", "knower", "stranger", "candidates"))
@pytest.mark.scores("entity_accuracy", of=("retain",))
def test_hidden(uds_claim: Claim, uds_subject: str, uds_audit: DepthAudit) -> None:
    cut, pools = bounded(uds_audit, uds_subject)

    def judged(words_of: str, activations_of: str) -> Decision:
        variants = ("prefixed", "free")
        return depth.hidden(
            depth.BY_DEFINITION.get(activations_of)
            or basis.readable(
                uds_claim.judge(uds_audit.score(activations_of, "uds"), "depth.score", cut),
                uds_audit.score(activations_of, "uds"),
            ),
            [uds_audit.score(words_of, "entity_accuracy", v) for v in variants],
            [uds_audit.score("full", "entity_accuracy", v) for v in variants],
            uds_claim.bound(),
            DEFAULT,
        )

    def control(words_of: str, activations_of: str, must: str, *held: Verdict) -> Control:
        found = judged(words_of, activations_of)
        name = words_of if words_of == activations_of else f"words of {words_of}, activations of {activations_of}"
        return Control(name, must, found.verdict.value, None, found.interval, found.verdict in held)

    # Words that never knew over activations that know must be called hidden, words that know over activations that
    # never knew a contradiction; a model whose words and activations never knew is neither.
    knower, stranger = uds_audit.section.knower, uds_audit.section.stranger
    uds_claim.decided(
        judged(uds_subject, uds_subject),
        controls=[
            full_knows(uds_audit),
            *uds_claim.pooled(pools, "depth.score", cut),
            control(stranger, knower, "fail", Verdict.FAIL),
            control(knower, stranger, "fail", Verdict.FAIL),
            control(stranger, stranger, "pass", Verdict.PASS, Verdict.NOT_APPLICABLE),
        ],
        provenance=uds_audit.score(uds_subject, "uds").provenance,
    )


def bounded(uds_audit: DepthAudit, uds_subject: str) -> tuple[float | None, list[ControlSubject]]:
    """The cut between the pools of models that know and that never knew, each with weights of its own; these models."""
    knows, never_knew = (
        [uds_audit.score(name, "uds") for name in names]
        for names in (uds_audit.section.pools.positive, uds_audit.section.pools.negative)
    )
    depth.require_independent(
        [*knows, *never_knew], [uds_audit.score(n, "uds") for n in ("full", "retain", uds_subject)]
    )
    pools = [ControlSubject.of(s, "fail") for s in knows] + [ControlSubject.of(s, "pass") for s in never_knew]
    return depth.pool_cut(knows, never_knew), pools


def references(uds_claim: Claim, uds_audit: DepthAudit) -> list[Control]:
    """The full model, which must fail, and the retain model, which must pass, each where no pool stands for it.

    By value: 0 and 1 of few people have intervals that would leave them open.
    """
    pools, bound = uds_audit.section.pools, uds_claim.bound()

    def control(name: str, must: str) -> Control:
        value = uds_audit.score(name, "uds").value
        came = "undecided" if value is None else "pass" if value >= bound else "fail"
        return Control(f"{name}, by its value", must, came, value, None, came == must)

    return [
        *([] if pools.positive else [control("full", "fail")]),
        *([] if pools.negative else [control("retain", "pass")]),
    ]


def yardstick(uds_claim: Claim, uds_audit: DepthAudit, uds_subject: str) -> list[Control]:
    """The retain model is another one than the candidate, and knows no more than the models that never knew."""
    retain, candidate, bound = uds_audit.score("retain", "uds"), uds_audit.score(uds_subject, "uds"), uds_claim.bound()
    alike = bool(depth.by_construction(candidate, [retain])) or depth.act_alike(retain, candidate)
    told, came = f"retain is another model than {uds_subject}", "fail" if alike else "pass"
    found = [Control(told, "pass", came, None, None, not alike)]
    for name in uds_audit.section.pools.negative:
        value = depth.beside(retain, uds_audit.score(name, "uds"))
        came = "pass" if value >= bound else "fail"
        found.append(Control(f"retain, with {name} as its yardstick", "pass", came, value, None, came == "pass"))
    return found


def full_knows(uds_audit: DepthAudit) -> Control:
    """There is something to forget."""
    verdict, step = depth.full_knows(*(uds_audit.score(name, "entity_accuracy") for name in ("full", "retain")))
    held = verdict is Verdict.PASS
    told = "full says more of the facts than retain"
    return Control(told, "pass", verdict.value, step.difference, step.interval, held)
