"""Scores on disk: one atomic, content-addressed, checksummed file per cell."""

from __future__ import annotations

import json
import os
import shutil
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from uds_bench.errors import CheckpointError, ConfigurationError, UdsError, UdsWarning
from uds_bench.inference import target
from uds_bench.scores import Score
from uds_bench.statistics import INTERVALS
from uds_bench.storage import (
    CELLS,
    canonical,
    content_key,
    load_json,
    read_sealed,
    require_writable,
    write_atomic,
    write_sealed,
)

DAY = 24 * 60 * 60


@dataclass(frozen=True)
class ScoreKey:
    """Everything that a score depends on, by content and never by name; `references` are empty where none is used."""

    checkpoint: str
    attack: str
    attack_key: str
    metric: str
    metric_version: int
    variant: str
    references: tuple[str, ...]
    facts: str
    device: str
    batch_size: int
    code: str
    """Digest of the code that computes it."""
    seed: int = 0
    engine: int = target.VERSION
    """Version of the code that reads activations, which every metric stands on."""
    intervals: str = INTERVALS

    @property
    def key(self) -> str:
        """Its name in the store, by content."""
        return content_key(vars(self))


class Store:
    """A folder of cells. `cache` beside them holds what is worth keeping between candidates."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def cache(self) -> Path:
        """The folder of what may be computed again."""
        return self.folder / "cache"

    @contextmanager
    def lease(self, key: str) -> Iterator[bool]:
        """Whether this process alone scores what `key` names while the block lasts; False where another one does.

        The system frees what a killed process held. On a network folder it holds between machines where the mount
        passes `flock` on; elsewhere two of them may compute the same, and either writes it whole.
        """
        lock = FileLock(self.folder / "leases" / f"{key}.lock")
        with suppress(Timeout):
            lock.acquire(blocking=False)
        try:
            yield lock.is_locked
        finally:
            lock.release()

    def require_room(self, wanted: object) -> None:
        """Raises ConfigurationError where what is wanted and not here could not be written either."""
        try:
            require_writable(self.folder, "--uds-store, or --store")
        except ConfigurationError as error:
            raise ConfigurationError(f"{wanted} is not stored, and {error}") from None

    def read(self, cell: ScoreKey) -> Score | None:
        """The stored score, or None where it is missing, cut short or altered (warned about, then made anew)."""
        return self.find(cell.key)

    def find(self, key: str) -> Score | None:
        """The same by the cell's key."""
        payload = read_sealed(self._path(key))
        if payload is None:
            return None
        try:
            score = Score.from_json(load_json(payload))
            if score.provenance["cell"] != key:
                raise ValueError("it is the score of another cell")
            return score
        except (ValueError, KeyError, TypeError) as error:
            warnings.warn(f"{self._path(key)} is not a score ({error}): it is made anew", UdsWarning, stacklevel=2)
            return None

    def write(self, cell: ScoreKey, score: Score) -> None:
        """Keep a score, whole or not at all, with a checksum."""
        write_sealed(self._path(cell.key), canonical(score.to_json()))

    def _path(self, key: str) -> Path:
        return self.folder / CELLS / key[:2] / f"{key}.json"


class Failures:
    """What could not be computed in this run, shared by the processes of one run and forgotten after it."""

    def __init__(self, store: Store) -> None:
        run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
        self._folder = None if run is None else store.folder / "failures" / run
        self.known: dict[str, UdsError] = {}
        if self._folder is not None:
            _clear_old(self._folder.parent)

    def add(self, checkpoint: str, error: UdsError) -> None:
        """Keep why a checkpoint cannot be scored, for other processes too."""
        self.known[checkpoint] = error
        if self._folder is not None:
            row = [checkpoint, str(error), isinstance(error, CheckpointError)]
            write_atomic(self._folder / content_key(checkpoint), canonical(row))

    def raise_if(self, checkpoint: str) -> None:
        """Raise the error that this checkpoint, or score, met before, in whichever process."""
        if self._folder is not None and checkpoint not in self.known:
            file = self._folder / content_key(checkpoint)
            if file.exists():
                _, message, is_of_checkpoint = json.loads(file.read_bytes())
                self.known[checkpoint] = (CheckpointError if is_of_checkpoint else UdsError)(message)
        if checkpoint in self.known:
            raise self.known[checkpoint]


def _clear_old(folder: Path) -> None:
    """Failures of runs that ended long ago: nobody will ask for them."""
    for run in folder.glob("*"):
        if run.stat().st_mtime < time.time() - DAY:
            shutil.rmtree(run, ignore_errors=True)


def provenance(cell: ScoreKey, **more: Any) -> dict[str, Any]:
    """What a record says about where its value comes from."""
    return asdict(cell) | {"references": list(cell.references), "cell": cell.key} | more
