"""Cheap metrics while a model trains: what a checkpoint of that step would score, and nothing changed by looking."""

from pathlib import Path
from typing import Any

import pytest
import torch
from families import FAMILIES, save_checkpoint, tiny_tokenizer
from transformers import Trainer, TrainingArguments

from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.errors import ConfigurationError
from uds_bench.facts import FactSet, embedded
from uds_bench.methods.callback import ScoreCallback
from uds_bench.methods.examples import pairs_to_examples
from uds_bench.metrics import find_metric
from uds_bench.metrics.subject import ReferenceModels, Subject

FACTS = embedded(forget=2, retain=1, holdout=0)
METRICS = ("prob", "em", "es", "rouge")


def trained(folder: Path, *callbacks: Any) -> Any:
    """A model after six steps on the facts, with dropout, so that random numbers are drawn."""
    tokenizer = tiny_tokenizer()
    model = FAMILIES["llama"](len(tokenizer), seed=3)
    model.config.attention_dropout = 0.5
    pairs = [(fact.question, fact.answer) for fact in FACTS]
    rows = [{"input_ids": list(one.ids), "labels": list(one.ids)} for one in pairs_to_examples(tokenizer, pairs)]
    arguments = TrainingArguments(
        output_dir=str(folder),
        max_steps=6,
        per_device_train_batch_size=1,
        learning_rate=1e-3,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
        disable_tqdm=True,
        seed=5,
    )
    torch.manual_seed(5)
    trainer = Trainer(model, arguments, train_dataset=rows, callbacks=list(callbacks))
    for callback in callbacks:
        callback.log = trainer.log
    trainer.train()
    return trainer


def test_scores_are_those_of_the_checkpoint_and_training_goes_on_as_without(tmp_path: Path) -> None:
    callback = ScoreCallback(FACTS, tiny_tokenizer(), every=3, metrics=METRICS)
    watched, alone = trained(tmp_path / "a", callback), trained(tmp_path / "b")
    assert [row["step"] for row in callback.history] == [0, 3, 6]
    for name, weight in watched.model.state_dict().items():
        assert torch.equal(weight, alone.model.state_dict()[name]), name
    save_checkpoint(tmp_path / "last", watched.model, tiny_tokenizer())
    subject = Subject(load(CheckpointSpec(str(tmp_path / "last"))), ReferenceModels(lambda name: 1 / 0, {}, FACTS))
    for name in METRICS:
        metric = find_metric(name)
        values = [one.value for one in metric.compute(subject, metric.variant(None)).values if one.value is not None]
        assert callback.history[-1][name] == pytest.approx(sum(values) / len(values), abs=1e-6)
    assert callback.history[0] != callback.history[-1]
    logged = [row for row in watched.state.log_history if "prob" in row]
    assert [row["prob"] for row in logged] == [row["prob"] for row in callback.history]


@pytest.mark.parametrize(
    ("metrics", "told"),
    [
        (("uds",), "metric uds needs full, internals, retain: it cannot be read in training"),
        (("mia_loss",), "metric mia_loss needs holdout"),
        (("bleu",), "bleu"),
    ],
)
def test_what_cannot_be_read_in_training_is_refused(metrics: tuple[str, ...], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        ScoreCallback(FACTS, tiny_tokenizer(), metrics=metrics)


def test_facts_without_any_to_forget_are_refused() -> None:
    with pytest.raises(Exception, match="forget"):
        ScoreCallback(FactSet(FACTS.split("retain")), tiny_tokenizer())
