"""Vectors of many rows on disk: mapped as they were made, and made anew where they are of something else."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hashing import HashingEncoder

from uds_bench.errors import CheckpointError, UdsWarning
from uds_bench.facts.triplets import Triplet, TripletDatabase
from uds_bench.retrieval import encoder as encoders
from uds_bench.retrieval.encoder import Encoder, Vectors
from uds_bench.retrieval.retriever import Retriever
from uds_bench.retrieval.settings import Kind, RetrieverSettings

TEXTS = ["ant bee", "cow", "ant bee", "dog elk", "fox", "gnu", "hen ant"]


class Kept(Encoder):
    """Hashed words, kept on disk; `made`: the texts of each set that was embedded."""

    def __init__(self, folder: Path, digest: str = "one") -> None:
        super().__init__("kept", folder=folder)
        self.__dict__["digest"] = digest
        self.made: list[list[str]] = []

    def _encode(self, texts: Sequence[str]) -> Vectors:
        self.made.append(list(texts))
        return HashingEncoder().embed(texts)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoders, "BLOCK", 3)


def test_a_table_is_what_was_embedded(tmp_path: Path) -> None:
    plain = HashingEncoder().embed(TEXTS)
    for _ in range(2):
        table = Kept(tmp_path).table(TEXTS)
        assert len(table) == len(TEXTS)
        assert [start for start, _ in table] == [0, 3, 6]
        assert (np.concatenate(table.blocks) == plain).all()
        assert (table.of(np.array([6, 0, 3, 3])) == plain[[6, 0, 3, 3]]).all()


def test_what_is_there_is_not_embedded_again(tmp_path: Path) -> None:
    first, told = Kept(tmp_path), list[int]()
    first.table(TEXTS[:3])
    second = Kept(tmp_path)
    second.table(TEXTS, told.append)
    assert (first.made, second.made) == ([TEXTS[:3]], [TEXTS[3:6], TEXTS[6:]]), "an interruption loses one block"
    assert told == [3, 3, 1]
    second.table(TEXTS)
    assert len(second.made) == 2
    edited = Kept(tmp_path)
    edited.table([*TEXTS[:4], "another", *TEXTS[5:]])
    assert edited.made == [["dog elk", "another", "gnu"]]


def test_what_is_read_is_mapped(tmp_path: Path) -> None:
    Kept(tmp_path).table(TEXTS)
    block = Kept(tmp_path).table(TEXTS).blocks[0]
    assert not block.flags.owndata
    assert not block.flags.writeable


def test_vectors_of_another_encoder_are_made_anew(tmp_path: Path) -> None:
    """Files that were put into the place of others: whole, and not what they are asked for."""
    Kept(tmp_path, "one").table(TEXTS[:3])
    (old,) = tmp_path.iterdir()
    taken = old.read_bytes()
    old.unlink()
    Kept(tmp_path, "two").table(TEXTS[:3])
    (file,) = tmp_path.iterdir()
    file.write_bytes(taken)
    again = Kept(tmp_path, "two")
    with pytest.warns(UdsWarning) as told:
        again.table(TEXTS[:3])
    line = f"{file}: its vectors belong to another encoder or other rows: they are ignored and made anew"
    assert [str(one.message) for one in told] == [line]
    assert again.made == [TEXTS[:3]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Kept(tmp_path, "two").table(TEXTS[:3])


@pytest.mark.parametrize("length", [0, 10, -1])
def test_vectors_that_are_cut_short_are_made_anew(tmp_path: Path, length: int) -> None:
    Kept(tmp_path).table(TEXTS[:3])
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:length])
    with pytest.warns(UdsWarning, match="cut short or altered"):
        found = Kept(tmp_path).table(TEXTS[:3])
    assert (np.concatenate(found.blocks) == HashingEncoder().embed(TEXTS[:3])).all()


def test_every_file_of_an_encoder_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow tokenizer reads vocab.txt or merges.txt, a SentencePiece one a .model."""
    folder = tmp_path / "encoder"
    (folder / "1_Pooling").mkdir(parents=True)
    seen = [Encoder(str(folder)).digest]
    for name in ("vocab.txt", "merges.txt", "spiece.model", "1_Pooling/weights.pt"):
        for text in ("one", "two"):
            (folder / name).write_text(text)
            seen.append(Encoder(str(folder)).digest)
    assert len(set(seen)) == len(seen)
    (folder / ".git").mkdir()
    (folder / ".git" / "index").write_text("one")
    assert Encoder(str(folder)).digest == seen[-1]
    monkeypatch.setattr(encoders, "MOST_FILES", 4)
    with pytest.raises(CheckpointError, match="more than 4 files"):
        _ = Encoder(str(folder)).digest
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "1_Pooling").symlink_to(folder / "1_Pooling")
    with pytest.raises(CheckpointError, match="1_Pooling is a link to a folder"):
        _ = Encoder(str(tmp_path / "linked")).digest


def test_without_a_folder_to_write_vectors_are_made_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = Kept(tmp_path / "file" / "folder")
    assert len(found.table(TEXTS)) == len(TEXTS)


@pytest.mark.parametrize("kind", ["dense", "hybrid"])
def test_blocks_change_no_lookup(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = TripletDatabase([Triplet(text, "is", "x") for text in TEXTS * 3])
    queries, gone = [("ant bee", "is"), ("cow", "is")] * 2, [{0, 2}, {1}, set(range(20)), {20}]
    settings = RetrieverSettings(kind=kind, top_k=4, threshold=0.1)
    small = Retriever(rows, settings, Kept(tmp_path)).look_up(queries, gone)
    monkeypatch.setattr(encoders, "BLOCK", 1000)
    whole = Retriever(rows, settings, Kept(tmp_path)).look_up(queries, gone)
    assert [one.chosen for one in small] == [one.chosen for one in whole]
    for one, other in zip(small, whole, strict=True):
        for ours, theirs in ((one.kept, other.kept), (one.deleted, other.deleted)):
            assert [hit.row for hit in ours] == [hit.row for hit in theirs]
            assert np.allclose([hit.score for hit in ours], [hit.score for hit in theirs], atol=1e-6)
