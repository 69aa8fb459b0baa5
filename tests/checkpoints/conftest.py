"""Checkpoints on disk, made once and copied by the tests that damage them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from families import FAMILIES, save_checkpoint, tiny_tokenizer


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the user's own cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Family name -> folder of a sharded checkpoint with its tokenizer, to be read only."""
    root, tokenizer = tmp_path_factory.mktemp("families"), tiny_tokenizer()

    def folder(family: str) -> Path:
        place = root / family
        return place if place.exists() else save_checkpoint(place, FAMILIES[family](len(tokenizer)), tokenizer)

    return folder


@pytest.fixture
def llama(saved: Callable[[str], Path], tmp_path: Path) -> Path:
    """A copy of a Llama checkpoint that the test may damage."""
    return shutil.copytree(saved("llama"), tmp_path / "llama")
