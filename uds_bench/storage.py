"""Files that are either whole or absent: atomic writes, sealed with a checksum that every read verifies."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import mmap
import os
import re
import secrets
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

from platformdirs import user_cache_dir

from uds_bench.errors import ConfigurationError, UdsWarning

SEAL = b"\nsha256:"
CELLS = "cells"
"""Where in a store its scores are."""
StorePlace = Path | str
"""Where scores are kept: a folder, or a bucket by its URL."""
HOUR = 60 * 60
PIECE = 1 << 20
"""Bytes that are read at a time."""
MOST_TEXT = 1 << 30
"""Bytes of a file that is read whole, as text."""
MOST_DIGITS, NEAR = 300, 40
"""Digits of a whole number that a float holds; characters that say where something stands."""
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_TOKEN = re.compile(r"\.[0-9a-f]{16}")
_KEY = re.compile(r"[0-9a-f]{64}")
_URL = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)


def default_cache() -> Path:
    """`UDS_BENCH_CACHE`, else the user's cache directory for uds-bench."""
    return Path(os.environ.get("UDS_BENCH_CACHE") or user_cache_dir("uds-bench"))


def require_writable(folder: Path, option: str) -> Path:
    """Create `folder` if need be and prove that it takes files; a clear error naming the option if it does not."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ConfigurationError(
            f"{folder} is not writable ({error.strerror or error}): name another folder with {option}"
        ) from error
    return folder


def is_url(named: str) -> bool:
    """Whether a place is named as a bucket is, by a URL.

    Example:
        >>> is_url("s3://bucket/scores"), is_url("scores")
        (True, False)
    """
    return _URL.match(named) is not None


def scores_place(named: str | None) -> StorePlace:
    """Where a command keeps scores: what is named, else a folder of the user's cache."""
    if named is None:
        return default_cache() / "store"
    return named if is_url(named) else Path(named).absolute()


def require_store(folder: Path, option: str) -> Path:
    """The same of a folder of scores; one that has some may be there to be read only."""
    return folder if (folder / CELLS).is_dir() else require_writable(folder, option)


def read_text(path: Path) -> str:
    """A UTF-8 file as text, whose lines end alike. Raises OSError as `open`, and ValueError for what is no UTF-8 and
    for more bytes than are read whole."""
    text = read_whole(path, MOST_TEXT).decode("utf-8-sig")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def read_whole(path: Path, most: int) -> bytes:
    """A file's bytes. Raises OSError as `open`, and ValueError for more than `most`, of which no more are read."""
    pieces, size = list[bytes](), 0
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            pieces.append(piece)
            if (size := size + len(piece)) > most:
                raise ValueError(f"has more than {most >> 20} MiB")
    return b"".join(pieces)


def load_json(text: str | bytes) -> Any:
    """A JSON value. Raises ValueError, also where it is nested too deeply to be read."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def load_document(text: str, finite: bool = False) -> Any:
    """The JSON that somebody sent. Raises ValueError also for what nobody writes: numbers too large to count with,
    halves of characters, which no file and no terminal takes, and a key twice, of which others read the first;
    `finite`: for NaN and Infinity as well."""

    def constant(word: str) -> float:
        if finite:
            raise ValueError(f"{word} is no number")
        return float(word)

    try:
        value = json.loads(
            text, parse_int=_whole, parse_float=_fraction, parse_constant=constant, object_pairs_hook=_each_once
        )
        if _HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeEncodeError as error:
        before, half = error.object[max(error.start - NEAR, 0) : error.start], error.object[error.start]
        raise ValueError(f"half a character, {half!a}, behind {before}") from None
    return value


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) < len(pairs):
        key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"the key {key[:NEAR]!a} stands twice")
    return found


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number has {len(digits)} digits")
    return int(digits)


def _fraction(digits: str) -> float:
    if math.isinf(value := float(digits)):
        raise ValueError(f"{digits[:NEAR]} is too large a number")
    return value


def read_regular(path: Path, most: int = sys.maxsize) -> bytes | None:
    """The content of a plain file; None of a pipe, a device, and more than `most` bytes. Raises OSError as `open`."""
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        return file.read(size) if _is_regular(file) and size <= most else None


def _opened(path: Path) -> BinaryIO:
    """Opened without waiting: a pipe that somebody put in a file's place has no writer."""
    return open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))


def _is_regular(file: BinaryIO) -> bool:
    return S_ISREG(os.fstat(file.fileno()).st_mode)


def write_json(path: Path, document: Mapping[str, Any], indent: int | None = 1) -> None:
    """Write strict JSON, whole or not at all. Raises ValueError for a number that it has no word for."""
    separators = None if indent else (",", ":")
    write_atomic(path, json.dumps(document, indent=indent, separators=separators, allow_nan=False).encode() + b"\n")


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write JSON objects, one a line, whole or not at all."""
    write_atomic(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())


def write_atomic(path: Path, payload: bytes) -> None:
    """Write beside `path`, flush to disk, then rename: readers see the old file, the new one, or none."""
    with _draft(path, payload) as draft:
        draft.replace(path)


def write_new(path: Path, payload: bytes) -> bool:
    """The same, where nothing is; False, and nothing is done, where something is."""
    with _draft(path, payload) as draft:
        try:
            os.link(draft, path)
        except FileExistsError:
            return False
        except OSError:  # a file system without links: of two writers at one moment the last one stays
            if path.exists():
                return False
            draft.replace(path)
    return True


@contextmanager
def _draft(path: Path, payload: bytes) -> Iterator[Path]:
    """A file beside `path`, flushed to disk; what is left of it goes with the block."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Opened plainly, not by `tempfile`, whose files no other user may read.
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with draft.open("xb") as file:
            file.write(payload)
            file.flush()
            os.fsync(file.fileno())
        _clear_drafts(path, draft.stat().st_mtime)
        yield draft
    except OSError as error:
        error.filename = str(path)  # a write that fails names no file, and the draft's name says nothing
        raise
    finally:
        draft.unlink(missing_ok=True)


def _clear_drafts(path: Path, now: float) -> None:
    """What a killed one left half written of the same file, long enough ago that nobody is still writing it. `now` is
    of the clock that gave the files their times: on a network folder that is another machine's."""
    for draft in path.parent.glob(f".{escape(path.name)}.*"):
        with suppress(OSError):
            if _TOKEN.fullmatch(draft.suffix) and draft.stat().st_mtime < now - HOUR:
                draft.unlink()


def sealed(payload: bytes) -> bytes:
    """Bytes with their SHA-256 behind them."""
    return payload + SEAL + hashlib.sha256(payload).hexdigest().encode()


def unsealed(content: bytes) -> bytes | None:
    """The payload of sealed bytes; None where they are cut short or altered."""
    payload, _, digest = content.rpartition(SEAL)
    return payload if digest.decode("ascii", "replace") == hashlib.sha256(payload).hexdigest() else None


def write_sealed(path: Path, payload: bytes) -> None:
    """Write bytes whole or not at all, with their SHA-256 behind them."""
    write_atomic(path, sealed(payload))


def read_sealed(path: Path) -> bytes | None:
    """The payload, or None where the file is missing, cut short or altered (said in a warning: it is made anew)."""
    try:
        content = read_regular(path)
    except FileNotFoundError:
        return None
    payload = None if content is None else unsealed(content)
    if payload is None:
        _warn_altered(path)
    return payload


def map_sealed(path: Path) -> memoryview | None:
    """The same of a file that is checked and then mapped: what is read of it later takes no memory of its own."""
    try:
        with _opened(path) as file:
            if not _is_regular(file):
                raise ValueError("is no plain file")
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError:  # an empty file cannot be mapped
        _warn_altered(path)
        return None
    payload = memoryview(content)[: max(content.rfind(SEAL), 0)]
    if content[len(payload) :] == SEAL + hashlib.sha256(payload).hexdigest().encode():
        return payload
    _warn_altered(path)
    return None


def _warn_altered(path: Path) -> None:
    warnings.warn(f"{path} is cut short or altered: it is ignored and made anew", UdsWarning, stacklevel=3)


def file_digest(path: Path) -> str:
    """SHA-256 (hex) of a plain file's bytes, as many as it has. Raises OSError for any other, which may have no end."""
    sha = hashlib.sha256()
    with _opened(path) as file:
        if not _is_regular(file):
            raise OSError(errno.EINVAL, "is no plain file", str(path))
        left = os.fstat(file.fileno()).st_size
        while left and (piece := file.read(min(left, PIECE))):
            sha.update(piece)
            left -= len(piece)
    return sha.hexdigest()


def canonical(value: Any) -> bytes:
    """JSON with one spelling per value: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def content_key(value: Any) -> str:
    """SHA-256 (hex) of a JSON value: the address of what was computed from it."""
    return hashlib.sha256(canonical(value)).hexdigest()


def is_content_key(value: object) -> bool:
    """Whether a value has the shape of what `content_key` gives: a document may name anything.

    Example:
        >>> is_content_key(content_key({})), is_content_key("../forged")
        (True, False)
    """
    return isinstance(value, str) and _KEY.fullmatch(value) is not None
