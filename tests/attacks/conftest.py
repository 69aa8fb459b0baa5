"""Checkpoints on disk that attacks are tried on."""

from collections.abc import Callable
from pathlib import Path

import pytest
from families import FAMILIES, save_checkpoint, tiny_tokenizer

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.facts import FactSet, embedded


@pytest.fixture(autouse=True, scope="session")
def in_one_order(one_thread: None) -> None:
    """Equal seeds give equal bits."""


@pytest.fixture(scope="session")
def forget() -> FactSet:
    return embedded(forget=2, retain=0, holdout=0)


@pytest.fixture(scope="session")
def family(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], CheckpointSpec]:
    """Family name -> a tiny random checkpoint of it, to be read only."""
    root, tokenizer = tmp_path_factory.mktemp("families"), tiny_tokenizer()

    def spec(name: str) -> CheckpointSpec:
        if not (root / name).exists():
            save_checkpoint(root / name, FAMILIES[name](len(tokenizer)), tokenizer)
        return CheckpointSpec(str(root / name))

    return spec


@pytest.fixture
def weights() -> Callable[[Path | str], dict[str, bytes]]:
    """Every file of a checkpoint by name, to see that nothing was written."""
    return lambda folder: {f.name: f.read_bytes() for f in sorted(Path(folder).iterdir())}
