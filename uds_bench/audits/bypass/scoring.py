"""The runner of a reasoning audit: a model of which there are replies alone is not loaded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from uds_bench.audits.bypass.replies import is_surface, surface
from uds_bench.scoring.runner import ScoreRequest, ScoreRunner
from uds_bench.scoring.workers import Work


class BypassRunner(ScoreRunner):
    """See `ScoreRunner`."""

    def digest(self, name: str, device: str | None = None) -> str:
        """Of a model without weights, that of its tokenizer."""
        return surface(self.spec(name)).digest if self._speaks_alone(name) else super().digest(name, device)

    def work(self, requests: Iterable[ScoreRequest]) -> Work:
        """See `ScoreRunner.work`; only models that have weights tell how much memory they take."""
        found = super().work(requests)
        # How much memory a process takes is told by weights.
        return replace(found, largest=None) if any(map(self._speaks_alone, self.specs)) else found

    def _whole(self, name: str) -> Any:
        return surface(self.spec(name)) if self._speaks_alone(name) else super()._whole(name)

    def _speaks_alone(self, name: str) -> bool:
        return bool(self.evaluator.recorded) and is_surface(self.spec(name))

    @property
    def _like(self) -> Any:
        return partial(BypassRunner, self.specs, self.evaluator, self.store, self.device, self.attacks)
