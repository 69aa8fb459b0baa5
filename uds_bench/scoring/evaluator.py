"""What is done to one loaded checkpoint: the part that needs the model, whose outcome is kept as a score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.metrics.metric import Measure, Measured, Unit


class Evaluator(Protocol):
    """An audit, or a metric, with its data and settings; it can be sent to other processes.

    `measure`: what it measures; `units`: what its values are of; `digest`: what is asked, by content, the same for
    all checkpoints; `references`: digests of other checkpoints, and what lies beside them, that an outcome for one of
    them depends on; none unless an audit says so. `evaluate`: what it finds on a loaded checkpoint.
    """

    @property
    def measure(self) -> Measure:
        """What it measures."""

    @property
    def variant(self) -> str:
        """The form in which it is measured."""

    @property
    def units(self) -> Sequence[Unit]:
        """What its values are of."""

    @property
    def digest(self) -> str:
        """What is asked, by content, the same for all checkpoints."""

    def references(self, checkpoint: CheckpointSpec, device: str, /) -> tuple[str, ...]:
        """Digests of what else an outcome for one checkpoint depends on."""
        return ()

    def part(self, share: float, /) -> Self | None:
        """The same evaluator on a share of its units, above 0 to 1, with some of each sort, to tell what all of it
        costs. None if it is measured whole or not at all."""
        return None

    def evaluate(self, subject: Any, /) -> Measured:
        """What it finds on a loaded checkpoint."""
