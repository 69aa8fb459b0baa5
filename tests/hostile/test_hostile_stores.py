"""A store folder that others write to, and documents that name its files: nothing outside is read, nobody waits."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from made_cells import CELL, SCORE
from made_reports import claim, run_of

from uds_bench.cards.verify import unlike_stored
from uds_bench.errors import UdsError
from uds_bench.scoring import store as stores
from uds_bench.scoring.store import Store
from uds_bench.storage import canonical, map_sealed, read_sealed, sealed

OUTSIDE = "../forged/cell"


def zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


@pytest.mark.parametrize("odd", [os.mkfifo, zeros, huge])
def test_a_cell_that_is_no_plain_file_or_too_large_is_told_and_made_anew(
    odd: Callable[[Path], None], tmp_path: Path
) -> None:
    store = Store(tmp_path)
    store.write(CELL, SCORE)
    (cell,) = (tmp_path / "cells").rglob("*.json")
    cell.unlink()
    odd(cell)
    with pytest.warns(UserWarning, match="is cut short or altered: it is ignored and made anew"):
        assert store.read(CELL) is None
    assert store.write(CELL, SCORE) == SCORE
    assert store.read(CELL) == SCORE


@pytest.mark.parametrize("odd", [os.mkfifo, zeros])
@pytest.mark.parametrize("read", [read_sealed, map_sealed])
def test_what_lies_beside_cells_is_a_plain_file_too(
    read: Callable[[Path], object], odd: Callable[[Path], None], tmp_path: Path
) -> None:
    odd(tmp_path / "table")
    with pytest.warns(UserWarning, match="is cut short or altered"):
        assert read(tmp_path / "table") is None


def test_a_score_that_no_store_would_give_back_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "MOST_STORED", 100)
    with pytest.raises(UdsError, match="bytes, which no store gives back"):
        Store(tmp_path).write(CELL, SCORE)


@pytest.mark.parametrize("named", [OUTSIDE, "x/../../x", CELL.key.upper(), CELL.key[:-1], "a\0", "\ud800", None])
def test_a_run_whose_score_names_no_cell_is_not_in_the_store(named: object, tmp_path: Path) -> None:
    """One that names a file outside the store brought its own score along."""
    score = replace(SCORE, provenance={"cell": named})
    (tmp_path / "forged").mkdir()
    (tmp_path / "forged" / "cell.json").write_bytes(sealed(canonical(score.to_json())))
    (tmp_path / "store" / "cells").mkdir(parents=True)
    run = run_of(claim("depth.score[npo]"), scores=[score])
    assert list(unlike_stored(run, Store(tmp_path / "store"))) == ["score npo none uds block is not in the store"]


@pytest.mark.parametrize("name", ["../x", "cells/../../x", "/etc/passwd", "cells//x", "", "a\0", "\ud800"])
def test_a_folder_of_scores_reads_and_writes_no_name_that_leaves_it(name: str, tmp_path: Path) -> None:
    shelf = Store(tmp_path / "store").shelf
    (tmp_path / "x").write_bytes(b"outside")
    with pytest.raises(UdsError, match="is no name of a file in"):
        shelf.get(name)
    with pytest.raises(UdsError, match="is no name of a file in"):
        shelf.put_if_absent(name, b"")
