"""Masks packed into words: read back, disjoint, and refused in a line where they are not what they should be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from uds_bench.checkpoints import stored
from uds_bench.checkpoints.masks import MOST_GROUPS, MaskGroup, Masks, pack, read_masks, write_masks
from uds_bench.errors import CheckpointError

TWO = (MaskGroup("a", "forget"), MaskGroup("b", "retain"))
SHAPES = {"one": (3, 4), "two": (5,)}


def groups(count: int) -> list[MaskGroup]:
    return [MaskGroup(f"g{at}", ("forget", "retain", "held_out")[at % 3]) for at in range(count)]


def drawn(count: int, seed: int) -> dict[str, list[torch.Tensor]]:
    """Disjoint masks of some parameters; the first weights make sure that no group is empty."""
    generator = torch.Generator().manual_seed(seed)
    owner = {name: torch.randint(-1, count, (8, 8), generator=generator) for name in ("one", "two")}
    owner["one"].view(-1)[:count] = torch.arange(count)
    return {name: [of == group for group in range(count)] for name, of in owner.items()}


@given(st.integers(1, MOST_GROUPS), st.integers(0, 100))
def test_what_is_packed_is_unpacked(count: int, seed: int) -> None:
    masks = drawn(count, seed)
    packed = pack(masks, groups(count))
    for name, marked in masks.items():
        for at, one in enumerate(marked):
            assert torch.equal(packed.of(name, f"g{at}"), one)
        assert torch.equal(packed.of(name, *(f"g{at}" for at in range(count))), torch.stack(marked).any(0))
        assert not packed.of(name).any(), "no group, no weight"
    assert packed.sizes() == {f"g{at}": sum(int(marked[at].sum()) for marked in masks.values()) for at in range(count)}
    assert packed.weights == 128


@pytest.mark.parametrize("count", [1, 5, MOST_GROUPS])
def test_what_is_written_is_read_back(tmp_path: Path, count: int) -> None:
    packed = pack(drawn(count, 1), groups(count))
    write_masks(packed, tmp_path / "masks.safetensors")
    found = read_masks(tmp_path / "masks.safetensors")
    assert found.groups == packed.groups
    assert all(torch.equal(found.words[name][:], word) for name, word in packed.words.items())
    assert found.digest() == packed.digest()


def shard(masks: Masks, folder: Path, **others: object) -> None:
    """A file a parameter, and the index."""
    for name, word in masks.words.items():
        named = others.get(name, [[group.name, group.role] for group in masks.groups])
        save_file({name: word[:]}, folder / f"masks-{name}.safetensors", {"groups": json.dumps(named)})
    places = {name: f"masks-{name}.safetensors" for name in masks.words}
    (folder / "masks.safetensors.index.json").write_text(json.dumps({"weight_map": places}))


def test_masks_in_several_files_are_one(tmp_path: Path) -> None:
    packed = pack(drawn(3, 1), groups(3))
    shard(packed, tmp_path)
    found = read_masks(tmp_path)
    assert (found.groups, found.sizes(), found.digest()) == (packed.groups, packed.sizes(), packed.digest())
    (tmp_path / "masks-two.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"shard masks-two\.safetensors is missing"):
        read_masks(tmp_path)


def test_files_of_other_groups_do_not_belong_together(tmp_path: Path) -> None:
    shard(pack(drawn(2, 1), TWO), tmp_path, two=[["a", "retain"], ["b", "forget"]])
    with pytest.raises(CheckpointError, match=r"masks-two\.safetensors: names other groups"):
        read_masks(tmp_path)


@pytest.mark.parametrize("piece", [3, 20, 1 << 20])
def test_a_mask_in_a_file_is_looked_at_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    """Piece by piece: what is wrong with the last weight of the last parameter is found."""
    monkeypatch.setattr(stored, "PIECE", piece)
    for wrong, said in ((3, "share a weight of two"), (4, "two has a bit beyond the 2 groups")):
        words = {name: word[:].clone() for name, word in pack(drawn(2, 0), TWO).words.items()}
        words["two"][-1, -1] = wrong
        save_file(words, tmp_path / "m.safetensors", {"groups": json.dumps([["a", "forget"], ["b", "retain"]])})
        with pytest.raises(CheckpointError, match=said):
            read_masks(tmp_path / "m.safetensors")


def test_groups_are_named_by_their_role() -> None:
    packed = pack(drawn(4, 0), groups(4))
    assert packed.named("forget") == ("g0", "g3")
    assert packed.named("retain", "held_out") == ("g1", "g2")


def test_a_digest_knows_words_and_groups() -> None:
    one, other = drawn(2, 1), drawn(2, 2)
    digests = {pack(one, TWO).digest(), pack(other, TWO).digest(), pack(one, TWO[::-1]).digest()}
    assert len(digests) == 3


def test_overlapping_masks_are_refused(tmp_path: Path) -> None:
    masks = drawn(2, 0)
    masks["two"][1] = masks["two"][0] | masks["two"][1]
    with pytest.raises(CheckpointError, match="two groups share a weight of two"):
        pack(masks, TWO)
    words = pack(drawn(2, 0), TWO).words
    words["one"][0, 0] = 3
    save_file(dict(words), tmp_path / "m.safetensors", {"groups": json.dumps([["a", "forget"], ["b", "retain"]])})
    with pytest.raises(CheckpointError, match=r"m\.safetensors: two groups share a weight of one"):
        read_masks(tmp_path / "m.safetensors")


def test_an_empty_mask_is_refused() -> None:
    masks = drawn(2, 0)
    for marked in masks.values():
        marked[1][:] = False
    with pytest.raises(CheckpointError, match="group b has no weight"):
        pack(masks, TWO)


@pytest.mark.parametrize(
    ("words", "named", "said"),
    [
        ({"p": torch.tensor([1, 4], dtype=torch.int32)}, TWO[:1], "a bit beyond the 1 groups"),
        ({"p": torch.tensor([1, 2])}, TWO, "is torch.int64 of shape"),
        ({"p": torch.tensor(1, dtype=torch.int32)}, TWO[:1], "of shape \\(\\)"),
        ({"p": torch.tensor([1, 2], dtype=torch.int32)}, (TWO[0], TWO[0]), "two groups are called a"),
        ({"p": torch.tensor([1], dtype=torch.int32)}, (), "0 groups"),
        ({"p": torch.tensor([1], dtype=torch.int32)}, tuple(groups(33)), "33 groups"),
    ],
)
def test_words_that_cannot_be_masks(words: dict[str, torch.Tensor], named: tuple[MaskGroup, ...], said: str) -> None:
    with pytest.raises(CheckpointError, match=said):
        Masks(words, named)


@pytest.mark.parametrize("metadata", [None, {"groups": "[["}, {"groups": '[["a", "mine"]]'}, {"groups": '["a"]'}])
def test_a_file_without_usable_groups_is_one_line(tmp_path: Path, metadata: dict[str, str] | None) -> None:
    save_file({"p": torch.tensor([1], dtype=torch.int32)}, tmp_path / "m.safetensors", metadata)
    with pytest.raises(CheckpointError, match=r'm\.safetensors: its metadata must say "groups"') as caught:
        read_masks(tmp_path / "m.safetensors")
    assert "\n" not in str(caught.value)


def test_a_damaged_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "m.safetensors").write_bytes(b"torn")
    with pytest.raises(CheckpointError, match="not a readable safetensors file"):
        read_masks(tmp_path / "m.safetensors")


def test_a_role_that_is_none_is_told_before_masks_are_drawn() -> None:
    with pytest.raises(CheckpointError, match="group f has the role 'tuning': choose from forget, retain, held_out"):
        MaskGroup("f", "tuning")
