"""What bringing a candidate into the full model's basis costs, in plain passes over the facts to be forgotten.

Shipped models, one thread: `python benchmarks/alignment_cost.py`. References are read before, as for every candidate.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import torch

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.facts import encode, load_facts
from uds_bench.inference.batches import entity_batches
from uds_bench.inference.states import source_states
from uds_bench.scoring.cost import counting_tokens
from uds_bench.scoring.metric_runner import MetricRunner
from uds_bench.scoring.runner import ScoreRequest
from uds_bench.scoring.store import Store
from uds_bench.zoo import specimens

NAMES = ("full", "retain", "simnpo", "npo")


def scored(form: str, beside: tuple[str, ...]) -> tuple[float, float]:
    """Passes and processor-seconds of a new candidate: UDS in one form, and metrics beside it."""
    facts = load_facts("authors")
    with tempfile.TemporaryDirectory() as folder:
        specs = {name: CheckpointSpec(str(specimens.folder(name))) for name in NAMES}
        runner = MetricRunner(specs, facts, Store(Path(folder)))

        def score(name: str) -> None:
            plan = [ScoreRequest(name, "uds", form), *(ScoreRequest(name, metric) for metric in beside)]
            for request in plan:
                runner.score(request, plan)

        for name in ("retain", "simnpo"):
            score(name)
        full = runner.loaded("full")
        read = [encode(fact, full.tokenizer) for fact in facts.split("forget")]
        with counting_tokens({type(block) for block in full.anatomy.blocks}, len(full.anatomy.blocks)) as count:
            started = time.process_time()
            score("npo")
            took = time.process_time() - started
        with torch.inference_mode():
            started = time.process_time()
            for batch in entity_batches(read, 16):
                source_states(full, batch)
            one = time.process_time() - started
    return count.tokens / sum(len(each.ids) for each in read), took / one


if __name__ == "__main__":
    torch.set_num_threads(1)
    for beside in ((), ("spared",)):
        for form in ("block", "aligned"):
            tokens, seconds = scored(form, beside)
            print(f"uds[{form}]{''.join(f' + {one}' for one in beside)}: {tokens:.2f} passes, {seconds:.1f} in time")
