"""Loaded checkpoints under measurement: what metrics share is read once and kept."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import numpy as np

from uds_bench.checkpoints import Checkpoint
from uds_bench.facts import FactSet, Variant
from uds_bench.inference.states import Scope
from uds_bench.inference.target import STACK, PatchingTarget, PatchPath, Reading
from uds_bench.storage import content_key, read_sealed, write_sealed

Reference = Literal["full", "retain"]
Loader = Callable[[Reference], Checkpoint]


class References:
    """The full and retain models as every candidate's yardstick.

    `load` gives a reference when it is needed; `digests` names their content, so that a reading of the retain model
    (stage 1 of UDS) is found on disk without loading it.
    """

    def __init__(
        self,
        load: Loader,
        digests: dict[Reference, str],
        facts: FactSet,
        cache: Path | None = None,
        batch_size: int = 16,
    ) -> None:
        self.facts = facts
        self._load, self._digests, self._cache, self._batch_size = load, digests, cache, batch_size
        self._targets: dict[Variant, PatchingTarget] = {}
        self._readings: dict[tuple[Reference, Variant, Scope], Reading] = {}

    def target(self, variant: Variant) -> PatchingTarget:
        if variant not in self._targets:
            full = self._load("full")
            self._targets[variant] = PatchingTarget(full, self.facts, self._cache, self._batch_size, variant)
        return self._targets[variant]

    def reading(self, which: Reference, variant: Variant, scope: Scope) -> Reading:
        """A reference as the source of patching: from memory, from disk, or measured now."""
        place = (which, variant, scope)
        if place not in self._readings:
            target = self.target(variant)
            file = self._file(which, variant, scope, target)
            found = None if file is None else _read(file)
            if found is None:
                found = target.read(self._load(which), scope)
                if file is not None:
                    _write(file, found)
            self._readings[place] = found
        return self._readings[place]

    def _file(self, which: Reference, variant: Variant, scope: Scope, target: PatchingTarget) -> Path | None:
        if self._cache is None:
            return None
        parts = [STACK, self._digests["full"], self._digests[which], target.rendered, variant, scope]
        name = content_key([*parts, self._batch_size, str(target.full.device), target.path(scope)])
        return self._cache / "readings" / name


class LoadedSubject:
    """A loaded checkpoint beside its references; see `uds_bench.metrics.metric.Subject`."""

    def __init__(self, checkpoint: Checkpoint, references: References, role: Reference | None = None) -> None:
        self.checkpoint = checkpoint
        self.references = references
        self._role = role
        self._readings: dict[tuple[Variant, Scope], Reading] = {}

    @property
    def facts(self) -> FactSet:
        return self.references.facts

    def reading(self, variant: Variant = "default", scope: Scope = "block") -> Reading:
        if self._role is not None:
            return self.references.reading(self._role, variant, scope)
        if (variant, scope) not in self._readings:
            self._readings[variant, scope] = self.references.target(variant).read(self.checkpoint, scope)
        return self._readings[variant, scope]

    def retain_reading(self, variant: Variant = "default", scope: Scope = "block") -> Reading:
        return self.references.reading("retain", variant, scope)

    def full_reading(self, variant: Variant = "default", scope: Scope = "block") -> Reading:
        return self.references.reading("full", variant, scope)

    def rendered(self, variant: Variant = "default") -> str:
        return self.references.target(variant).rendered

    def patch_path(self, variant: Variant = "default", scope: Scope = "block") -> tuple[PatchPath, str]:
        target = self.references.target(variant)
        return target.path(scope), target.path_reason


def _write(path: Path, reading: Reading) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, **asdict(reading))
    write_sealed(path, buffer.getvalue())


def _read(path: Path) -> Reading | None:
    payload = read_sealed(path)
    if payload is None:
        return None
    with np.load(io.BytesIO(payload)) as arrays:
        return Reading(**{name: arrays[name] for name in arrays.files})
