"""What asking a lookup model in every state costs together, in batches alone, and one prompt and state at a time.

As `test_patching`: processor seconds of one thread, medians of rounds in which both ways take turns, ratios only.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from families import FAMILIES, save_checkpoint, tiny_tokenizer
from hashing import HashingEncoder
from test_patching import one_thread, take_turns

from uds_bench.audits.lmlm.asking.answers import clean
from uds_bench.audits.lmlm.asking.database_cell import CellPrompt, DatabaseCell, every_prompt
from uds_bench.audits.lmlm.asking.probe import Library, probe
from uds_bench.audits.lmlm.asking.record import STATES, State
from uds_bench.checkpoints import Checkpoint, CheckpointSpec, load
from uds_bench.facts.topology import embedded
from uds_bench.inference.generation import BATCH
from uds_bench.inference.lookups import UNKNOWN, LookupDecoder, Query
from uds_bench.inference.markup import TOKENS
from uds_bench.retrieval.settings import RetrieverSettings
from uds_bench.storage import default_cache
from uds_bench.zoo.cache import ensure

__all__ = ["one_thread"]

SAVING_GOAL = 8.0
"""One prompt at a time costs at least so many times as much."""


class Workload:
    """One model and some facts of an embedded database, each in six wordings; lookups cost next to nothing."""

    def __init__(self, model: Checkpoint, facts: int) -> None:
        self.model, whole = model, embedded("countries", "base")
        asked = replace(whole, prompts=tuple(prompt for prompt in whole.prompts if prompt.fact < facts))
        self.library = Library(
            [DatabaseCell("countries", "base", asked)], RetrieverSettings(fallback="unknown"), HashingEncoder()
        )
        self.units = every_prompt(self.library.cells)

    def together(self) -> list[dict[State, str]]:
        """Our own road."""
        _, replies = probe(LookupDecoder(self.model), self.library)
        return [{state: reply.answer for state, reply in told.items()} for told in replies]

    def batched(self) -> list[dict[State, str]]:
        """Batches alone: every state is a run of its own, and says again what it has in common with the others."""
        said = {state: self._tell(state, self.units) for state in STATES}
        return [{state: said[state][at] for state in STATES} for at in range(len(self.units))]

    def apart(self) -> list[dict[State, str]]:
        """A loop over prompts in every state, each by itself."""
        return [{state: self._tell(state, [unit], 1)[0] for state in STATES} for unit in self.units]

    def _tell(self, state: State, units: list[CellPrompt], batch_size: int = BATCH) -> list[str]:
        def look_up(wanted: Sequence[tuple[int, Query]]) -> list[str]:
            found = self.library.look_up(state, [(units[at], query) for at, query in wanted])
            return [value for value, _ in found]

        responds = {"full": look_up, "del_on": look_up, "unknown": lambda wanted: [UNKNOWN] * len(wanted)}
        decoder = LookupDecoder(self.model, batch_size=batch_size)
        prompts = [self.model.tokenizer.encode(unit.prompt.text) for unit in units]
        replies = decoder.tell(prompts, responds.get(state), forbidden=state == "forbidden")
        return [clean(decoder.text(reply)) for reply in replies]


def agree(work: Workload) -> float:
    """The share of prompts to which all ways say the same in every state: nearly all."""
    answers = zip(work.together(), work.batched(), work.apart(), strict=True)
    same = [one == other == third for one, other, third in answers]
    assert sum(same) >= 0.98 * len(same), "padding changes nothing but between tokens that are a rounding apart"
    return sum(same) / len(same)


def compare(benchmark: Any, model: Checkpoint, facts: int, rounds: int) -> float:
    work = Workload(model, facts)
    same = agree(work)
    seconds = take_turns({"together": work.together, "batched": work.batched, "apart": work.apart}, rounds)
    ratios = {name: seconds["apart"] / seconds[name] for name in ("together", "batched")}
    benchmark.group = f"lookups in five states, {len(work.units)} prompts"
    benchmark.extra_info.update({f"apart_over_{name}": ratio for name, ratio in ratios.items()})
    benchmark.extra_info.update(same=same)
    benchmark.pedantic(work.together, rounds=1)
    return ratios["together"]


@pytest.mark.slow
@pytest.mark.benchmark(timer=time.process_time)
def test_few_lookups(benchmark: Any, tmp_path: Path) -> None:
    """On random weights all ways say the same. What they cost is asked where it is judged."""
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": list(TOKENS)})
    save_checkpoint(tmp_path / "random", FAMILIES["llama"](len(tokenizer), seed=1), tokenizer)
    benchmark.pedantic(agree, (Workload(load(CheckpointSpec(str(tmp_path / "random"))), facts=1),), rounds=1)


@pytest.mark.slow
@pytest.mark.benchmark(timer=time.process_time)
def test_lookup_decoding_goal(benchmark: Any) -> None:
    """The embedded lookup model, trained where it is not yet: it really asks, and is answered."""
    model = load(CheckpointSpec(str(ensure(default_cache(), "lmlm"))))
    assert compare(benchmark, model, facts=60, rounds=1) >= SAVING_GOAL
