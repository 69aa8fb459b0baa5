"""Built models on disk: one folder a recipe, whole and verified or absent."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from uds_bench.device import cores
from uds_bench.errors import UdsWarning
from uds_bench.methods.training import OnStep
from uds_bench.storage import canonical, file_digest, require_writable, write_atomic
from uds_bench.zoo import recipes

CHECKSUMS = "checksums.json"


def folder(cache: Path, name: str) -> Path:
    """Where a trained model is kept, by its recipe."""
    return cache / "zoo" / f"{name}-{recipes.key(name)[:16]}"


def is_whole(path: Path) -> bool:
    """Whether every file that the build wrote is there, unaltered."""
    try:
        wanted: dict[str, str] = json.loads((path / CHECKSUMS).read_text())
        return bool(wanted) and all(file_digest(path / file) == digest for file, digest in wanted.items())
    except (OSError, ValueError, AttributeError):
        return False


def built(place: Path, build: Callable[[Path], None]) -> Path:
    """The folder `place` as `build` wrote it, every file unaltered; built if it is absent, cut short or altered.

    Safe when two processes want the same one: one builds, the other waits and finds it. It is made beside its place and
    moved there whole; what a killed build left behind is cleared by the next one. A cache that takes no files is a
    ConfigurationError.
    """
    require_writable(place.parent, "UDS_BENCH_CACHE")
    with FileLock(f"{place}.lock"):
        if is_whole(place):
            return place
        if place.exists():
            warnings.warn(f"{place} is cut short or altered: it is trained anew", UdsWarning, stacklevel=3)
            shutil.rmtree(place)
        draft = place.with_name(f".{place.name}.draft")
        shutil.rmtree(draft, ignore_errors=True)
        try:
            draft.mkdir()
            build(draft)
            files = {str(f.relative_to(draft)): file_digest(f) for f in sorted(draft.rglob("*")) if f.is_file()}
            write_atomic(draft / CHECKSUMS, canonical(files))
            draft.replace(place)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return place


def ensure(cache: Path, name: str, on_step: OnStep | None = None) -> Path:
    """The folder of an embedded model; trains it, and its parent before it, where need be."""

    def build(draft: Path) -> None:
        ancestor = recipes.ancestor(name)
        parent = ensure(cache, ancestor, on_step) if ancestor else None
        write_atomic(draft / "losses.json", canonical(recipes.find(name).build(parent, draft, on_step)))

    return built(folder(cache, name), build)


def clear(cache: Path) -> int:
    """Remove every built model.

    Args:
        cache: The folder that holds `zoo/`.

    Returns:
        How many there were; what a killed build left behind goes too, and does not count.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as root:
        ...     (Path(root) / "zoo" / "full-0123").mkdir(parents=True)
        ...     clear(Path(root)), clear(Path(root))
        (1, 0)
    """
    root = cache / "zoo"
    count = sum(1 for path in root.glob("*") if path.is_dir() and not path.name.startswith("."))
    if root.exists():
        shutil.rmtree(root)
    return count


def workers() -> int:
    """How many models are trained side by side.

    Trainings of one thread each use the cores better than one that spreads over them.

    Returns:
        One a core, 1 to 4.

    Example:
        >>> workers() in (1, 2, 3, 4)
        True
    """
    return max(1, min(4, cores()))
