"""Metrics of TOFU are those of open-unlearning: its prompts to the token, its values to 1e-5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from statistics import fmean, harmonic_mean
from typing import Any

import pytest
import torch
from families import FAMILIES, in_memory, tiny_tokenizer
from forced_subjects import FACTS, fact, subject
from references import open_unlearning as field
from references import outputs

from uds_bench.facts import Fact, FactSet
from uds_bench.facts.fact import WORLD
from uds_bench.metrics import METRICS
from uds_bench.metrics.metric import FactValue, Measured
from uds_bench.metrics.subject import Subject

LLAMA = (
    "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
    "{% if m.role == 'system' %}Today Date: {{ date_string }}\n\n{% endif %}{{ m.content }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
"""As Llama 3's own template, in short."""
CLOSE = 1e-5
DATED = FactSet(
    [
        *FACTS,
        *(fact(i, "retain", i // 2) for i in range(6)),
        *(replace(fact(i, "retain", i), id=f"{split}-{i}", split=split) for split in WORLD for i in range(5)),
    ],
    date_string=field.DATE,
)
FORGET, HOLDOUT = DATED.split("forget"), DATED.split("holdout")


@cache
def tokenizer() -> Any:
    own = tiny_tokenizer()
    own.add_tokens(["<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"], special_tokens=True)
    own.eos_token, own.chat_template = "<|eot_id|>", LLAMA
    return own


@cache
def models() -> tuple[Any, Any]:
    """A candidate and a retain model, in float32."""
    size = len(tokenizer())
    known, never = (FAMILIES["llama"](size, seed=seed) for seed in (0, 1))
    _taught(known)
    return in_memory(known, tokenizer()), in_memory(never, tokenizer())


def _taught(model: Any) -> None:
    """Some of the answers, some of the way: values at an end would show nothing."""
    some = [*FORGET[:5], *(one for split in ("retain", *WORLD) for one in DATED.split(split)[:2])]
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(40):
        for one in some:
            ids, start = field.prepared(tokenizer(), one.question, one.answer)
            labels = torch.tensor([[-100] * start + ids[start:]])
            model(input_ids=torch.tensor([ids]), labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@cache
def asked(retain: bool = False) -> Subject:
    return subject(models()[retain], DATED)


@cache
def item(one: Fact, answer: str, retain: bool = False) -> field.Item:
    return field.Item(models()[retain].model, tokenizer(), one.question, answer)


def items(facts: Sequence[Fact], retain: bool = False) -> list[field.Item]:
    return [item(one, one.answer, retain) for one in facts]


def ratios(aggregator: str, retain: bool = False) -> list[float]:
    return [
        field.truth_ratio(
            item(one, one.paraphrased_answer or "", retain),
            [item(one, answer, retain) for answer in one.perturbed_answers],
            aggregator,
        )
        for one in FORGET
    ]


def values(found: Measured) -> list[float]:
    assert all(value.value is not None for value in found.values)
    return [float(value.value or 0) for value in found.values]


def test_prompts_and_labels_are_the_fields_to_the_token() -> None:
    for one, (answer,) in zip(FORGET, asked().answers(), strict=True):
        ids, start = field.prepared(tokenizer(), one.question, one.answer)
        assert (list(answer.answer.ids), answer.answer.start) == (ids, start)
        assert field.DATE in tokenizer().decode(ids)
        assert field.SYSTEM in tokenizer().decode(ids)
    for ids, (answer,) in zip(asked().questions(), asked().answers(), strict=True):
        assert list(ids) == list(answer.answer.ids[: answer.answer.start])


@pytest.mark.parametrize(
    ("metric", "variant", "theirs"),
    [
        ("prob", "default", lambda one: item(one, one.answer).prob),
        ("para_prob", "default", lambda one: item(one, one.paraphrased_answer).prob),
        ("em", "default", lambda one: item(one, one.answer).exact_memorization),
        ("es", "field", lambda one: item(one, one.answer).extraction_strength),
    ],
)
def test_values_of_each_fact(metric: str, variant: str, theirs: Any) -> None:
    found = values(METRICS[metric].compute(asked(), variant))
    assert found == pytest.approx([theirs(one) for one in FORGET], abs=CLOSE, rel=0)
    assert max(found) - min(found) > 100 * CLOSE, "values at one end would show nothing"


@pytest.mark.parametrize("aggregator", ["prob_mean", "closer_to_1", "true_better"])
def test_truth_ratio_under_each_aggregator(aggregator: str) -> None:
    found = values(METRICS["truth_ratio"].compute(asked(), aggregator))
    assert found == pytest.approx(ratios(aggregator), abs=CLOSE, rel=0)


def test_forget_quality_beside_the_retain_model() -> None:
    retain = METRICS["truth_ratio"].compute(asked(retain=True), "prob_mean").values
    one = subject(models()[0], DATED, retain={"truth_ratio": retain})
    found = METRICS["forget_quality"].compute(one, "prob_mean").summary
    assert found is not None
    theirs = field.forget_quality(ratios("closer_to_1"), ratios("closer_to_1", retain=True))
    assert found.value == pytest.approx(theirs, abs=CLOSE, rel=0)


ATTACKS: dict[str, Any] = {
    "mia_loss": lambda one: one.loss,
    "mia_zlib": lambda one: one.zlib,
    "mia_min_k": lambda one: one.min_k(),
    "mia_min_k_plus_plus": lambda one: one.min_k_plus_plus(),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_membership_inference(name: str) -> None:
    metric = METRICS[name]
    found = metric.compute(asked(), metric.variants[0])
    sides = [[ATTACKS[name](one) for one in items(facts)] for facts in (FORGET, HOLDOUT)]
    assert values(found) == pytest.approx([*sides[0], *sides[1]], abs=CLOSE, rel=0)
    assert found.summary is not None
    assert found.summary.value == pytest.approx(outputs.auc(*sides), abs=CLOSE, rel=0)


def test_privleak_beside_the_retain_model() -> None:
    min_k = METRICS["mia_min_k"]
    retain: list[FactValue] = min_k.compute(asked(retain=True), "k0.4").values
    found = METRICS["privleak"].compute(subject(models()[0], DATED, retain={"mia_min_k": retain}), "k0.4").summary
    own, other = (
        outputs.auc(*([one.min_k() for one in items(facts, which)] for facts in (FORGET, HOLDOUT)))
        for which in (False, True)
    )
    assert found is not None
    assert found.value == pytest.approx(field.privleak(own, other), abs=CLOSE, rel=0)
    assert own != other


def test_rouge_of_shared_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    replies = [f"{one.answer[: 10 + at]} living, and more." for at, one in enumerate(FORGET)]
    one = subject(models()[0], DATED)
    monkeypatch.setattr(one, "generations", lambda opening="": replies)
    found = values(METRICS["rouge"].compute(one, "recall"))
    theirs = [
        field.rouge(item(fact, fact.answer).text.strip(), said) for fact, said in zip(FORGET, replies, strict=True)
    ]
    assert found == pytest.approx(theirs, abs=CLOSE, rel=0)
    assert 0 < min(found) < max(found)


def test_utility_of_nine_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    one = subject(models()[0], DATED)
    # A model this small says no word of the answers, and a mean of nothing would be no test.
    monkeypatch.setattr(one, "generations", lambda split: [each.answer[len(each.id) :] for each in one.split(split)])
    found = METRICS["model_utility"].compute(one, "nine")
    theirs: dict[str, float] = {}
    for split, prefix in (("retain", ""), *((split, f"{split}_") for split in WORLD)):
        rows = []
        for each in DATED.split(split):
            own, wrong = item(each, each.answer), [item(each, answer) for answer in each.perturbed_answers]
            true = own if split in WORLD else item(each, each.paraphrased_answer or "")
            offered = outputs.prob_with_options(own.loss, [other.loss for other in wrong])
            likely = offered if split in WORLD else own.prob
            said = field.rouge(own.text.strip(), each.answer[len(each.id) :])
            rows.append((likely, said, field.truth_ratio(true, wrong, "true_better")))
        names = [f"{prefix}{part}" for part in ("prob", "rouge", "truth_ratio")]
        theirs |= dict(zip(names, map(fmean, zip(*rows, strict=True)), strict=True))
    assert {name: found.notes[name] for name in theirs} == pytest.approx(theirs, abs=CLOSE, rel=0)
    assert all(100 * CLOSE < part < 1 - 100 * CLOSE for part in theirs.values()), "means at an end would show nothing"
    assert found.summary is not None
    assert found.summary.value == pytest.approx(harmonic_mean(theirs.values()), abs=CLOSE, rel=0)
