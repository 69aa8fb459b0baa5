"""Scores that are kept: one atomic, content-addressed, checksummed file per cell."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from uds_bench.errors import CheckpointError, ConfigurationError, UdsError, UdsWarning
from uds_bench.inference import target
from uds_bench.scores import Score
from uds_bench.scoring.shelf import MOST_STORED, shelf_at
from uds_bench.statistics import INTERVALS
from uds_bench.storage import (
    CELLS,
    StorePlace,
    canonical,
    content_key,
    is_content_key,
    load_json,
    sealed,
    unsealed,
    write_atomic,
)

TRIES = 5
"""How often a score is put in the place of an altered cell that others replace meanwhile."""
DAY = 24 * 60 * 60
ANEW = "it is ignored and made anew"


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
    """Scores in a folder or a bucket. `folder`: a folder of this machine, whose `cache` is worth keeping between
    candidates."""

    def __init__(self, place: StorePlace) -> None:
        self.shelf = shelf_at(place)
        self.folder = self.shelf.folder

    @property
    def cache(self) -> Path:
        """The folder of what may be computed again."""
        return self.folder / "cache"

    def lease(self, key: str) -> AbstractContextManager[bool]:
        """See `Shelf`."""
        return self.shelf.lease(key)

    def require_room(self, wanted: object) -> None:
        """Raises ConfigurationError if the store cannot be written, so that a wanted score that it lacks could not be
        kept."""
        try:
            self.shelf.require_writable("--uds-store, or --store")
        except ConfigurationError as error:
            raise ConfigurationError(f"{wanted} is not stored, and {error}") from None

    def read(self, cell: ScoreKey) -> Score | None:
        """The stored score, or None where it is missing, cut short or altered (warned about, then made anew)."""
        return self.find(cell.key)

    def find(self, key: str) -> Score | None:
        """The same by the cell's key; None of what is no key."""
        if not is_content_key(key):
            return None
        name = _name(key)
        found = self.shelf.get(name)
        try:
            return None if found is None else _score(key, found.content)
        except ValueError as error:
            warnings.warn(f"{self.shelf}/{name} {error}: {ANEW}", UdsWarning, stacklevel=2)
            return None

    def write(self, cell: ScoreKey, score: Score) -> Score:
        """Keep a score, whole or not at all, with a checksum. Returns the score that is kept, which may be another's
        that was first."""
        name, content = _name(cell.key), sealed(canonical(score.to_json()))
        if len(content) > MOST_STORED:
            raise UdsError(
                f"{self.shelf}/{name} would have {len(content):,} bytes, which no store gives back: ask less"
            )
        for _ in range(TRIES):
            if self.shelf.put_if_absent(name, content):
                return score
            if (found := self.shelf.get(name)) is not None:
                with suppress(ValueError):
                    return _score(cell.key, found.content)
                if self.shelf.replace(name, content, found):
                    return score
        raise UdsError(f"{self.shelf}/{name} was altered again and again while it was written: run again")

    def made(self, name: str, make: Callable[[], bytes]) -> bytes:
        """The content kept under a name, else made and kept; if nothing can be put, it is made each time."""
        found = self.shelf.get(name)
        if found is not None:
            if (payload := unsealed(found.content)) is not None:
                return payload
            warnings.warn(f"{self.shelf}/{name} is cut short or altered: {ANEW}", UdsWarning, stacklevel=2)
        payload = make()
        with suppress(UdsError):
            if found is None:
                self.shelf.put_if_absent(name, sealed(payload))
            else:
                self.shelf.replace(name, sealed(payload), found)
        return payload


def _name(key: str) -> str:
    return f"{CELLS}/{key[:2]}/{key}.json"


def _score(key: str, content: bytes) -> Score:
    """The score of a cell, read from the content found in its place. Raises ValueError if that is no score of the
    cell."""
    if (payload := unsealed(content)) is None:
        raise ValueError("is cut short or altered")
    try:
        score = Score.from_json(load_json(payload))
        if score.provenance["cell"] != key:
            raise ValueError("it is the score of another cell")
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"is not a score ({error})") from error
    return score


class Failures:
    """What could not be computed in this run, shared by the processes of one run and forgotten after it."""

    def __init__(self, store: Store) -> None:
        run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
        self._folder = None if run is None else store.folder / "failures" / run
        self.known: dict[str, UdsError] = {}

    def add(self, checkpoint: str, error: UdsError) -> None:
        """Keep why a checkpoint cannot be scored, for other processes too."""
        self.known[checkpoint] = error
        if self._folder is not None:
            row = [checkpoint, str(error), isinstance(error, CheckpointError)]
            with suppress(OSError):  # on a disk that is full, each finds it by itself
                write_atomic(self._folder / content_key(checkpoint), canonical(row))
                _clear_old(self._folder)

    def raise_if(self, checkpoint: str) -> None:
        """Raise the error that this checkpoint, or score, met before, in whichever process."""
        if self._folder is not None and checkpoint not in self.known:
            file = self._folder / content_key(checkpoint)
            if file.exists():
                _, message, is_of_checkpoint = json.loads(file.read_bytes())
                self.known[checkpoint] = (CheckpointError if is_of_checkpoint else UdsError)(message)
        if checkpoint in self.known:
            raise self.known[checkpoint]


def _clear_old(own: Path) -> None:
    """Delete the failures of runs that ended long ago: nobody will ask for them. Their age goes by the clock of their
    folder, as this machine's may differ."""
    now = own.stat().st_mtime
    for run in own.parent.glob("*"):
        if run.stat().st_mtime < now - DAY:
            shutil.rmtree(run, ignore_errors=True)


def provenance(cell: ScoreKey, **more: Any) -> dict[str, Any]:
    """What a record says about where its value comes from."""
    return asdict(cell) | {"references": list(cell.references), "cell": cell.key} | more
