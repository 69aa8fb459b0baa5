"""Where pages are walked through."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from books import ROOT
from kept_python import kept_python
from small_runs import made_once
from walk import Place, shell_environment


@pytest.fixture(scope="session")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a shell whose commands start at once."""
    with kept_python(tmp_path_factory.mktemp("kept", numbered=True)) as known:
        yield known


@pytest.fixture
def place(
    tmp_path: Path,
    models: Path,
    shared_store: Path,
    reader: dict[str, str],
    authors_cache: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Place:
    """An empty folder beside the suites and the example. All share a cache, which has the small models' scores."""

    def begin(folder: Path) -> None:
        (folder / "store").symlink_to(shared_store)

    for name in ("suites", "examples", ".ci"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    cache = made_once(tmp_path_factory, "pages-cache", begin)
    return Place(tmp_path, models, Path(authors_cache["UDS_BENCH_CACHE"]), shell_environment(reader, tmp_path, cache))
