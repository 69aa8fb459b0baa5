"""Batches hold the facts they were made of, and per-token readings are those of the model itself."""

from typing import Any, get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from references import depth
from references.depth_cases import TOLERANCE, Case, checkpoint, encoded_fact, ragged_facts, span_of
from torch.utils._python_dispatch import TorchDispatchMode

from uds_bench.facts import EncodedFact
from uds_bench.inference import logprobs
from uds_bench.inference.batches import TOKENS, entity_batches, gather_positions, together
from uds_bench.inference.logprobs import POSITIONS_PER_STEP, greedy_tokens, token_logprobs
from uds_bench.inference.patching import entity_logprobs
from uds_bench.inference.states import Scope, source_states

FACTS = ragged_facts()


@st.composite
def facts(draw: st.DrawFn) -> EncodedFact:
    prompt = draw(st.integers(1, 6))
    start = prompt + draw(st.integers(0, 4))
    end = start + draw(st.integers(1, 5))
    return encoded_fact(draw(st.integers(0, 99)), prompt, start, end, end + draw(st.integers(0, 4)))


@settings(deadline=None)
@given(
    encoded=st.lists(facts(), min_size=1, max_size=7),
    size=st.integers(1, 8),
    side=st.sampled_from(["right", "left"]),
)
def test_every_fact_is_in_one_batch_and_can_be_read_back(encoded: list[EncodedFact], size: int, side: str) -> None:
    batches = entity_batches(encoded, size, side=side)
    assert sorted(row for batch in batches for row in batch.rows) == list(range(len(encoded)))
    assert all(len(batch.rows) <= size for batch in batches)
    lengths = [batch.ids.shape[1] for batch in batches]
    assert lengths == sorted(lengths, reverse=True), "the longest comes first"
    for batch in batches:
        for place, row in enumerate(batch.rows):
            fact, seen = encoded[row], batch.mask[place].bool()
            kept = len(fact.ids[: fact.end - 1])  # the last entity token is predicted, never read
            assert batch.ids[place][seen].tolist() == list(fact.ids[:kept])
            assert batch.positions[place][seen].tolist() == list(range(kept))
            real = batch.predicting[place][batch.valid[place]]
            assert batch.positions[place][real].tolist() == list(range(fact.start - 1, fact.end - 1))
            assert batch.targets[place][batch.valid[place]].tolist() == list(fact.ids[fact.start : fact.end])
            assert seen[batch.predicting[place]].all(), "padding of an entity points at a real token"
            assert batch.mask[place, 0 if side == "right" else -1] == 1


@pytest.mark.parametrize("size", [0, -1])
def test_no_batch_of_nothing(size: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        entity_batches(FACTS, size)


def test_mean_over_entity_leaves_padding_out() -> None:
    (batch,) = entity_batches(FACTS, len(FACTS))
    values = torch.where(batch.valid, torch.arange(batch.valid.shape[1]).float(), torch.tensor(torch.nan))
    expected = [(FACTS[row].end - FACTS[row].start - 1) / 2 for row in batch.rows]
    torch.testing.assert_close(batch.mean_over_entity(values), torch.tensor(expected))


def test_some_rows_of_a_batch() -> None:
    (batch,) = entity_batches(FACTS, len(FACTS), side="left")
    full, narrowed = checkpoint("gpt2"), batch.take(slice(1, 3))
    assert narrowed.rows == batch.rows[1:3]
    found, expected = entity_logprobs(full, narrowed), entity_logprobs(full, batch)[1:3]
    torch.testing.assert_close(found[narrowed.valid], expected[narrowed.valid], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("scope", get_args(Scope))
def test_states_are_those_of_the_reference(case: Case, scope: Scope) -> None:
    (batch,) = entity_batches(FACTS, len(FACTS), side="left")
    states = source_states(case.source, batch, scope)
    assert states.shape == (3, len(FACTS), batch.valid.shape[1], 32)
    for place, row in enumerate(batch.rows[:2]):
        ids, start, end = span_of(FACTS[row])
        for layer in range(3):
            expected = depth.source_state(case.source.model, case.source.anatomy, ids, layer, scope)
            found = states[layer, place, batch.valid[place]]
            torch.testing.assert_close(found, expected[depth.predicting(start, end)], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("side", ["right", "left"])
def test_log_probabilities_are_those_of_the_model(case: Case, side: str) -> None:
    (batch,) = entity_batches(FACTS, len(FACTS), side=side)
    found = entity_logprobs(case.full, batch)
    for place, row in enumerate(batch.rows):
        ids, start, end = span_of(FACTS[row])
        expected = depth.entity_logprobs(depth.logits_of(case.full.model, ids), ids, start, end)
        got = found[place, batch.valid[place]].tolist()
        assert got == pytest.approx(expected, abs=TOLERANCE)


def test_the_vocabulary_is_read_out_in_steps_that_do_not_show() -> None:
    positions = 2 * POSITIONS_PER_STEP + 3
    draw = torch.Generator().manual_seed(0)
    hidden = torch.randn(positions, 8, generator=draw).reshape(1, positions, 8)
    weight, targets = torch.randn(8, 11, generator=draw), torch.randint(11, (1, positions), generator=draw)
    seen: list[int] = []

    def readout(states: torch.Tensor) -> torch.Tensor:
        seen.append(len(states))
        return states @ weight

    expected = torch.log_softmax(hidden.double() @ weight.double(), -1).gather(-1, targets[..., None])[..., 0]
    torch.testing.assert_close(token_logprobs(readout, hidden, targets).double(), expected, rtol=0, atol=1e-5)
    assert max(seen) == POSITIONS_PER_STEP
    assert torch.equal(greedy_tokens(readout, hidden), (hidden @ weight).argmax(-1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_log_probabilities_are_the_same_to_the_bit_in_pieces_of_any_size(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    hidden, weight = torch.randn(40, 8, dtype=dtype), torch.randn(8, 500, dtype=dtype)
    found = []
    for numbers in (1, 7 * 500, logprobs.NUMBERS_PER_LAUNCH):
        monkeypatch.setattr(logprobs, "NUMBERS_PER_STEP", numbers)
        found.append(token_logprobs(lambda states: states @ weight, hidden, torch.arange(40)))
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


class Softmaxes(TorchDispatchMode):
    """Counts them."""

    times = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.times += "log_softmax" in str(func)
        return func(*args, **(kwargs or {}))


def test_off_the_cpu_a_large_vocabulary_is_read_out_in_few_launches() -> None:
    """One batch of a model in Llama-3.2-1B's shape: in pieces as small as a CPU's, launches took longer than sums."""
    hidden, weight = (torch.empty(*shape, dtype=torch.bfloat16, device="meta") for shape in ((2048, 64), (64, 128_256)))
    with Softmaxes() as seen:
        token_logprobs(lambda states: states @ weight, hidden, torch.empty(2048, dtype=torch.long, device="meta"))
    assert seen.times == 32


def test_log_probabilities_are_float32_whatever_the_model() -> None:
    hidden, weight = torch.randn(2, 3, 8).bfloat16(), torch.randn(8, 11).bfloat16()
    found = token_logprobs(lambda states: states @ weight, hidden, torch.zeros(2, 3, dtype=torch.long))
    assert found.dtype == torch.float32
    assert (found <= 0).all()


def test_positions_are_gathered_row_by_row() -> None:
    hidden = torch.arange(12.0).reshape(2, 3, 2)
    found = gather_positions(hidden, torch.tensor([[2, 0], [1, 1]]))
    assert found.tolist() == [[[4, 5], [0, 1]], [[8, 9], [8, 9]]]


@given(st.lists(st.integers(0, 5 * TOKENS), max_size=40), st.integers(1, 9))
def test_long_texts_go_through_a_model_by_tokens(lengths: list[int], size: int) -> None:
    groups = together(lengths, size)
    assert sorted(place for group in groups for place in group) == list(range(len(lengths)))
    assert [lengths[place] for group in groups for place in group] == sorted(lengths, reverse=True)
    for group in groups:
        assert len(group) == 1 or len(group) <= size
        assert len(group) == 1 or len(group) * lengths[group[0]] <= size * TOKENS
    if all(length <= TOKENS for length in lengths):
        assert [len(group) for group in groups[:-1]] == [size] * (len(groups) - 1)
