"""Seconds for a model's tokens: read in passes, or decoded one per step for all rows of a batch. The time of decoding
grows with batches and replies more than with facts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import torch

from uds_bench.checkpoints import Checkpoint
from uds_bench.device import at_a_time
from uds_bench.inference.batches import halving
from uds_bench.inference.generation import BATCH
from uds_bench.inference.preallocated import preallocated_cache

LENGTH, STEPS = 32, 3
"""Tokens before the timed steps, and the number of timed steps."""
ROWS = 8
"""Rows of `LENGTH` tokens each in the timed pass."""


@dataclass
class DecodingCost:
    """Seconds of a decoding step of one model, timed once for each number of rows. `load` loads the model when first
    needed."""

    load: Callable[[], Checkpoint]
    _known: dict[int, float] = field(default_factory=dict)

    def of(self, steps: Mapping[int, float], times: float = 1.0) -> float:
        """Seconds of decoding, of some facts or of more.

        Args:
            steps: How often so many rows took a step together, by rows.
            times: How many times as many facts there are, 1 and above.

        Returns:
            Seconds, 0 and above: as many steps of more rows, and of more batches where a batch is full.
        """
        taken = sum(steps.values())
        if not taken:
            return 0.0
        rows = times * sum(count * many for count, many in steps.items()) / taken
        batches = math.ceil(rows / at_a_time(BATCH))
        return taken * batches * self._step(max(1, round(rows / batches)))

    def passed(self, tokens: float) -> float:
        """Seconds that so many tokens take in passes, 0 and above."""
        return tokens * self._token

    @cached_property
    @torch.inference_mode()
    def _token(self) -> float:
        model, ids = self._model.model, torch.zeros(ROWS, LENGTH, dtype=torch.long, device=self._model.device)
        model(input_ids=ids)  # not counted
        started = self._now()
        model(input_ids=ids)
        return (self._now() - started) / ids.numel()

    def _step(self, rows: int) -> float:
        if rows not in self._known:
            # Rows that do not fit at a time are decoded one part after the other.
            self._known[rows] = halving(lambda size: self._timed(size) * math.ceil(rows / size), rows, "prompts")
        return self._known[rows]

    @cached_property
    def _model(self) -> Checkpoint:
        return self.load()

    @torch.inference_mode()
    def _timed(self, rows: int) -> float:
        model, ids = self._model.model, torch.zeros(rows, LENGTH, dtype=torch.long, device=self._model.device)
        # What keeps a state, and no keys, takes as long for a token without one.
        cache = preallocated_cache(model)
        given = {} if cache is None else {"past_key_values": cache, "use_cache": True}
        model(input_ids=ids, **given)
        model(input_ids=ids[:, :1], **given)  # makes room, and is not counted
        started = self._now()
        for _ in range(STEPS):
            model(input_ids=ids[:, :1], **given)
        return (self._now() - started) / STEPS

    def _now(self) -> float:
        if self._model.device.type == "cuda":
            torch.cuda.synchronize(self._model.device)
        return time.perf_counter()
