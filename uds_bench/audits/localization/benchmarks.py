"""What a checkpoint answers of benchmarks, document by document, asked through lm-evaluation-harness."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from uds_bench.audits.localization import tasks, utility
from uds_bench.audits.localization.tasks import RIGHT, Tasks
from uds_bench.checkpoints import Checkpoint
from uds_bench.errors import ConfigurationError, UdsError, failures, one_line
from uds_bench.metrics.metric import FactValue, Measure, Measured, MetricSummary
from uds_bench.scoring.evaluator import Evaluator
from uds_bench.statistics import SEED
from uds_bench.storage import content_key

BATCH = 16
"""Answers that go through the model at a time."""


@dataclass(frozen=True)
class TaskQuestion:
    """One question of a task; `kind`: the name that it counts under, of its task or of a group."""

    id: str
    kind: str

    @property
    def cluster(self) -> str:
        """What intervals resample: the document itself."""
        return self.id


@dataclass(frozen=True)
class BenchmarkEvaluator(Evaluator):
    """Which documents of `names` a checkpoint answers rightly: the likeliest choice is its answer (Lacuna, section
    3.3), without examples before the question unless the task has some.

    `limit`: the first documents of each task, and of each task of a group; None: all. `folder`: where task files of
    one's own lie. See `uds_bench.scoring.evaluator.Evaluator`.
    """

    names: tuple[str, ...]
    limit: int | None = None
    folder: Path | None = None

    measure: ClassVar[Measure] = Measure(
        name="localization_benchmarks", version=1, direction="utility", limits=(0.0, 1.0), source="Lacuna, section 3.3"
    )
    variant: ClassVar[str] = "default"

    def __reduce__(self) -> Any:
        """Without what was loaded, which other processes load for themselves."""
        return type(self), (self.names, self.limit, self.folder)

    @cached_property
    def tasks(self) -> Tasks:
        """The benchmarks, loaded."""
        return tasks.load(self.names, self.folder)

    @property
    def units(self) -> Sequence[TaskQuestion]:
        """The documents, which are loaded to be known. Raises ConfigurationError where they cannot be had."""
        return [
            TaskQuestion(f"{own}/{at}", name)
            for name, below in self.tasks.items()
            for own, task in below.items()
            for at in range(len(task.eval_docs))[: self.limit]
        ]

    @cached_property
    def digest(self) -> str:
        """Tasks and how many documents are asked, by content."""
        return content_key([tasks.digest(self.names, self.folder), self.limit, SEED])

    def evaluate(self, checkpoint: Checkpoint) -> Measured:
        """Per document 1 where the likeliest choice is right, with the number of choices and what a guesser has; the
        value is the mean over tasks of the share of their documents."""
        singly = {own: task for below in self.tasks.values() for own, task in below.items()}
        logged = _ask(checkpoint, singly, self.limit)
        values: list[FactValue] = []
        rights: list[list[float]] = []
        for below in self.tasks.values():
            found = [_value(own, sample, task) for own, task in below.items() for sample in logged[own]]
            rights.append([math.nan if one.value is None else one.value for one in found])
            values += found
        rate = utility.over_tasks(rights, 0.0)
        asked = [[own, sample["doc_id"], sample["arguments"]] for own in singly for sample in logged[own]]
        return Measured(values, {"rendered": content_key(asked)}, MetricSummary(rate.value, rate.interval))


def _ask(checkpoint: Checkpoint, singly: Mapping[str, Any], limit: int | None) -> dict[str, list[dict[str, Any]]]:
    """By task, what lm-evaluation-harness logs of each document. The model and its tokenizer stay as they are."""
    from lm_eval import evaluate
    from lm_eval.models.huggingface import HFLM

    try:
        with tasks.alone():
            # A copy, as one that has no padding token is given one.
            tokenizer = copy.deepcopy(checkpoint.tokenizer)
            model = HFLM(checkpoint.model, backend="causal", tokenizer=tokenizer, batch_size=BATCH)
            for task in singly.values():
                if task.get_config("num_fewshot") is None:
                    task.set_config("num_fewshot", 0)
                task.set_fewshot_seed(SEED)
            # Not simple_evaluate, which asks the machine and the hub about everything for its log.
            found = evaluate(model, {"tasks": dict(singly), "groups": {}}, limit=limit, bootstrap_iters=0)
    except failures() as error:  # of the package, its tasks or the model: many unrelated classes
        raise UdsError(
            f"lm-evaluation-harness failed on {checkpoint.spec.model} ({type(error).__name__}: {one_line(error)}): see "
            "what the tasks need, or name others under [localization] tasks"
        ) from error
    # A task that reads answers in several ways logs each document once for each: the first counts.
    return {own: [one for one in rows if one["filter"] == rows[0]["filter"]] for own, rows in found["samples"].items()}


def _value(own: str, sample: Mapping[str, Any], task: Any) -> FactValue:
    """One document. The likeliest of numbers that are none would be the first, so such a document has no value."""
    id, right, target = f"{own}/{sample['doc_id']}", sample.get(RIGHT), sample["target"]
    if right not in (0, 1):
        raise ConfigurationError(
            f"{id} is answered rightly by {right}: name tasks whose documents are answered rightly or wrongly"
        )
    choices, golds = len(task.doc_to_choice(sample["doc"])), len(set(target)) if isinstance(target, list) else 1
    detail = {"choices": choices, "chance": golds / choices, "acc_norm": sample.get("acc_norm")}
    if not all(math.isfinite(likelihood) for replies in sample["resps"] for likelihood, _ in replies):
        return FactValue(id, None, "the log-likelihood of a choice is not finite", detail)
    return FactValue(id, float(right), detail=detail)
