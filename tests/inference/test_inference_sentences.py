"""Likelihoods of whole sentences against one unpadded pass each, in every family, and how much a model reads for it."""

from __future__ import annotations

import random
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from families import FAMILIES, in_memory
from references.depth_cases import VOCABULARY
from test_inference_trees import SHORT_SIGHTED, far_sighted, fed

from uds_bench.inference import sentences as module
from uds_bench.inference.prefix_tree import grow
from uds_bench.inference.sentences import nll_apart, sentence_nll
from uds_bench.inference.upcast import in_float32

TOLERANCE = 1e-5


def drawn(count: int, seed: int = 0) -> list[tuple[int, ...]]:
    """Beginnings that are shared, in levels, some sentences equal, some a beginning of others."""
    luck = random.Random(seed)

    def words(least: int, most: int) -> tuple[int, ...]:
        return tuple(luck.randrange(3, VOCABULARY) for _ in range(luck.randint(least, most)))

    subjects = [(1, *words(1, 3)) for _ in range(4)]
    starts = [subject + words(0, 5) for subject in subjects for _ in range(3)]
    found = [luck.choice(starts) + words(1, 6) for _ in range(count)]
    return [*found, found[0], found[1][:-1] if len(found[1]) > 2 else found[1], found[1]]


@torch.no_grad()
def slowly(model: Any, rows: list[tuple[int, ...]]) -> np.ndarray:
    """WikiMem, section 5, in double precision: a pass a sentence, every token but the given first one."""
    found = []
    for row in rows:
        logits = model(input_ids=torch.tensor([row])).logits[0].double()
        logp = torch.log_softmax(logits, -1)
        found.append(-sum(float(logp[at - 1, row[at]]) for at in range(1, len(row))))
    return np.array(found)


@cache
def told_slowly(family: str) -> tuple[Any, list[tuple[int, ...]], np.ndarray]:
    checkpoint, rows = in_memory(FAMILIES[family](VOCABULARY)), drawn(60)
    return checkpoint, rows, slowly(checkpoint.model, rows)


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize(("room", "tokens"), [(1, 8), (5, 40), (64, 500)])
def test_every_family_gives_what_single_passes_give(family: str, room: int, tokens: int) -> None:
    checkpoint, rows, slow = told_slowly(family)
    np.testing.assert_allclose(sentence_nll(checkpoint, rows, room, tokens), slow, rtol=0, atol=3 * TOLERANCE)
    np.testing.assert_allclose(nll_apart(checkpoint, rows, tokens), slow, rtol=0, atol=3 * TOLERANCE)
    assert np.ptp(slow) > 1


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_as_many_tokens_are_read_as_there_are_beginnings(family: str) -> None:
    checkpoint = far_sighted(family)
    rows = drawn(80)
    beginnings = {row[:end] for row in rows for end in range(1, len(row))}
    with fed(checkpoint) as passes:
        sentence_nll(checkpoint, rows, room=1, tokens=10**6)
    apart = sum(tokens for tokens, as_tree in passes if not as_tree)
    assert apart <= (1 + module.CHECKED) * max(map(len, rows)), (
        "but those that are read apart to see whether trees hold"
    )
    # Pieces of one token have no padding: what is read is what there is.
    assert sum(tokens for tokens, as_tree in passes if as_tree) == len(beginnings)


@pytest.mark.parametrize("family", sorted(SHORT_SIGHTED))
def test_short_sight_is_noticed(family: str) -> None:
    checkpoint, rows, slow = told_slowly(family)
    with fed(checkpoint) as passes:
        found = sentence_nll(checkpoint, rows, room=64)
    assert not all(as_tree for _, as_tree in passes)
    np.testing.assert_allclose(found, slow, rtol=0, atol=3 * TOLERANCE)


@cache
def told_in_16_bits(family: str, dtype: torch.dtype) -> tuple[Any, list[tuple[int, ...]], np.ndarray]:
    checkpoint, rows = in_memory(FAMILIES[family](VOCABULARY).to(dtype)), drawn(200)
    return checkpoint, rows, nll_apart(in_memory(deepcopy(checkpoint.model).float()), rows)


@pytest.mark.parametrize(
    ("family", "dtype"), [*((one, torch.bfloat16) for one in sorted(FAMILIES)), ("llama", torch.float16)]
)
def test_in_16_bits_trees_are_read_where_they_are_as_near_to_the_truth(family: str, dtype: torch.dtype) -> None:
    checkpoint, rows, slow = told_in_16_bits(family, dtype)
    with fed(checkpoint) as passes:
        found = sentence_nll(checkpoint, rows)
    assert passes[0][1], "first as a tree"
    # A sample is read twice, apart and in float32; where sight is short, all are read once more.
    apart = sum(tokens for tokens, as_tree in passes if not as_tree)
    assert (apart > sum(map(len, rows))) == (family in SHORT_SIGHTED)
    missed, by_apart = (np.abs(one - slow).max() for one in (found, nll_apart(checkpoint, rows)))
    assert missed <= 2 * by_apart


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_model_of_16_bits_computes_in_float32_and_has_its_weights_back(family: str) -> None:
    checkpoint, rows, slow = told_in_16_bits(family, torch.bfloat16)
    weights = [(name, id(one), one.dtype) for name, one in checkpoint.model.named_parameters()]
    with torch.inference_mode(), in_float32(checkpoint.model):
        found = nll_apart(checkpoint, rows)
    np.testing.assert_allclose(found, slow, rtol=0, atol=3 * TOLERANCE)
    assert [(name, id(one), one.dtype) for name, one in checkpoint.model.named_parameters()] == weights


def test_weights_come_back_where_a_pass_fails() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(3, 2)).to(torch.bfloat16)
    weights = [id(one) for one in model.parameters()]
    with pytest.raises(RuntimeError, match="shapes"), in_float32(model):
        model(torch.ones(1, 2))
    assert [id(one) for one in model.parameters()] == weights
    assert model[0](torch.ones(1, 2, dtype=torch.bfloat16)).dtype == torch.bfloat16


@pytest.mark.parametrize(("gap", "as_tree"), [(9e-6, True), (2e-5, False)])
def test_rounding_of_each_token_is_allowed_however_long_a_sentence_is(
    gap: float, as_tree: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """float32 gives long sentences that are read in two ways sums further apart than any one token is."""
    rows = [(1, *range(3, 3 + length)) for length in (1, 12, 40)]
    steps = np.array([len(row) - 1 for row in rows])
    checkpoint = in_memory(FAMILIES["llama"](VOCABULARY))
    exact = nll_apart(checkpoint, rows)
    monkeypatch.setattr(module, "nll_apart", lambda *_: exact + gap * steps)
    moved = np.abs(sentence_nll(checkpoint, rows) - exact) / steps
    assert (moved < 1e-6).all() if as_tree else (moved > 1e-5).all()


def test_little_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is held once all that follow it are read."""
    kept: list[Any] = []

    class Watched(module._Kept):
        def __init__(self, nodes: int) -> None:
            super().__init__(nodes)
            kept.append(self)

    monkeypatch.setattr(module, "_Kept", Watched)
    rows = drawn(60)
    sentence_nll(in_memory(FAMILIES["llama"](VOCABULARY)), rows, room=3, tokens=30)
    (one,) = kept
    assert not one.wanted.any()
    assert (one._slots == -1).all()
    assert len(one._layers[0][0]) < grow(rows).fed.sum() / 2


def test_sentences_of_nothing() -> None:
    checkpoint = in_memory(FAMILIES["llama"](VOCABULARY))
    assert sentence_nll(checkpoint, []).shape == (0,)
    with pytest.raises(ValueError, match="to be scored"):
        sentence_nll(checkpoint, [(1,)])
