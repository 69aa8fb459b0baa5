"""The cache with room: what it holds is what the library's own holds, whatever was done to it in between."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.cache_utils import DynamicLayer

from uds_bench.inference import preallocated
from uds_bench.inference.preallocated import PreallocatedLayer

STEPS = st.one_of(
    st.tuples(st.just("add"), st.integers(1, 5)),
    st.tuples(st.just("choose"), st.integers(0, 3)),
    st.tuples(st.just("repeat"), st.integers(2, 2)),
    st.tuples(st.just("crop"), st.integers(1, 2)),
)


@pytest.mark.parametrize("room", [0, 1, 3, 64])
@given(steps=st.lists(STEPS, max_size=8))
@settings(max_examples=40, deadline=None)
def test_it_holds_what_the_librarys_own_holds(room: int, steps: list[tuple[str, int]]) -> None:
    generator = torch.Generator().manual_seed(0)
    own, plain = PreallocatedLayer(), DynamicLayer()
    rows = 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preallocated, "ROOM", room)
        for what, number in [("add", 3), *steps]:
            if what == "add":
                keys, values = torch.randn(2, rows, 2, number, 4, generator=generator)
                for found, expected in zip(own.update(keys, values), plain.update(keys, values), strict=True):
                    assert torch.equal(found, expected)
            for layer in (own, plain):
                if what == "choose":
                    layer.batch_select_indices(torch.tensor([number % rows]))
                elif what == "repeat":
                    layer.batch_repeat_interleave(number)
                elif what == "crop" and layer.get_seq_length() > number:
                    layer.crop(-number)
            assert own.keys is not None
            rows = len(own.keys)
            assert own.get_seq_length() == plain.get_seq_length()
            assert torch.equal(own.keys, plain.keys)
            assert torch.equal(own.values, plain.values)


def test_it_copies_once_in_so_many_tokens() -> None:
    layer, one = PreallocatedLayer(), torch.zeros(1, 1, 1, 2)
    places = set()
    for _ in range(1 + preallocated.ROOM):
        layer.update(one, one)
        places.add(layer.keys.data_ptr())
    assert len(places) == 1
    layer.update(one, one)
    assert layer.keys.data_ptr() not in places
