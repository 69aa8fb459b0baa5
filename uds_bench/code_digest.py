"""The digest of the code that computes a score: a stored score must hide neither a fault in it nor its repair."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import uds_bench
from uds_bench.storage import content_key, file_digest

ROOMS = ("attacks", "checkpoints", "facts", "inference", "methods", "metrics", "retrieval", "scoring", "statistics")
"""Packages whose code every score depends on: attacks train by `methods`."""
MODULES = ("scores.py",)
"""Modules beside them of which that is true."""


def code_digest(*modules: str) -> str:
    """SHA-256 (hex) of the source of `ROOMS` and `MODULES`, and of the packages that some modules are in.

    Args:
        modules: Names of imported modules that compute a score: an audit's evaluator, or a metric of one's own.
    """
    home = Path(uds_bench.__file__).parent
    own = {Path(str(sys.modules[name].__file__)).parent for name in modules}
    known = {home / name for name in (*ROOMS, *MODULES)}
    return _digest(tuple(sorted(known | {one for one in own if not known & {one, *one.parents}})))


@cache
def _digest(places: tuple[Path, ...]) -> str:
    sources = [(one, file) for one in places for file in (sorted(one.rglob("*.py")) if one.is_dir() else [one])]
    return content_key([[file.relative_to(one.parent).as_posix(), file_digest(file)] for one, file in sources])
