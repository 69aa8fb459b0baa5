"""Prob, ParaProb, EM, ES, Truth Ratio: against plain references, from given logits and through models."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import layer_subjects
import numpy as np
import pytest
import torch
from families import FAMILIES, tiny_tokenizer
from forced_subjects import FACTS, TOKENIZER, checkpoint, subject
from hypothesis import given
from hypothesis import strategies as st
from references import outputs

from uds_bench.errors import CheckpointError
from uds_bench.facts import EncodedAnswer, Fact, FactSet, Form, Split
from uds_bench.inference.answers import AnswerScores, answer_scores, token_table
from uds_bench.methods.data import unlearning_data
from uds_bench.metrics import METRICS
from uds_bench.metrics.em import em
from uds_bench.metrics.es import extraction_strength
from uds_bench.metrics.metric import FactValue
from uds_bench.metrics.prob import prob
from uds_bench.metrics.teacher_forced import rendered
from uds_bench.metrics.truth_ratio import VARIANTS, truth_ratio

FROM_LOGITS, THROUGH_MODEL, FLIP = 1e-6, 1e-5, 1e-5
RATIOS = st.floats(-700, 700)


def random_answer(seed: int, words: int, ends: bool, scale: float) -> tuple[AnswerScores, list[list[float]], list[int]]:
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(words + ends, 97, generator=generator)
    tokens = torch.randint(0, 97, (words + ends,), generator=generator)
    hit = torch.rand(words + ends, generator=generator) < 0.5
    tokens = torch.where(hit, logits.argmax(-1), tokens)
    answer = EncodedAnswer((0, *tokens.tolist()), 1, ends, " some text")
    return answer_scores(answer, token_table(logits, tokens)), logits.double().tolist(), tokens.tolist()


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
@pytest.mark.parametrize(("words", "ends"), [(1, True), (1, False), (7, True), (30, False), (30, True)])
def test_values_from_given_logits(words: int, ends: bool, scale: float) -> None:
    for seed in range(5):
        scores, rows, tokens = random_answer(seed, words, ends, scale)
        right = outputs.rights(rows, tokens, ends)
        assert prob([scores]) == pytest.approx(outputs.prob(rows, tokens), abs=FROM_LOGITS)
        assert em([scores]) == outputs.em(right)
        for variant in ("field", "textbook"):
            found = extraction_strength(scores.right[scores.words], variant)
            assert found == outputs.es(right, floor=variant == "field")


# ---- through models


def plain(model: Any, question: str, answer: str) -> tuple[list[list[float]], list[int]]:
    """Logits at, and ids of, the labelled tokens: one unpadded pass on ids built here."""
    prompt = TOKENIZER(f"Question: {question}\nAnswer:")["input_ids"]
    tokens = [*TOKENIZER(f" {answer}", add_special_tokens=False)["input_ids"], TOKENIZER.eos_token_id]
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([prompt + tokens]), use_cache=False).logits[0].double()
    return logits[len(prompt) - 1 : -1].tolist(), tokens


def expected(model: Any, fact: Fact) -> dict[tuple[str, str], float]:
    own, said = plain(model, fact.question, fact.answer), plain(model, fact.question, str(fact.paraphrased_answer))
    wrong = [outputs.prob(*plain(model, fact.question, other)) for other in fact.perturbed_answers]
    right = outputs.rights(*own, ends=True)
    para = outputs.prob(*said)
    return {
        ("prob", "default"): outputs.prob(*own),
        ("para_prob", "default"): para,
        ("em", "default"): outputs.em(right),
        ("es", "field"): outputs.es(right, floor=True),
        ("es", "textbook"): outputs.es(right, floor=False),
        **{("truth_ratio", name): outputs.truth_ratio(para, wrong, name) for name in VARIANTS},
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_values_through_models_in_every_batch_size(family: str) -> None:
    loaded, forget = checkpoint(family), FACTS.split("forget")
    wanted = [expected(loaded.model, fact) for fact in forget]
    ties = sum(outputs.near_ties(*plain(loaded.model, f.question, f.answer), ends=True) for f in forget)
    for size in (1, 3, len(forget)):
        measured = subject(loaded, batch_size=size)
        flips = 0
        for name, variant in wanted[0]:
            found = METRICS[name].compute(measured, variant)
            assert [value.id for value in found.values] == [fact.id for fact in forget]
            for value, row in zip(found.values, wanted, strict=True):
                if name in ("em", "es"):
                    flips += value.value != row[name, variant]
                else:
                    assert value.value == pytest.approx(row[name, variant], abs=THROUGH_MODEL)
            if name in ("em", "es"):
                assert abs(found.notes["near_ties"] - ties) <= ties
        assert flips <= ties


def test_one_pass_feeds_every_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = checkpoint()
    measured, passes = subject(loaded), []
    handle = loaded.model.register_forward_hook(lambda *_: passes.append(1))
    try:
        for name in ("prob", "em", "es", "mia_loss", "mia_zlib", "mia_min_k", "mia_min_k_plus_plus"):
            METRICS[name].compute(measured, METRICS[name].variants[0])
    finally:
        handle.remove()
    assert len(passes) == 2  # the forget facts, the holdout facts; 16 a batch


def test_records_say_what_the_model_saw() -> None:
    found = METRICS["prob"].compute(subject(), "default").notes["rendered"]
    assert found == METRICS["em"].compute(subject(batch_size=1), "default").notes["rendered"]
    moved = FactSet(replace(fact, question=fact.question + "!") for fact in FACTS)
    assert found != METRICS["prob"].compute(subject(facts=moved), "default").notes["rendered"]


READ: dict[str, tuple[tuple[Form, Split], ...]] = {
    **dict.fromkeys(("prob", "em", "es"), (("original", "forget"),)),
    "para_prob": (("paraphrased", "forget"),),
    "truth_ratio": (("paraphrased", "forget"), ("perturbed", "forget")),
    "mia_loss": (("original", "forget"), ("original", "holdout")),
}


@pytest.mark.parametrize("name", READ)
def test_a_record_is_of_all_that_its_metric_read(name: str) -> None:
    measured = subject()
    found = METRICS[name].compute(measured, METRICS[name].variants[0]).notes["rendered"]
    assert found == rendered(*(measured.answers(form, split) for form, split in READ[name]))


def test_the_floor_of_extraction_strength_is_told() -> None:
    lengths = [len(TOKENIZER(f" {f.answer}", add_special_tokens=False)["input_ids"]) for f in FACTS.split("forget")]
    notes = METRICS["es"].compute(subject(), "field").notes
    assert notes["floor"] == pytest.approx(sum(1 / n for n in lengths) / len(lengths))
    assert "floor" not in METRICS["es"].compute(subject(), "textbook").notes
    broken = replace_head(checkpoint("llama", 7), math.nan)
    assert METRICS["es"].compute(subject(broken), "field").notes["floor"] is None, "of no answer"


# ---- what cannot be scored is counted, with its reason


def lacking(**fields: Any) -> FactSet:
    """`FACTS` with the first one changed."""
    return FactSet([replace(FACTS[0], **fields), *FACTS[1:]])


def first(name: str, facts: FactSet, variant: str | None = None) -> FactValue:
    metric = METRICS[name]
    values = metric.compute(subject(facts=facts), metric.variant(variant)).values
    assert all(value.value is not None for value in values[1:])
    assert [value.id for value in values] == [fact.id for fact in facts.split("forget")]
    return values[0]


@pytest.mark.parametrize(
    ("name", "fields", "reason"),
    [
        ("para_prob", {"paraphrased_answer": None}, "the fact has no paraphrased_answer"),
        ("truth_ratio", {"paraphrased_answer": None}, "the fact has no paraphrased_answer"),
        ("truth_ratio", {"perturbed_answers": ()}, "the fact has no perturbed_answers"),
        ("para_prob", {"paraphrased_answer": " "}, "an answer is empty"),
        ("truth_ratio", {"perturbed_answers": ("Rome", "")}, "an answer is empty"),
    ],
)
def test_a_fact_that_lacks_what_is_needed(name: str, fields: dict[str, Any], reason: str) -> None:
    found = first(name, lacking(**fields))
    assert (found.value, found.reason) == (None, reason)


def test_a_one_token_answer() -> None:
    facts = lacking(answer="a", prefix="", entity="a")
    assert len(TOKENIZER(" a", add_special_tokens=False)["input_ids"]) == 1
    found = first("es", facts, "field")
    assert found.value is None
    assert "one token" in str(found.reason)
    assert first("es", facts, "textbook").value in (0.0, 1.0)
    assert first("em", facts).value in (0.0, 1.0)
    assert 0 < first("prob", facts).value < 1


def test_a_model_without_numbers_scores_nothing() -> None:
    """Greedy tokens of NaN are token 0: EM would read that as forgotten."""
    loaded = checkpoint("llama", 7)
    broken = replace_head(loaded, math.nan)
    for name, metric in METRICS.items():
        if name in ("em", "es", "prob", "para_prob", "truth_ratio") or name.startswith("mia"):
            found = metric.compute(subject(broken), metric.variants[0])
            assert {v.value for v in found.values} == {None}
            assert {v.reason for v in found.values} == {"a log-probability is not finite"}
            assert found.summary is None or (found.summary.value is None and found.notes["undefined"])


@pytest.mark.parametrize("variant", ["prefixed", "free"])
def test_a_model_without_numbers_does_not_say_nothing(variant: str) -> None:
    broken = replace_head(layer_subjects.checkpoint("llama", layer_subjects.CANDIDATE), math.nan)
    with pytest.raises(CheckpointError, match="its logits are NaN"):
        METRICS["entity_accuracy"].compute(layer_subjects.subject(broken), variant)


def replace_head(loaded: Any, value: float) -> Any:
    import copy

    from uds_bench.checkpoints import find_anatomy

    broken = copy.copy(loaded)
    broken.model = copy.deepcopy(loaded.model)
    with torch.no_grad():
        broken.model.lm_head.weight[5] = value
    broken.anatomy = find_anatomy(broken.model)
    return broken


# ---- properties


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_extraction_strength_by_its_suffix_is_that_of_the_loop(right: list[bool]) -> None:
    array = np.array(right)
    assert extraction_strength(array, "textbook") == outputs.es(right, floor=False)
    assert extraction_strength(array, "field") == outputs.es(right, floor=True)
    assert extraction_strength(array, "textbook") <= extraction_strength(array, "field")
    assert extraction_strength(array, "textbook") <= sum(right) / len(right)


@given(RATIOS, st.sampled_from(VARIANTS))
def test_truth_ratio_stays_in_its_bounds(log_ratio: float, variant: str) -> None:
    assert 0 <= truth_ratio(log_ratio, variant) <= 1


@pytest.mark.parametrize("log_ratio", [-1e4, 1e4])
def test_a_ratio_beyond_all_numbers_is_at_its_end(log_ratio: float) -> None:
    known = float(log_ratio < 0)
    found = [truth_ratio(log_ratio, variant) for variant in ("prob_mean", "true_better", "closer_to_1")]
    assert found == [known, known, 0.0]


@given(st.floats(-30, 30), st.floats(-30, 30))
def test_truth_ratio_directions(one: float, two: float) -> None:
    low, high = sorted((one, two))
    for variant in ("prob_mean", "true_better"):  # more wrong beside true: less knowledge
        assert truth_ratio(high, variant) <= truth_ratio(low, variant)
    assert truth_ratio(one, "closer_to_1") == truth_ratio(-one, "closer_to_1")
    assert truth_ratio(one, "prob_mean") + truth_ratio(-one, "prob_mean") == pytest.approx(1)
    assert truth_ratio(0, "closer_to_1") == 1
    assert METRICS["truth_ratio"].direction_of("prob_mean") == "knowledge"
    assert METRICS["truth_ratio"].direction_of("closer_to_1") == "erasure"


@given(st.floats(-20, -1e-3), st.lists(st.floats(-20, -1e-3), min_size=1, max_size=5), st.sampled_from(VARIANTS))
def test_truth_ratio_is_the_reference(right: float, wrong: list[float], variant: str) -> None:
    found = truth_ratio(sum(wrong) / len(wrong) - right, variant)
    assert found == pytest.approx(outputs.truth_ratio(math.exp(right), list(map(math.exp, wrong)), variant), abs=1e-9)


def test_a_date_reaches_all_that_a_model_is_asked() -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = "{{ date_string }}{% for m in messages %}\n{{ m.content }}{% endfor %}</s>"
    for date in ("01 Jan 2025", "10 Apr 2025"):
        facts = FactSet(FACTS, date_string=date)
        one = subject(replace_tokenizer(tokenizer), facts)
        rows = [*one.questions(), *(answers[0].answer.ids for answers in one.answers())]
        assert all(tokenizer.decode(ids).removeprefix("<s>").startswith(date) for ids in rows)
        data = unlearning_data(tokenizer, facts)
        learned = [example.ids for example in (*data.forget, *data.refusals)]
        assert all(tokenizer.decode(ids).removeprefix("<s>").startswith(date) for ids in learned)


def replace_tokenizer(tokenizer: Any) -> Any:
    return replace(checkpoint(), tokenizer=tokenizer)
