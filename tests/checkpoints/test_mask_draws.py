"""Which weights may be masked, and that what is drawn is disjoint, as large as it should be, and made of wholes."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import pytest
import torch
from families import FAMILIES, LAYERS, tiny_tokenizer
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.checkpoints.mask_draws import _each, draw_units, draw_weights, maskable
from uds_bench.checkpoints.masks import MaskGroup
from uds_bench.errors import CheckpointError

SHAPES = {"a.0.x": (7, 5), "a.0.y": (3,), "a.1.x": (40, 11)}
TOTAL = 35 + 3 + 440


def groups(count: int) -> list[MaskGroup]:
    return [MaskGroup(f"g{at}", "forget") for at in range(count)]


def llama() -> Any:
    return FAMILIES["llama"](50, layers=4, width=16)


@given(st.integers(1, 6), st.sampled_from([0.01, 0.05, 0.1]), st.integers(0, 1000))
def test_weights_are_drawn_as_many_as_asked_and_disjoint(count: int, share: float, seed: int) -> None:
    masks = draw_weights(SHAPES, groups(count), share, seed)
    each = int(share * TOTAL)
    assert set(masks.sizes().values()) == {each}
    assert masks.weights == TOTAL
    for name, shape in SHAPES.items():
        assert tuple(masks.words[name].shape) == shape
        size = torch.Size(shape).numel()
        for group in groups(count):
            # Every parameter gives its part, but for one that has no room for one more of each group.
            assert abs(int(masks.of(name, group.name).sum()) - each * size / TOTAL) < 2
        for one, other in combinations(groups(count), 2):
            assert not (masks.of(name, one.name) & masks.of(name, other.name)).any()


@pytest.mark.parametrize(
    ("share", "total", "each"), [(0.29, 10**8, 29 * 10**6), (0.57, 300, 171), (1 / 3, 9, 3), (1 / 7, 700, 100)]
)
def test_a_share_is_what_is_meant(share: float, total: int, each: int) -> None:
    """.29 times 10^8 is a little less in binary, and a third is itself a little less."""
    assert _each(total, share, 1) == each


@pytest.mark.parametrize("share", [math.nan, math.inf, -0.1, 0.0, 1.5])
def test_a_share_that_is_none_is_one_line(share: float) -> None:
    with pytest.raises(CheckpointError, match="use a share that fits"):
        draw_weights(SHAPES, groups(2), share, 0)


def test_no_groups_are_one_line() -> None:
    with pytest.raises(CheckpointError, match="use a share that fits"):
        draw_weights(SHAPES, [], 0.1, 0)


def test_a_parameter_is_never_asked_for_more_than_it_has() -> None:
    masks = draw_weights({"a.0.x": (3,), "a.0.y": (97,)}, groups(6), 0.16, 0)
    assert set(masks.sizes().values()) == {16}
    assert not masks.words["a.0.x"].any(), "half a weight for each of six groups is none for any"
    with pytest.raises(CheckpointError, match="no room to round"):
        draw_weights({"a.0.x": (3,), "a.0.y": (3,)}, groups(4), 0.17, 0)


def test_the_largest_remainders_are_rounded_up() -> None:
    """Of 9 weights 4.68, 2.88 and 1.44 belong to the parameters: 5, 3 and 1."""
    masks = draw_weights({"a.0.x": (52,), "a.0.y": (32,), "a.1.x": (16,)}, groups(2), 0.09, 0)
    assert [int(masks.of(name, "g0").sum()) for name in masks.words] == [5, 3, 1]


def test_units_are_rounded_down_and_heads_drawn_apart_from_neurons() -> None:
    """Of 16 heads and 16 neurons a share of 0.3 is 4 of each, and not the same places of both, for any seed."""
    shapes = {"a.0.q_proj.weight": (16, 16), "a.0.down_proj.weight": (16, 16)}
    same = []
    for seed in range(8):
        masks = draw_units(shapes, groups(1), 0.3, seed, key_value_heads=16)
        heads, neurons = masks.of("a.0.q_proj.weight", "g0").all(1), masks.of("a.0.down_proj.weight", "g0").all(0)
        assert int(heads.sum()) == int(neurons.sum()) == 4
        same.append(torch.equal(heads, neurons))
    assert not all(same)


def test_a_seed_draws_the_same_and_another_seed_others() -> None:
    one, again, other = (draw_weights(SHAPES, groups(3), 0.05, seed) for seed in (0, 0, 1))
    assert one.digest() == again.digest() != other.digest()


def test_every_weight_is_as_likely() -> None:
    """Over many seeds each weight of the large parameter is drawn about as often: four deviations at most."""
    draws = 400
    times = sum(draw_weights(SHAPES, groups(1), 0.1, seed).of("a.1.x", "g0").int() for seed in range(draws))
    expected = draws * 44 / 440
    assert float((times - expected).abs().max()) < 4.5 * (expected * 0.9) ** 0.5


@pytest.mark.parametrize(("share", "count"), [(0.0, 1), (0.001, 1), (0.4, 3), (1.5, 1)])
def test_a_share_that_does_not_fit_is_refused(share: float, count: int) -> None:
    with pytest.raises(CheckpointError, match="use a share that fits"):
        draw_weights(SHAPES, groups(count), share, 0)


@pytest.mark.parametrize("family", FAMILIES)
def test_matrices_of_the_first_blocks_alone_may_be_masked(family: str) -> None:
    model = FAMILIES[family](len(tiny_tokenizer()))
    found = maskable(model)
    assert found
    parameters = dict(model.named_parameters())
    embeddings = {id(model.get_input_embeddings().weight), id(model.get_output_embeddings().weight)}
    for name, shape in found.items():
        assert tuple(parameters[name].shape) == shape
        assert parameters[name].ndim >= 2
        assert "norm" not in name
        assert id(parameters[name]) not in embeddings
        assert all(f".{layer}." not in name for layer in range(LAYERS - 2, LAYERS)), "the last two are spared"
    with pytest.raises(CheckpointError, match="use more"):
        maskable(model, spared=LAYERS)


def test_units_are_whole_heads_and_neurons() -> None:
    model = llama()
    masks = draw_units(maskable(model), groups(2), 0.25, 0, key_value_heads=2)
    layer = "model.layers.0"
    for group in ("g0", "g1"):
        rows = {kind: masks.of(f"{layer}.self_attn.{kind}_proj.weight", group) for kind in "qkv"}
        columns = masks.of(f"{layer}.self_attn.o_proj.weight", group)
        for kind, width in (("q", 8), ("k", 4), ("v", 4)):
            heads = rows[kind].reshape(2, -1)
            assert all(head.all() or not head.any() for head in heads)
            assert int(rows[kind].any(1).sum()) == width, "one of two key-value heads"
        assert torch.equal(columns.any(0), rows["q"].any(1)), "what a head writes goes where it is read"
        gate, up, down = (masks.of(f"{layer}.mlp.{kind}_proj.weight", group) for kind in ("gate", "up", "down"))
        assert torch.equal(gate, up)
        assert torch.equal(down, gate.T)
        assert int(gate.any(1).sum()) == 8
    assert not any(".2." in name or ".3." in name for name in masks.words)


def test_units_that_do_not_fit_and_names_that_are_none() -> None:
    with pytest.raises(CheckpointError, match="do not fit into 2 heads"):
        draw_units(maskable(llama()), groups(3), 0.25, 0, key_value_heads=2)
    with pytest.raises(CheckpointError, match="no down_proj"):
        draw_units({"h.0.attn.c_attn.weight": (16, 48)}, groups(1), 0.1, 0, key_value_heads=2)
    with pytest.raises(CheckpointError, match="is no q, k, v"):
        draw_units({"h.0.c.weight": (16, 48), "h.0.down_proj.weight": (16, 24)}, groups(1), 0.1, 0, key_value_heads=2)
