"""What was computed from a large file, kept until that file changes: in memory, and on disk if possible."""

import contextlib
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from uds_bench.storage import default_cache

SETTLED_NS = 2_000_000_000
"""A file younger than this is always read: file times move in steps, and two writes may fall in one."""

_seen: dict[str, dict[str, str]] = {}


def remembered(path: Path, compute: Callable[[Path], dict[str, str]]) -> dict[str, str]:
    """`compute(path)`, or what it gave before for a file of the same real path, size, times and inode."""
    real, stat = path.resolve(), path.stat()
    stamp = json.dumps([str(real), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino])
    key = hashlib.sha256(f"{compute.__qualname__} {stamp}".encode()).hexdigest()
    place = cache_folder() / f"{key}.json"
    settled = time.time_ns() - max(stat.st_mtime_ns, stat.st_ctime_ns) > SETTLED_NS
    known = (_seen.get(key) or _read(place)) if settled else None
    if known is None:
        known = compute(path)
        if settled:
            _write(place, known)
    if settled:
        _seen[key] = known
    return known


def cache_folder() -> Path:
    """Where digests of weight files are kept between runs; safe to delete."""
    return default_cache() / "digests"


def _read(place: Path) -> dict[str, str] | None:
    try:
        value = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    whole = isinstance(value, dict) and value and all(isinstance(v, str) and len(v) == 64 for v in value.values())
    return value if whole else None


def _write(place: Path, value: dict[str, str]) -> None:
    """Atomic, so that a reader sees a whole file or none; without a writable cache, nothing is kept."""
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=place.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(value, file)
            Path(name).replace(place)
        except OSError:
            Path(name).unlink(missing_ok=True)
