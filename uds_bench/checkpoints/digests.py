"""A checkpoint's content as one SHA-256: the same for a copy or other shards, another for a new weight."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from uds_bench.checkpoints.reading import ANEW, reading
from uds_bench.checkpoints.settings import canonical_bytes, contents, settings_files, sha256
from uds_bench.checkpoints.source import ADAPTER_CONFIG, resolve
from uds_bench.checkpoints.spec import CheckpointSpec, dtype_name
from uds_bench.checkpoints.weights import finite, not_finite, tensors, weight_files
from uds_bench.storage import canonical, default_cache, load_json, write_atomic


def digest(spec: CheckpointSpec, device: str | torch.device = "cpu") -> str:
    """SHA-256 (hex) of all that decides what a checkpoint says: weights, adapter, tokenizer, configuration,
    quantization and the dtype that it computes in on `device`. Paths, shards and library versions do not
    count.

    Streams the weights; a file whose times have not changed since is not read again, but in a `read_anew` once.
    Raises CheckpointError as `resolve`.
    """
    folders = resolve(spec)
    content: dict[str, Any] = {
        "weights": _weights(folders.model, "model"),
        "files": contents(folders.model, settings_files(folders.model)),
        "quantization": spec.quantization,
        "dtype": dtype_name(spec, device),
    }
    if folders.adapter is not None:
        content["adapter"] = _weights(folders.adapter, "adapter_model")
        content["adapter_files"] = contents(folders.adapter, [folders.adapter / ADAPTER_CONFIG])
    return sha256(canonical_bytes(content))


def weights_digest(folder: Path) -> dict[str, str]:
    """Tensor name -> digest of a model's weights, or nothing where the folder holds none."""
    return _weights(folder, "model") if any(folder.glob("model*.safetensors")) else {}


def _weights(folder: Path, stem: str) -> dict[str, str]:
    """Tensor name -> digest of its dtype, shape and bytes."""
    found: dict[str, str] = {}
    for path in weight_files(folder, stem):
        anew = reading(path)
        found |= remembered(path, _read_tensors)[TENSORS] if anew is None else anew.tensors
    return found


def require_finite(path: Path) -> None:
    """As `check_finite`, by the reading that the digests of an unchanged file come from."""
    for name in remembered(path, _read_tensors)[NOT_FINITE]:
        raise not_finite(path, name)


def _read_tensors(path: Path) -> Content:
    found: Content = {TENSORS: {}, NOT_FINITE: {}}
    for name, tensor in tensors(path):
        found[TENSORS][name] = own = tensor_digest(tensor)
        if not finite(tensor):
            found[NOT_FINITE][name] = own
    return found


def tensor_digest(tensor: torch.Tensor) -> str:
    """SHA-256 of a CPU tensor's dtype, shape and bytes; no copy is made."""
    sha = hashlib.sha256(f"{tensor.dtype} {tuple(tensor.shape)} ".encode())
    sha.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return sha.hexdigest()


Content = dict[str, dict[str, str]]
"""What one reading of a file tells: by kind, names of tensors and their digests."""
TENSORS, NOT_FINITE = "tensors", "not_finite"
SETTLED_NS = 2_000_000_000
"""A file younger than this is always read: file times move in steps, and two writes may fall in one."""

_seen: dict[str, Content] = {}


def remembered(path: Path, compute: Callable[[Path], Content]) -> Content:
    """`compute(path)`, or its earlier result for a file of the same real path, size, times and inode. If `ANEW` is set,
    only results of this process count."""
    real, stat = path.resolve(), path.stat()
    stamp = json.dumps([str(real), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino])
    key = hashlib.sha256(f"{compute.__qualname__} {stamp}".encode()).hexdigest()
    place = cache_folder() / key[:2] / f"{key}.json"
    settled = time.time_ns() - max(stat.st_mtime_ns, stat.st_ctime_ns) > SETTLED_NS
    is_kept = settled and ANEW not in os.environ
    known = _seen.get(key) if settled else None
    known = known or (_read(place) if is_kept else None)
    if known is None:
        known = compute(path)
        if is_kept:
            with contextlib.suppress(OSError):  # without a writable cache, nothing is kept
                write_atomic(place, canonical(known))
    if settled:
        _seen[key] = known
    return known


def cache_folder() -> Path:
    """Where digests of weight files are kept between runs; safe to delete."""
    return default_cache() / "digests"


def _read(place: Path) -> Content | None:
    try:
        value = load_json(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    whole = isinstance(value, dict) and value.keys() == {TENSORS, NOT_FINITE} and all(map(_are_digests, value.values()))
    return value if whole and value[TENSORS] else None


def _are_digests(said: Any) -> bool:
    return isinstance(said, dict) and all(isinstance(one, str) and len(one) == 64 for one in said.values())
