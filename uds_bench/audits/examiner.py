"""What an audit does to one checkpoint: the part that needs the model, whose outcome is kept as a score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from uds_bench.checkpoints import Checkpoint, CheckpointSpec
from uds_bench.metrics.metric import Measure, Measured, Unit


class Examiner(Protocol):
    """An audit with its data and settings; it can be sent to other processes.

    `measure`: what it measures; `units`: what its values are of; `digest`: everything but the checkpoint itself that an
    outcome for it depends on.
    """

    @property
    def measure(self) -> Measure: ...
    @property
    def variant(self) -> str: ...
    @property
    def units(self) -> Sequence[Unit]: ...
    def digest(self, checkpoint: CheckpointSpec) -> str: ...
    def examine(self, checkpoint: Checkpoint) -> Measured: ...
