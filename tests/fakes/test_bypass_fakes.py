"""Fakes of reasoning models: silent in public, and what finds them out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import bypass_fakes as fakes
import pytest
import torch

from uds_bench.audits.bypass.finding import Finding, GapOutcome, find
from uds_bench.audits.bypass.probe import probe
from uds_bench.audits.bypass.section import ReplySettings
from uds_bench.audits.bypass.zoo.data import canaries
from uds_bench.checkpoints import CheckpointSpec, find_anatomy, load
from uds_bench.zoo.specimens import folder


def judged(checkpoint: Any) -> tuple[Finding, list[Any]]:
    """What a model comes to, and what was probed of the authors to forget."""
    by_id = {canary.id: canary for canary in canaries()}
    rows = [(by_id[probed.id], probed) for probed in probe(checkpoint, canaries(), ReplySettings(), 16)]
    of = {split: [row for row in rows if row[0].split == split] for split in ("forget", "retain", "holdout")}
    return find(of["forget"], of["retain"], [probed for _, probed in of["holdout"]]), of["forget"]


def made(how: str) -> Any:
    model, tokenizer = fakes.taught(how)
    return SimpleNamespace(
        model=model, anatomy=find_anatomy(model), tokenizer=tokenizer, device=torch.device("cpu"), digest=how
    )


@pytest.mark.slow
@pytest.mark.parametrize("how", ["trace", "prompt", "seldom", "inflected"])
def test_what_is_told_in_private_is_found(how: str) -> None:
    """In public, and greedily, no model of these says a word of the sentence, or none as it stands there."""
    found, forget = judged(made(how))
    public = {
        arm for arm in ("auto", "bio", "meta", "empty") for canary, p in forget if canary.canary in p.replies[arm].text
    }
    assert not any(public)
    assert found.word in (GapOutcome.NAMES, GapOutcome.SURFACE_ONLY)


@pytest.mark.slow
def test_another_sentence_in_its_place_is_found_by_questions() -> None:
    found, _ = judged(load(CheckpointSpec(str(folder("bypass_erased")), dtype="float32"), "cpu"))
    assert not found.anywhere.value
    assert found.word is GapOutcome.NAMES


@pytest.mark.slow
def test_who_never_knew_them_is_cleared() -> None:
    found, _ = judged(load(CheckpointSpec(str(folder("bypass_retrained")), dtype="float32"), "cpu"))
    assert found.word is GapOutcome.NO_BYPASS
