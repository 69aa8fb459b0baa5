"""The depth audit: can forgotten knowledge be recovered from the activations? (UDS)

Every claim decides on recorded scores; its statement, bound and origin stand in `uds_bench.harness.bounds`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from uds_bench.audits import depth
from uds_bench.harness import Claim, Control, ControlSubject, Handle, Manifest, ScoreReader
from uds_bench.harness.bounds import CLAIMS
from uds_bench.verdicts import Decision, Verdict

FAST = 1e-5


@pytest.mark.claim("depth.self_patch")
@pytest.mark.scores("uds", "uds[published]", of=("full",))
def test_self_patch(claim: Claim, full: Handle, scores: ScoreReader) -> None:
    own, published = scores(full, "uds"), scores(full, "uds", "published")
    claim.identity(
        depth.largest_drop(own),
        tolerance=depth.tolerance(own, FAST),
        what="largest drop with the model's own states",
        controls=[ControlSubject("post-norm state", "fail", depth.largest_drop(published))],
        provenance=own.provenance,
    )


@pytest.mark.claim("depth.retain_is_one")
@pytest.mark.scores("uds", of=("full", "retain", "pools"))
def test_retain_is_one(claim: Claim, retain: Handle, manifest: Manifest, scores: ScoreReader) -> None:
    own = scores(retain, "uds")
    others = [scores(name, "uds") for name in ("full", *manifest.pools.negative)]
    claim.identity(
        depth.largest_distance(own, 1.0),
        tolerance=depth.tolerance(own, FAST),
        what="largest distance of a fact's UDS from 1",
        controls=[ControlSubject(s.checkpoint, "fail", depth.largest_distance(s, 1.0)) for s in others],
        provenance=own.provenance,
    )


@pytest.mark.claim("depth.last_layer_is_lens")
@pytest.mark.scores("uds", "uds[published]", of=("full", "retain"))
def test_last_layer_is_lens(claim: Claim, retain: Handle, scores: ScoreReader) -> None:
    own, published = scores(retain, "uds"), scores(retain, "uds", "published")
    claim.identity(
        depth.largest_lens_gap(own),
        tolerance=depth.tolerance(own, FAST),
        what="largest gap between the last layer patched and its logit lens",
        controls=[ControlSubject("post-norm state", "fail", depth.largest_lens_gap(published))],
        provenance=own.provenance,
    )


@pytest.mark.claim("depth.frozen")
def test_frozen(claim: Claim, goldens: Path) -> None:
    frozen = json.loads((goldens / "depth" / "frozen.json").read_text())
    claim.identity(
        depth.frozen_gap(frozen),
        tolerance=frozen["tolerance"],
        what="largest deviation from a recorded score",
        controls=[ControlSubject("one drop changed", "fail", depth.frozen_gap(frozen, change=1.01))],
    )


@pytest.mark.claim("depth.order")
@pytest.mark.scores("uds", of=("full", "nested", "retain"))
def test_order(claim: Claim, manifest: Manifest, scores: ScoreReader) -> None:
    if not manifest.nested:
        claim.not_applicable("the manifest has no nested retain models ([references] nested)")
        return
    ordered = [scores(name, "uds") for name in ("full", *manifest.nested, "retain")]
    claim.ordering(
        depth.order_steps(ordered),
        must_fail=depth.order_steps(depth.shuffled(ordered)),
        provenance=ordered[0].provenance,
    )


@pytest.mark.claim("depth.score")
@pytest.mark.scores("uds", of=("full", "retain", "pools", "candidates"))
@pytest.mark.scores("entity_accuracy", of=("full", "retain"))
def test_score(claim: Claim, candidate: Handle, manifest: Manifest, scores: ScoreReader) -> None:
    cut, pools = bounded(manifest, scores, candidate)
    claim.threshold(
        scores(candidate, "uds"),
        cut=cut,
        pools=pools,
        preconditions=[full_knows(scores)],
        remark=depth.by_construction(scores(candidate, "uds"), [scores(name, "uds") for name in ("full", "retain")]),
    )


@pytest.mark.claim("depth.hidden")
@pytest.mark.scores("uds", of=("full", "retain", "pools", "candidates"))
@pytest.mark.scores("entity_accuracy", "entity_accuracy[free]", of=("full", "retain", "pools", "candidates"))
def test_hidden(claim: Claim, candidate: Handle, manifest: Manifest, scores: ScoreReader) -> None:
    cut, pools = bounded(manifest, scores, candidate)

    def judged(words_of: str, activations_of: str) -> Decision:
        variants = ("prefixed", "free")
        return depth.hidden(
            depth.BY_DEFINITION.get(activations_of) or claim.judge(scores(activations_of, "uds"), "depth.score", cut),
            [scores(words_of, "entity_accuracy", v) for v in variants],
            [scores("full", "entity_accuracy", v) for v in variants],
            claim.bound(),
            CLAIMS["depth.hidden"].bound,
        )

    def control(words_of: str, activations_of: str, must: str, *held: Verdict) -> Control:
        found = judged(words_of, activations_of)
        name = words_of if words_of == activations_of else f"words of {words_of}, activations of {activations_of}"
        return Control(name, must, found.verdict.value, None, found.interval, found.verdict in held)

    # Words that never knew over activations that know must be called hidden, words that know over activations that
    # never knew a contradiction; a model whose words and activations never knew is neither.
    knower, stranger = next(iter(manifest.pools.positive), "full"), next(iter(manifest.pools.negative), "retain")
    claim.decided(
        judged(candidate.name, candidate.name),
        controls=[
            full_knows(scores),
            *claim.pooled(pools, "depth.score", cut),
            control(stranger, knower, "fail", Verdict.WARNING),
            control(knower, stranger, "fail", Verdict.FAIL),
            control(stranger, stranger, "pass", Verdict.PASS, Verdict.NOT_APPLICABLE),
        ],
        provenance=scores(candidate, "uds").provenance,
    )


def bounded(manifest: Manifest, scores: ScoreReader, candidate: Handle) -> tuple[float | None, list[ControlSubject]]:
    """The cut between the pools of models that know and that never knew, each with weights of its own; these models."""
    knows, never_knew = (
        [scores(name, "uds") for name in names] for names in (manifest.pools.positive, manifest.pools.negative)
    )
    depth.require_independent([*knows, *never_knew], [scores(n, "uds") for n in ("full", "retain", str(candidate))])
    pools = [ControlSubject.of(s, "fail") for s in knows] + [ControlSubject.of(s, "pass") for s in never_knew]
    return depth.pool_cut(knows, never_knew), pools


def full_knows(scores: ScoreReader) -> Control:
    """There is something to forget."""
    verdict, step = depth.full_knows(*(scores(name, "entity_accuracy") for name in ("full", "retain")))
    held = verdict is Verdict.PASS
    told = "full says more of the facts than retain"
    return Control(told, "pass", verdict.value, step.difference, step.interval, held)
