"""Tiny recipes, and processes that start at once because what they need is imported already."""

import multiprocessing
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest
import tiny_zoo

from uds_bench.zoo import cache, recipes, training


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, one_thread: None) -> None:
    """This process sees and trains the tiny zoo."""
    monkeypatch.setattr(recipes, "zoos", tiny_zoo.zoos)


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory, one_thread: None) -> Path:
    """A cache that holds the tiny base, to be copied."""
    root = tmp_path_factory.mktemp("base")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recipes, "zoos", tiny_zoo.zoos)
        cache.ensure(root, "base")
    return root


@pytest.fixture(scope="session")
def processes() -> ForkServerContext:
    """Starts separate processes from a server that has the libraries loaded and has never trained."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["uds_bench.zoo.training"])
    return context


@pytest.fixture
def quick_start(monkeypatch: pytest.MonkeyPatch, processes: ForkServerContext, tiny: None) -> None:
    """`training.paths` starts its training processes at once, and they train the tiny zoo."""
    monkeypatch.setattr(training, "get_context", lambda _method: processes)
    monkeypatch.setattr(training, "_start", tiny_zoo.start)
