"""Patching by hook and by streams against the plain reference, on every family, scope, batch size and padding side."""

from typing import Any, get_args

import pytest
import torch
from families import FAMILIES, in_memory
from references import depth
from references.depth_cases import (
    TOLERANCE,
    VOCABULARY,
    Case,
    checkpoint,
    encoded_fact,
    ragged_facts,
    reference_drops,
    span_of,
)

from uds_bench.inference.batches import EntityBatch, PaddingSide, entity_batches
from uds_bench.inference.logprobs import token_logprobs
from uds_bench.inference.patching import entity_logprobs, patched_logprobs
from uds_bench.inference.states import Scope, published_states, source_states
from uds_bench.inference.streams import full_part, streamed_logprobs

FACTS = ragged_facts()
WAYS: tuple[tuple[int, PaddingSide], ...] = ((1, "right"), (2, "left"), (3, "right"), (4, "left"))


def gap(values: torch.Tensor, batch: EntityBatch) -> float:
    """Largest |value| at real entity tokens of [..., facts, T]."""
    return float(values[..., batch.valid].abs().max())


def whole(side: PaddingSide = "right") -> EntityBatch:
    (batch,) = entity_batches(FACTS, len(FACTS), side=side)
    return batch


@pytest.mark.parametrize("scope", get_args(Scope))
def test_hook_path_is_the_reference(case: Case, scope: Scope) -> None:
    expected = reference_drops(case.family, scope)
    assert expected.abs().max() > 0.1, "a case in which nothing changes would agree with anything"
    for size, side in WAYS:
        for batch in entity_batches(FACTS, size, side=side):
            states = source_states(case.source, batch, scope)
            base = entity_logprobs(case.full, batch)
            found = batch.mean_over_entity(base - patched_logprobs(case.full, batch, states, scope)).T
            torch.testing.assert_close(found.double(), expected[list(batch.rows)], rtol=0, atol=TOLERANCE)


def streams_gap(full: Any, batch: EntityBatch, states: torch.Tensor) -> float:
    """How far the streams are from the hook path."""
    streamed = streamed_logprobs(full, batch, full_part(full, batch), states)
    return gap(streamed - patched_logprobs(full, batch, states), batch)


def test_streams_are_the_reference(case: Case) -> None:
    expected = reference_drops(case.family)
    for size, side in (*WAYS, (2, "right"), (3, "left"), (4, "right")):
        for batch in entity_batches(FACTS, size, side=side):
            part = full_part(case.full, batch)
            streamed = streamed_logprobs(case.full, batch, part, source_states(case.source, batch))
            drops = batch.mean_over_entity(part.base - streamed).T.double()
            torch.testing.assert_close(drops, expected[list(batch.rows)], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("side", ["right", "left"])
def test_streams_are_the_hook_path(case: Case, side: PaddingSide) -> None:
    batch = whole(side)
    base = gap(full_part(case.full, batch).base - entity_logprobs(case.full, batch), batch)
    assert base <= TOLERANCE
    difference = streams_gap(case.full, batch, source_states(case.source, batch))
    assert difference <= TOLERANCE


@pytest.mark.parametrize("side", ["right", "left"])
def test_a_part_serves_every_source(side: PaddingSide) -> None:
    """What one source leaves in the full model's part must not reach the next one."""
    full, batch = checkpoint("llama"), whole(side)
    part = full_part(full, batch)
    states = [source_states(checkpoint("llama", seed), batch) for seed in (1, 2)]
    first = streamed_logprobs(full, batch, part, states[0])
    streamed_logprobs(full, batch, part, states[1])
    assert torch.equal(first, streamed_logprobs(full, batch, part, states[0]))


@pytest.mark.parametrize("scope", get_args(Scope))
def test_a_model_patched_with_itself_is_unchanged_to_the_bit(case: Case, scope: Scope) -> None:
    for side in ("right", "left"):
        batch = whole(side)
        patched = patched_logprobs(case.full, batch, source_states(case.full, batch, scope), scope)
        assert gap(patched - entity_logprobs(case.full, batch), batch) == 0.0


@pytest.mark.parametrize("family", ["llama", "gemma3", "gpt_neox"])
@pytest.mark.parametrize("scope", get_args(Scope))
def test_patched_with_itself_in_bfloat16(family: str, scope: Scope) -> None:
    full, batch = in_memory(FAMILIES[family]().bfloat16()), whole("left")
    patched = patched_logprobs(full, batch, source_states(full, batch, scope), scope)
    assert gap(patched - entity_logprobs(full, batch), batch) == 0.0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("family", ["llama", "gemma3", "gpt_neox", "gpt2"])
def test_a_source_of_fewer_bits_is_cast_to_the_full_model(family: str, dtype: torch.dtype) -> None:
    full, batch = checkpoint(family), whole("left")
    source = in_memory(FAMILIES[family](VOCABULARY, seed=1).to(dtype))
    states = source_states(source, batch)
    assert states.dtype == dtype
    by_hand = patched_logprobs(full, batch, states.float())
    assert gap(by_hand - entity_logprobs(full, batch), batch) > 0.1
    assert gap(patched_logprobs(full, batch, states) - by_hand, batch) <= TOLERANCE
    assert gap(streamed_logprobs(full, batch, full_part(full, batch), states) - by_hand, batch) <= TOLERANCE


@pytest.mark.parametrize("scope", get_args(Scope))
@pytest.mark.parametrize("bits", ["source", "full"])
def test_mixed_dtypes_are_cast_by_hand_at_every_scope(scope: Scope, bits: str) -> None:
    low = in_memory(FAMILIES["llama"](VOCABULARY, seed=2).bfloat16())
    full, source = (checkpoint("llama"), low) if bits == "source" else (low, checkpoint("llama"))
    batch = whole()
    states = source_states(source, batch, scope)
    by_hand = patched_logprobs(full, batch, states.to(full.model.dtype), scope)
    assert gap(patched_logprobs(full, batch, states, scope) - by_hand, batch) <= TOLERANCE


def test_streams_patched_with_itself(case: Case) -> None:
    for side in ("right", "left"):
        batch = whole(side)
        part = full_part(case.full, batch)
        patched = streamed_logprobs(case.full, batch, part, source_states(case.full, batch))
        assert gap(patched - part.base, batch) <= TOLERANCE


def test_last_layer_patch_is_the_logit_lens(case: Case) -> None:
    batch = whole()
    states = source_states(case.source, batch)
    lens = token_logprobs(case.full.anatomy.readout, states[-1], batch.targets)
    assert gap(patched_logprobs(case.full, batch, states)[-1] - lens, batch) <= TOLERANCE
    assert gap(streamed_logprobs(case.full, batch, full_part(case.full, batch), states)[-1] - lens, batch) <= TOLERANCE


def test_lens_is_the_reference_at_every_layer(case: Case) -> None:
    layers, batch = len(case.full.anatomy.blocks), whole("left")
    targets = batch.targets.expand(layers, -1, -1)
    own, other = (
        token_logprobs(case.full.anatomy.readout, source_states(model, batch), targets)
        for model in (case.full, case.source)
    )
    drops = batch.mean_over_entity(own - other).T.double()
    expected = [depth.lens_drops(*case.pair, *span_of(FACTS[row])) for row in batch.rows]
    torch.testing.assert_close(drops, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=TOLERANCE)


def test_published_states_are_the_reference(case: Case) -> None:
    batch, expected = whole(), reference_drops(case.family, published=True)
    states = published_states(case.source, source_states(case.source, batch))
    base = entity_logprobs(case.full, batch)
    drops = batch.mean_over_entity(base - patched_logprobs(case.full, batch, states)).T.double()
    torch.testing.assert_close(drops, expected[list(batch.rows)], rtol=0, atol=TOLERANCE)
    torch.testing.assert_close(expected[:, :-1], reference_drops(case.family)[:, :-1], rtol=0, atol=0)


def test_patching_at_the_tokens_own_positions_cannot_reach_the_first_one(case: Case) -> None:
    """Why the predicting positions are patched: token t is read at t - 1, which a patch at t comes too late for."""
    moved = 0.0
    for fact in FACTS:
        ids, start, end = span_of(fact)
        plain = depth.entity_logprobs(depth.logits_of(case.full.model, ids), ids, start, end)
        for layer in range(len(case.full.anatomy.blocks)):
            state = depth.source_state(case.source.model, case.source.anatomy, ids, layer)
            arguments = (case.full.model, case.full.anatomy, ids, start, end, layer, state)
            late = depth.patched_logprobs(*arguments, positions=range(start, end))
            assert abs(late[0] - plain[0]) <= 1e-6  # the same sums; experts may take their tokens in other groups
            if end - start > 1:
                moved = max(moved, *(abs(a - b) for a, b in zip(late[1:], plain[1:], strict=True)))
            assert abs(depth.patched_logprobs(*arguments)[0] - plain[0]) > TOLERANCE
    assert moved > 0.1, "later tokens are reached either way"


def test_one_token_entities_would_lose_every_layer_at_their_own_positions() -> None:
    case = Case("llama")
    ids, start, end = span_of(FACTS[0])
    assert end - start == 1
    assert depth.drops(*case.pair, ids, start, end, positions=range(start, end)) == [0.0] * 3
    (batch,) = entity_batches(FACTS[:1], 1)
    drops = entity_logprobs(case.full, batch) - patched_logprobs(case.full, batch, source_states(case.source, batch))
    assert (drops.abs() > 0.01).all()


@pytest.mark.parametrize("ends", [(9, 8, 7), (2, 2), (9,)])
@pytest.mark.parametrize("side", ["right", "left"])
def test_entities_that_start_at_the_second_token(case: Case, ends: tuple[int, ...], side: PaddingSide) -> None:
    """The smallest legal start leaves no prefix: each stream sees itself alone."""
    facts = [encoded_fact(index, 1, 1, end, 12) for index, end in enumerate(ends)]
    (batch,) = entity_batches(facts, len(facts), side=side)
    difference = streams_gap(case.full, batch, source_states(case.source, batch))
    assert difference <= TOLERANCE


def test_a_batch_too_large_for_one_step_is_taken_in_several() -> None:
    """Streams hold no more positions at once than a plain pass; the cut into steps must not show."""
    case = Case("olmo3")
    facts = [encoded_fact(index, 2, 2 + index % 3, 9, 9) for index in range(6)]
    (batch,) = entity_batches(facts, 6)
    assert batch.predicting.numel() * len(case.full.anatomy.blocks) > 2 * batch.ids.numel()
    difference = streams_gap(case.full, batch, source_states(case.source, batch))
    assert difference <= TOLERANCE
