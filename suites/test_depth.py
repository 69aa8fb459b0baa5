"""The depth audit: can forgotten knowledge be recovered from the activations? (UDS)

Every claim decides on recorded scores; its statement, bound and origin stand in `uds_bench.harness.bounds`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from uds_bench.audits import depth
from uds_bench.harness import Claim, Control, ControlSubject, Handle, Manifest, ScoreReader
from uds_bench.verdicts import Verdict, decide_threshold

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
@pytest.mark.scores("uds", of=("full", "retain"))
def test_retain_is_one(claim: Claim, full: Handle, retain: Handle, scores: ScoreReader) -> None:
    own = scores(retain, "uds")
    claim.identity(
        depth.largest_distance(own, 1.0),
        tolerance=depth.tolerance(own, FAST),
        what="largest distance of a fact's UDS from 1",
        controls=[ControlSubject("full", "fail", depth.largest_distance(scores(full, "uds"), 1.0))],
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
        must_fail=depth.order_steps(ordered[::-1]),
        provenance=ordered[0].provenance,
    )


@pytest.mark.claim("depth.score")
@pytest.mark.scores("uds", of=("pools", "candidates"))
def test_score(claim: Claim, candidate: Handle, manifest: Manifest, scores: ScoreReader) -> None:
    knows = [scores(name, "uds") for name in manifest.pools.positive]
    never_knew = [scores(name, "uds") for name in manifest.pools.negative]
    claim.threshold(
        scores(candidate, "uds"),
        at_least=claim.bound_or(depth.pool_cut(knows, never_knew)),
        controls=[
            ControlSubject.of(score, must, claim.bound_or(depth.pool_cut_without(score, knows, never_knew)))
            for must, pool in (("fail", knows), ("pass", never_knew))
            for score in pool
        ],
    )


@pytest.mark.claim("depth.hidden")
@pytest.mark.scores("uds", of=("candidates", "full", "retain"))
@pytest.mark.scores("entity_accuracy", "entity_accuracy[free]", of=("candidates", "full", "retain"))
def test_hidden(
    claim: Claim, candidate: Handle, full: Handle, retain: Handle, manifest: Manifest, scores: ScoreReader
) -> None:
    share = claim.bound()

    def judged(generated_by: Handle, activations_of: Handle) -> depth.Decision:
        uds = scores(activations_of, "uds")
        verdict = decide_threshold(uds.value, uds.interval, ">=", claim.bound("depth.score"), "authors").verdict
        variants = ("prefixed", "free")
        return depth.hidden(
            verdict,
            [scores(generated_by, "entity_accuracy", v) for v in variants],
            [scores(full, "entity_accuracy", v) for v in variants],
            share,
        )

    # A mouth that never knew over a memory that does must be called hidden; the retain model as a whole must not.
    seam, whole = judged(retain, full).verdict, judged(retain, retain).verdict
    claim.decided(
        judged(candidate, candidate),
        controls=[
            Control("retain's words, full's activations", "fail", seam.value, None, None, seam is Verdict.WARNING),
            Control("retain", "pass", whole.value, None, None, whole is not Verdict.WARNING),
        ],
        provenance=scores(candidate, "uds").provenance,
    )
