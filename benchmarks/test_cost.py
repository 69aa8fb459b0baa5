"""What UDS of one candidate costs beside the attacks that it stands in for, in the same process.

The attacks' side is counted low: NF4 and one epoch of relearning on the same facts, and after each of them one teacher
forced pass and two greedy generations of 200 tokens (an answer and one opened by a jailbreak phrase), whatever the
number of metrics that are then read off them.
"""

from __future__ import annotations

import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from families import save_checkpoint, tiny_tokenizer
from patching_workload import SIZES, Workload
from test_patching import one_thread, take_turns

from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.inference.states import source_states
from uds_bench.inference.streams import full_part, streamed_logprobs
from uds_bench.methods.examples import Batch
from uds_bench.methods.forward import answer_nll
from uds_bench.methods.training import Optimisation, train

__all__ = ["one_thread"]

GENERATED = 200


class Attacks:
    """Both attacks on the workload's candidate, each followed by the passes that output metrics need."""

    def __init__(self, work: Workload, folder: Path) -> None:
        self.work = work
        self.spec = CheckpointSpec(str(save_checkpoint(folder, work.candidate.model, tiny_tokenizer(), shards=1)))

    def outputs(self, model: Any) -> None:
        with torch.inference_mode():
            model(**self.work.inputs)
            for _ in range(2):
                model.generate(
                    **self.work.inputs,
                    do_sample=False,
                    max_new_tokens=GENERATED,
                    min_new_tokens=GENERATED,
                    pad_token_id=0,
                )

    def nf4(self) -> None:
        self.outputs(load(CheckpointSpec(self.spec.model, quantization="nf4")).model)

    def relearn(self) -> None:
        model = copy.deepcopy(self.work.candidate.model)
        ids = self.work.inputs["input_ids"]
        batch = Batch(ids, torch.ones_like(ids), ids.clone())

        def loss(current: Any, examples: Batch) -> torch.Tensor:
            return answer_nll(current, examples)

        train(model, [batch], loss, Optimisation(2e-5), steps=1)
        self.outputs(model)


@pytest.mark.slow
def test_uds_beside_both_attacks(benchmark: Any, tmp_path: Path) -> None:
    work = Workload(SIZES["large"])
    attacks = Attacks(work, tmp_path)
    retain = SimpleNamespace(model=work.candidate.model, anatomy=work.candidate.anatomy)

    def stage_one() -> None:
        streamed_logprobs(work.full, work.batch, full_part(work.full, work.batch), source_states(retain, work.batch))

    work.streams()
    seconds = take_turns({"uds": work.streams, "stage_one": stage_one}, rounds=3)
    seconds |= take_turns({"nf4": attacks.nf4, "relearn": attacks.relearn}, rounds=1)
    both = seconds["nf4"] + seconds["relearn"]
    benchmark.pedantic(work.streams, rounds=1)
    benchmark.extra_info.update(
        uds_over_both_attacks=seconds["uds"] / both,
        uds_with_stage_one_over_both_attacks=(seconds["uds"] + seconds["stage_one"]) / both,
        stage_one_share_of_first_candidate=seconds["stage_one"] / (seconds["uds"] + seconds["stage_one"]),
        stage_one_share_of_twenty_candidates=seconds["stage_one"] / (20 * seconds["uds"] + seconds["stage_one"]),
    )
    assert seconds["uds"] < both, "a stand-in that costs more than what it stands in for is none"
