"""Scores in a folder, also one that several machines mount."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from uds_bench.errors import UdsError, unwritten
from uds_bench.scoring.shelf import MOST_STORED, Found
from uds_bench.storage import read_regular, require_store, require_writable, write_atomic, write_new

_NAME = re.compile(r"[\w.-]+(/[\w.-]+)*", re.ASCII)


class Folder:
    """See `Shelf`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __str__(self) -> str:
        return str(self.folder)

    def get(self, name: str) -> Found | None:
        """See `Shelf`."""
        path = self._path(name)
        try:
            # What is no plain file counts as cut short, and is made anew.
            return Found(read_regular(path, MOST_STORED) or b"")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UdsError(f"{path} cannot be read ({error.strerror or error}): mend its permissions") from error

    def put_if_absent(self, name: str, content: bytes) -> bool:
        """See `Shelf`."""
        with self._writing():
            return write_new(self._path(name), content)

    def replace(self, name: str, content: bytes, found: Found) -> bool:
        """See `Shelf`. A file that was altered a moment ago is replaced as well: whoever writes it holds its lease."""
        with self._writing():
            write_atomic(self._path(name), content)
        return True

    def names(self, under: str) -> Iterator[str]:
        """See `Shelf`. Folders that are links are listed too, as files are read there."""
        top = self.folder / under
        try:
            for folder in top.iterdir() if top.is_dir() else ():
                for path in folder.iterdir() if folder.is_dir() else ():
                    if path.suffix == ".json" and not path.name.startswith("."):
                        yield f"{under}/{folder.name}/{path.name}"
        except OSError as error:
            raise UdsError(f"{top} cannot be listed ({error.strerror or error}): mend its permissions") from error

    @contextmanager
    def lease(self, key: str) -> Iterator[bool]:
        """See `Shelf`.

        The system frees the lease of a killed process. On a network folder a lease holds between machines if the mount
        passes `flock` on. Elsewhere two machines may compute the same, and each writes it whole.
        """
        with self._writing():
            path = self._path(f"leases/{key}.lock")
            path.parent.mkdir(parents=True, exist_ok=True)
            # Whoever may read a file may lock it. So only those may read it who may write to its folder, and thus
            # score.
            shared = path.parent.stat().st_mode
            lock = FileLock(path, mode=0o600 | 0o060 * bool(shared & 0o020) | 0o006 * bool(shared & 0o002))
            with suppress(Timeout):
                lock.acquire(blocking=False)
        try:
            yield lock.is_locked
        finally:
            lock.release()

    def lease_at(self, key: str) -> str:
        """See `Shelf`."""
        return str(self._path(f"leases/{key}.lock"))

    def require(self, option: str) -> None:
        """See `Shelf`."""
        require_store(self.folder, option)

    def require_writable(self, option: str) -> None:
        """See `Shelf`."""
        require_writable(self.folder, option)

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name) or ".." in name.split("/"):
            raise UdsError(f"{name!r} is no name of a file in {self.folder}: give letters, digits, dots and slashes")
        return self.folder / name

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise unwritten(self.folder, error) from error
