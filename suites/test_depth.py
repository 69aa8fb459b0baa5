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
from uds_bench.scores import Score
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
    knows, never_knew = pools(manifest, scores, candidate)
    verdict, step = depth.full_knows(*(scores(name, "entity_accuracy") for name in ("full", "retain")))
    told = Control(
        "full says more of the facts than retain",
        "pass",
        verdict.value,
        step.difference,
        step.interval,
        verdict is Verdict.PASS,
    )
    claim.threshold(
        scores(candidate, "uds"),
        cut=depth.pool_cut(knows, never_knew),
        pools=[
            ControlSubject.of(score, must, depth.pool_cut_without(score, knows, never_knew))
            for must, pool in (("fail", knows), ("pass", never_knew))
            for score in pool
        ],
        preconditions=[told],
        remark=depth.by_construction(scores(candidate, "uds"), [scores(name, "uds") for name in ("full", "retain")]),
    )


@pytest.mark.claim("depth.hidden")
@pytest.mark.scores("uds", of=("full", "retain", "pools", "candidates"))
@pytest.mark.scores("entity_accuracy", "entity_accuracy[free]", of=("full", "retain", "pools", "candidates"))
def test_hidden(claim: Claim, candidate: Handle, manifest: Manifest, scores: ScoreReader) -> None:
    cut = depth.pool_cut(*pools(manifest, scores, candidate))

    def judged(words_of: str, activations_of: str) -> Decision:
        variants = ("prefixed", "free")
        return depth.hidden(
            claim.judge(scores(activations_of, "uds"), "depth.score", cut),
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
            control(stranger, knower, "fail", Verdict.WARNING),
            control(knower, stranger, "fail", Verdict.FAIL),
            control(stranger, stranger, "pass", Verdict.PASS, Verdict.NOT_APPLICABLE),
        ],
        provenance=scores(candidate, "uds").provenance,
    )


def pools(manifest: Manifest, scores: ScoreReader, candidate: Handle) -> tuple[list[Score], list[Score]]:
    """UDS of the models that know and of those that never knew, each with weights of its own."""
    knows, never_knew = (
        [scores(name, "uds") for name in names] for names in (manifest.pools.positive, manifest.pools.negative)
    )
    depth.require_independent([*knows, *never_knew], [scores(n, "uds") for n in ("full", "retain", str(candidate))])
    return knows, never_knew
