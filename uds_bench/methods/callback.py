"""What cheap metrics say while a method trains, for Hugging Face's Trainer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from transformers import TrainerCallback

from uds_bench.checkpoints import Checkpoint, CheckpointSpec, find_anatomy
from uds_bench.errors import ConfigurationError
from uds_bench.facts import FactSet, require_forget
from uds_bench.metrics import find_metric
from uds_bench.metrics.subject import ReferenceModels, Subject
from uds_bench.statistics import mean

if TYPE_CHECKING:
    from collections.abc import Iterator

CHEAP = frozenset({"generations"})
"""What a metric may need beside the model and the facts, to be read while it trains."""


class ScoreCallback(TrainerCallback):
    """Scores the facts to be forgotten by metrics that need no reference, before training and every so many steps.

    A low score says that the model is silent, not that it has forgotten: `pytest suites/` decides that.

    Args:
        facts: Facts with a forget split.
        tokenizer: The model's.
        every: Steps between two readings.
        metrics: Names of metrics; `em`, `es` and `prob` take one pass together, `rouge` generates.
        batch_size: Facts that go through the model at a time.
        log: What is told each reading, such as `trainer.log`; set it once the trainer is made.

    Attributes:
        history: A row a reading: `step`, and each metric by its name, in its own direction and range;
            NaN where no fact has a value.

    Raises:
        ConfigurationError: A metric is unknown, needs references, or facts that are not there.

    Example:
        ```python
        callback = ScoreCallback(facts, tokenizer, every=20)
        trainer = Trainer(model, arguments, train_dataset=data, callbacks=[callback])
        callback.log = trainer.log
        trainer.train()
        ```
    """

    def __init__(
        self,
        facts: FactSet,
        tokenizer: Any,
        every: int = 50,
        metrics: Sequence[str] = ("prob", "em"),
        batch_size: int = 16,
        log: Callable[[dict[str, float]], Any] | None = None,
    ) -> None:
        self.metrics = [find_metric(name) for name in metrics]
        for metric in self.metrics:
            if beyond := sorted(metric.needs - CHEAP):
                raise ConfigurationError(
                    f"metric {metric.name} needs {', '.join(beyond)}: it cannot be read in training"
                )
            for split in metric.splits:
                if not facts.split(split):
                    raise ConfigurationError(f"metric {metric.name} needs facts of the split {split}: add some")
        self.facts, self.tokenizer = require_forget(facts, "the callback's facts"), tokenizer
        self.every, self.batch_size, self.log = every, batch_size, log
        self.history: list[dict[str, float]] = []

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """See `transformers.TrainerCallback`."""
        self._read(state, kwargs["model"])

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """See `transformers.TrainerCallback`."""
        if state.global_step % self.every == 0:
            self._read(state, kwargs["model"])

    def _read(self, state: Any, model: Any) -> None:
        if not state.is_world_process_zero:
            return
        if hasattr(model, "get_base_model"):  # of PEFT: the base with the adapter's layers in it
            model = model.get_base_model()
        with _at_rest(model):
            checkpoint = Checkpoint(CheckpointSpec("in training"), model, self.tokenizer, find_anatomy(model), "")
            subject = Subject(checkpoint, ReferenceModels(_no_reference, {}, self.facts, batch_size=self.batch_size))
            read = {metric.name: metric.compute(subject, metric.variant(None)).values for metric in self.metrics}
        found = {name: mean(one.value for one in values if one.value is not None) for name, values in read.items()}
        self.history.append({"step": float(state.global_step), **found})
        if self.log is not None:
            self.log(found)


def _no_reference(name: str) -> Checkpoint:
    raise ConfigurationError(f"there is no {name} model in training")


@contextmanager
def _at_rest(model: Any) -> Iterator[None]:
    """The model as it is judged: without dropout or gradients, and without a random number drawn from training's."""
    training = model.training
    model.eval()
    try:
        with torch.random.fork_rng(), torch.no_grad():
            yield
    finally:
        model.train(training)
