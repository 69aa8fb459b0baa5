"""Weight files read anew: one reading gives the digest of a file and those of its tensors, of one content."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uds_bench.errors import CheckpointError, one_line
from uds_bench.storage import PIECE, file_digest, load_json

ANEW = "UDS_BENCH_READ_ANEW"
"""Environment variable that makes a process ignore digests that earlier ones kept."""
MOST_HEADER = 100_000_000
"""Bytes of a header, as safetensors reads them."""
_DTYPES = {"BOOL": "bool", "BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "C64": "complex64"}
_DTYPES |= {"F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz"}
_DTYPES |= {f"F{bits}": f"float{bits}" for bits in (16, 32, 64)}
_DTYPES |= {f"I{bits}": f"int{bits}" for bits in (8, 16, 32, 64)}
_DTYPES |= {f"U{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)}
"""Names of dtypes in torch, by their names in a file."""


@dataclass(frozen=True)
class Reading:
    """SHA-256 (hex) of a file, and of each tensor's dtype, shape and bytes."""

    file: str
    tensors: dict[str, str]


_readings: dict[Path, Reading] | None = None


@contextmanager
def read_anew() -> Iterator[None]:
    """Inside the block every weight file is read once, and no kept digest counts, also in processes that start there.

    Whoever has mapped a file can change it without changing its times.
    """
    global _readings
    if _readings is not None:
        yield
        return
    _readings, os.environ[ANEW] = {}, "1"
    try:
        yield
    finally:
        _readings = None
        os.environ.pop(ANEW, None)


def reading(path: Path) -> Reading | None:
    """What the one reading of a safetensors file gave; None outside of `read_anew`. Raises CheckpointError where it is
    damaged."""
    if _readings is not None and path not in _readings:
        _readings[path] = _read(path)
    return None if _readings is None else _readings[path]


def read_digest(path: Path) -> str:
    """SHA-256 (hex) of a file's bytes, those that its tensors were read from where it has some."""
    known = (_readings or {}).get(path)
    return file_digest(path) if known is None else known.file


def _read(path: Path) -> Reading:
    whole, tensors, at = hashlib.sha256(), dict[str, str](), 0
    try:
        with path.open("rb") as file:
            length = file.read(8)
            header = file.read(min(MOST_HEADER, int.from_bytes(length, "little")))
            whole.update(length + header)
            rows: dict[str, Any] = load_json(header)
            rows.pop("__metadata__", None)
            for name, row in sorted(rows.items(), key=lambda item: tuple(item[1]["data_offsets"])):
                own = hashlib.sha256(f"torch.{_DTYPES[row['dtype']]} {tuple(row['shape'])} ".encode())
                start, end = row["data_offsets"]
                if start != at:
                    raise ValueError(f"{name} does not begin where another tensor ends")
                while at < end and (piece := file.read(min(PIECE, end - at))):
                    whole.update(piece)
                    own.update(piece)
                    at += len(piece)
                tensors[name] = own.hexdigest()
                if at != end:
                    raise ValueError(f"{name} is cut short")
            if file.read(1):
                raise ValueError("something lies behind its tensors")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, MemoryError) as error:
        raise CheckpointError(f"{path}: not a readable safetensors file ({one_line(error)}): copy it again") from error
    return Reading(whole.hexdigest(), tensors)
