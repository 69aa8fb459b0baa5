"""`uds-bench zoo` on a recipe that trains in a second."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from uds_bench.zoo import cache, recipes

TINY = recipes.Base(authors=8, width=16, layers=1, vocabulary=300)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch, private_cache: Path) -> Path:
    """The folder of an embedded model that is trained already."""
    monkeypatch.setitem(recipes.RECIPES, "tiny", TINY)
    return cache.ensure(private_cache, "tiny")


def _rows(shown: str) -> dict[str, str]:
    """Name -> what the last column says."""
    return {line.split()[0]: line.split()[-1] for line in shown.splitlines()[2:]}


def test_list_tells_what_is_cached_and_whole(command: Callable[..., Any], built: Path) -> None:
    rows = _rows(command("zoo", "list").stdout)
    assert rows == dict.fromkeys(recipes.listed(), "no") | {"tiny": "yes"}
    (built / "config.json").write_text("{}")
    assert _rows(command("zoo", "list").stdout)["tiny"] == "no"


def test_path_is_all_that_is_printed(command: Callable[..., Any], built: Path) -> None:
    assert command("zoo", "path", "tiny").stdout == f"{built}\n"


def test_clear_asks(command: Callable[..., Any], built: Path) -> None:
    command("zoo", "clear", input="n\n", exit=1)
    assert built.is_dir()
    assert "removed 1 models" in command("zoo", "clear", input="y\n").stdout
    assert not built.exists()


def test_clear_with_yes_does_not_ask(command: Callable[..., Any], built: Path) -> None:
    command("zoo", "clear", "--yes")
    assert not built.exists()


def test_build_trains_what_is_missing(tmp_path: Path, private_cache: Path) -> None:
    # The training processes import this file anew, and so know the recipe.
    script = tmp_path / "bench.py"
    script.write_text(
        "from uds_bench.cli import main\n"
        "from uds_bench.zoo import recipes\n"
        f"recipes.RECIPES['tiny'] = recipes.{TINY!r}\n"
        "if __name__ == '__main__':\n"
        "    main()\n"
    )
    command = [sys.executable, str(script), "zoo", "build", "tiny"]
    ran = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), check=False)
    assert ran.returncode == 0, ran.stderr
    name, folder = ran.stdout.split()
    assert name == "tiny"
    assert Path(folder).parent == private_cache / "zoo"
    assert cache.is_whole(Path(folder))
    assert "training the embedded models" in ran.stderr
