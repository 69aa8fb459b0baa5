"""The digest of the code that computes a score: a stored score must hide neither a fault in it nor its repair."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import uds_bench
from uds_bench.storage import content_key, file_digest

ROOMS = ("attacks", "checkpoints", "facts", "inference", "metrics", "retrieval", "scoring", "statistics")
"""Packages whose code every score depends on."""


def code_digest(*modules: str) -> str:
    """SHA-256 (hex) of the source of `ROOMS`, and of the packages that some modules are in.

    Args:
        modules: Names of imported modules that compute a score: an audit's evaluator, or a metric of one's own.
    """
    home = Path(uds_bench.__file__).parent
    own = {Path(str(sys.modules[name].__file__)).parent for name in modules}
    known = {home / room for room in ROOMS}
    return _digest(tuple(sorted(known | {one for one in own if not known & {one, *one.parents}})))


@cache
def _digest(folders: tuple[Path, ...]) -> str:
    sources = [(folder, file) for folder in folders for file in sorted(folder.rglob("*.py"))]
    return content_key(
        [[folder.name, file.relative_to(folder).as_posix(), file_digest(file)] for folder, file in sources]
    )
