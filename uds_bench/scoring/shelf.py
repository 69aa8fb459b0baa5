"""What a store keeps its scores on: files by name, each whole or not there, in a folder or in a bucket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from uds_bench.storage import StorePlace

MOST_STORED = 256 << 20
"""Bytes of a file that is read of a store; a score of 100,000 facts has a fifth of it."""


@dataclass(frozen=True)
class Found:
    """A file as it was read. `version`: names this content, so that only this content is replaced."""

    content: bytes
    version: Any = None


class Shelf(Protocol):
    """Files by name, with `/` between folders. Every method raises UdsError where the place cannot be read or written.

    `folder`: a folder of this machine that holds what may be computed again; for a folder of scores it holds all.
    """

    folder: Path

    def get(self, name: str) -> Found | None:
        """A file; None where there is none."""

    def put_if_absent(self, name: str, content: bytes) -> bool:
        """Put a file where none is; False, and nothing is done, where one is."""

    def replace(self, name: str, content: bytes, found: Found) -> bool:
        """Put a file in the place of the one that was found; False if that has changed since."""

    def names(self, under: str) -> Iterator[str]:
        """Files below a folder."""

    def lease(self, key: str) -> AbstractContextManager[bool]:
        """Whether this process alone scores what `key` names while the block lasts; False where another one does."""

    def lease_at(self, key: str) -> str:
        """The place of the lease of a key, for a process that waits for it."""

    def require(self, option: str) -> None:
        """Raises ConfigurationError, naming the option, where the place cannot be read, or holds nothing and takes
        nothing."""

    def require_writable(self, option: str) -> None:
        """Raises ConfigurationError, naming the option, where nothing can be put there."""


def shelf_at(place: StorePlace) -> Shelf:
    """The shelf at a place. Raises ConfigurationError for a URL of no bucket, ExtraError without the extra `cloud`."""
    if isinstance(place, str):
        from uds_bench.scoring.bucket import Bucket, require_url

        require_url(place, "--store")
        return Bucket(place)
    from uds_bench.scoring.folder import Folder

    return Folder(place)
