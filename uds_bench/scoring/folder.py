"""Scores in a folder, also one that several machines mount."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from uds_bench.errors import UdsError, unwritten
from uds_bench.scoring.shelf import Found
from uds_bench.storage import require_store, require_writable, write_atomic, write_new


class Folder:
    """See `Shelf`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __str__(self) -> str:
        return str(self.folder)

    def get(self, name: str) -> Found | None:
        """See `Shelf`."""
        try:
            return Found((self.folder / name).read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UdsError(
                f"{self.folder / name} cannot be read ({error.strerror or error}): mend its permissions"
            ) from error

    def put_if_absent(self, name: str, content: bytes) -> bool:
        """See `Shelf`."""
        with self._writing():
            return write_new(self.folder / name, content)

    def replace(self, name: str, content: bytes, found: Found) -> bool:
        """See `Shelf`. A file that was altered a moment ago is replaced as well: whoever writes it holds its lease."""
        with self._writing():
            write_atomic(self.folder / name, content)
        return True

    def names(self, under: str) -> Iterator[str]:
        """See `Shelf`."""
        for path in (self.folder / under).rglob("*.json"):
            if not path.name.startswith("."):
                yield path.relative_to(self.folder).as_posix()

    @contextmanager
    def lease(self, key: str) -> Iterator[bool]:
        """See `Shelf`.

        The system frees what a killed process held. On a network folder it holds between machines where the mount
        passes `flock` on; elsewhere two of them may compute the same, and either writes it whole.
        """
        lock = FileLock(self.folder / "leases" / f"{key}.lock")
        with suppress(Timeout), self._writing():
            lock.acquire(blocking=False)
        try:
            yield lock.is_locked
        finally:
            lock.release()

    def require(self, option: str) -> None:
        """See `Shelf`."""
        require_store(self.folder, option)

    def require_writable(self, option: str) -> None:
        """See `Shelf`."""
        require_writable(self.folder, option)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except Timeout:
            raise
        except OSError as error:
            raise unwritten(self.folder, error) from error
