"""Examples as pip would install them."""

import os
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from small_runs import Bench

from uds_bench.audits import registry


@pytest.fixture
def install(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], Bench]]:
    """Installs the package of a folder, for this process and those below: its modules, and the entry points of its
    pyproject.toml as metadata."""

    def installed(folder: Path) -> Bench:
        project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        info = bench.folder / "site" / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        )
        lines = [
            f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in points.items())
            for group, points in project["entry-points"].items()
        ]
        (info / "entry_points.txt").write_text("".join(lines))
        known = [str(folder), str(info.parent), os.environ.get("PYTHONPATH", "")]
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, known)))
        monkeypatch.setattr(sys, "path", [*known[:2], *sys.path])
        forget_audits()
        return bench

    yield installed
    forget_audits()


def forget_audits() -> None:
    """What is installed is looked up anew."""
    for found in (registry.audits, registry.claims, registry.owners):
        found.cache_clear()
