"""Unlearning a checkpoint: full weights or an adapter, what is saved, and what it is said to have cost."""

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_student import Student
from tried_methods import on_first_block

from uds_bench.checkpoints import CheckpointSpec, digest, load
from uds_bench.errors import ConfigurationError
from uds_bench.facts import FactSet
from uds_bench.methods import METHODS, LoraSettings, Method, unlearn, unlearn_facts, with_lora
from uds_bench.methods.cost import TokenCost, counting, retraining
from uds_bench.methods.data import unlearning_data
from uds_bench.methods.examples import pad
from uds_bench.methods.forward import answer_likelihoods
from uds_bench.methods.release import RECORD, UnlearnedModel, require_new, save
from uds_bench.methods.terms import freeze

LORA = LoraSettings(rank=4, scale=8)


def a_method(name: str, **settings: Any) -> Method:
    return on_first_block(name, **{"steps": 3, "lr": 5e-3, "batch_size": 4, **settings})


def released(full: CheckpointSpec, facts: FactSet, method: Method, place: Path, lora: LoraSettings | None) -> Any:
    """Unlearned, saved, and loaded again as a candidate of a manifest is."""
    loaded = load(full)
    done = unlearn_facts(loaded, facts, method, lora)
    save(place, done.model, loaded.tokenizer, done.record)
    return load(CheckpointSpec(full.model, adapter=str(place)) if lora else CheckpointSpec(str(place)))


@pytest.mark.parametrize(
    ("name", "lora"),
    [*((name, None) for name in METHODS), *((name, LORA) for name in ("grad_diff", "npo", "rmu", "memflex"))],
)
def test_every_method_leaves_a_checkpoint_that_loads_and_differs(
    full: CheckpointSpec, authors: FactSet, tmp_path: Path, name: str, lora: LoraSettings | None
) -> None:
    before = digest(full)
    candidate = released(full, authors, a_method(name), tmp_path / "out", lora)
    assert digest(full) == before, "the full model's files are not touched"
    ids = torch.arange(3, 40)[None]
    with torch.no_grad():
        assert not torch.equal(candidate.model(ids).logits, load(full).model(ids).logits)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    record = json.loads((tmp_path / "out" / RECORD).read_text())
    assert record["method"] == name
    assert len(record["losses"]) == record["settings"]["steps"] == 3
    assert record["lora"] == ({"rank": 4, "scale": 8} if lora else None)
    assert record["full"]["digest"] == before
    assert record["facts"] == {"digest": authors.digest, "forget": 6, "retain": 4}
    if name == "alt_po":
        assert len(record["alternates"]["answers"]) == 6
        read = record["cost"]["tokens_read"] - 2 * record["cost"]["tokens_trained"] / 3
        assert read > 0, "sampling is part of the cost"
    else:
        assert record["alternates"] is None


def test_a_saved_adapter_is_the_model_that_was_trained(full: CheckpointSpec, authors: FactSet, tmp_path: Path) -> None:
    loaded = load(full)
    done = unlearn_facts(loaded, authors, a_method("npo"), LORA)
    save(tmp_path / "out", done.model, loaded.tokenizer, done.record)
    again = load(CheckpointSpec(full.model, adapter=str(tmp_path / "out")))
    ids = torch.arange(3, 40)[None]
    with torch.no_grad():
        torch.testing.assert_close(again.model(ids).logits, done.model(ids).logits, rtol=1e-4, atol=1e-4)


def test_lora_says_what_the_model_says_until_it_is_trained_and_trains_nothing_else(student: Student) -> None:
    batch = pad(student.data.forget)
    model = copy.deepcopy(student.model)
    adapted = with_lora(model, LORA, seed=1)
    with torch.no_grad():
        torch.testing.assert_close(answer_likelihoods(adapted, batch), answer_likelihoods(student.model, batch))
    free = [name for name, weight in adapted.named_parameters() if weight.requires_grad]
    assert free
    assert all("lora_" in name for name in free)
    unlearn(adapted, student.data, a_method("grad_diff"))
    kept = dict(student.model.named_parameters())
    for name, weight in adapted.get_base_model().named_parameters():
        if "lora_" not in name:
            assert torch.equal(weight, kept[name.replace(".base_layer", "")]), name


def test_a_seed_draws_the_adapter_and_leaves_other_draws_alone(student: Student) -> None:
    def drawn(seed: int) -> list[torch.Tensor]:
        adapted = with_lora(copy.deepcopy(student.model), LORA, seed)
        return [weight for name, weight in adapted.named_parameters() if "lora_A" in name]

    torch.manual_seed(7)
    wanted = torch.rand(3)
    torch.manual_seed(7)
    first = drawn(0)
    assert torch.equal(torch.rand(3), wanted)
    assert all(torch.equal(a, b) for a, b in zip(first, drawn(0), strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(first, drawn(1), strict=True))


@pytest.mark.parametrize("lora", [False, True])
def test_the_frozen_model_is_the_past_whatever_happens_to_the_model(student: Student, lora: bool) -> None:
    model = copy.deepcopy(student.model)
    trained = with_lora(model, LORA) if lora else model
    trained.train()
    frozen = freeze(trained)
    batch = pad(student.data.forget)
    with torch.no_grad():
        for weight in trained.parameters():
            weight.add_(0.1)
        changed = answer_likelihoods(trained, batch)[0]
    if lora:  # the base's own weights were moved too: they are what its past consists of
        with torch.no_grad():
            for name, weight in trained.named_parameters():
                if "lora_" not in name:
                    weight.sub_(0.1)
            changed = answer_likelihoods(trained, batch)[0]
    with frozen() as past:
        assert not past.training
        before = answer_likelihoods(past, batch)[0]
    assert not before.requires_grad
    assert trained.training
    with torch.no_grad():
        torch.testing.assert_close(before, answer_likelihoods(student.model, batch)[0], rtol=1e-4, atol=1e-3)
    assert not torch.allclose(changed, before, atol=0.1)


@pytest.mark.parametrize("lora", [False, True])
def test_cost_counts_every_token_once(student: Student, lora: bool) -> None:
    """Batches of everything: a step of NPO trains on forget and retain answers and reads the forget ones."""
    data = student.data
    model = copy.deepcopy(student.model)
    model = with_lora(model, LORA) if lora else model
    forget, retain = (sum(map(len, part)) for part in (data.forget, data.retain))
    cost = TokenCost()
    with counting(model, cost):
        unlearn(model, data, a_method("npo", batch_size=99))
    assert cost == TokenCost(trained=3 * (forget + retain), read=3 * forget)
    assert cost.passes == 3 * cost.trained + cost.read
    with torch.no_grad():
        answer_likelihoods(model, pad(data.forget))
    assert cost.read == 3 * forget, "counting ends with its context"
    assert retraining(data.retain, 5) == TokenCost(trained=5 * retain)


def test_the_cost_of_a_record_is_a_share_of_retraining(full: CheckpointSpec, authors: FactSet) -> None:
    record = unlearn_facts(load(full), authors, a_method("npo", batch_size=99), retraining_epochs=2).record
    cost = record["cost"]
    assert cost["retraining"]["steps"] == 2
    assert cost["share_of_steps"] == 3 / 2
    # NPO's three steps read the forget set (one pass) and train on it and on the retain set (three each).
    retain = cost["retraining"]["tokens_trained"] / 2
    forget = cost["tokens_read"] / 3
    assert cost["tokens_trained"] == 3 * (forget + retain)
    assert cost["share_of_passes"] == pytest.approx((3 * (4 * forget + 3 * retain)) / (3 * 2 * retain))
    assert cost["seconds"] > 0
    assert set(record["versions"]) == {"python", "uds-bench", "torch", "transformers", "peft"}
    assert set(record["settings"]) == {"steps", "lr", "batch_size", "seed", "gamma", "alpha", "beta"}


def test_ascent_alone_needs_no_retain_facts_and_has_no_share_then(full: CheckpointSpec, authors: FactSet) -> None:
    cost = unlearn_facts(load(full), authors.split("forget"), a_method("grad_ascent")).record["cost"]
    assert (cost["share_of_steps"], cost["share_of_passes"]) == (None, None)


OTHERWISE = ("idk_nll", "idk_dpo", "alt_po", "alphaedit")
REFUSED: list[tuple[Method, dict[str, Any], str]] = [
    (a_method("alphaedit"), {"lora": LORA}, "method alphaedit edits the weights themselves: leave LoRA out"),
    (Method("identity", 0, 0.0), {}, "trains nothing"),
    (Method("npo", 0, 0.1), {}, "trains nothing"),
    *((a_method(each), {"sentences": True}, f"method {each} gives each question another") for each in OTHERWISE),
]


@pytest.mark.parametrize(("method", "options", "said"), REFUSED)
def test_what_a_method_cannot_do_is_refused(
    full: CheckpointSpec, authors: FactSet, method: Method, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        unlearn_facts(load(full), authors, method, **options)


@pytest.mark.parametrize(
    ("name", "settings"), [("npo", {}), ("memflex", {"alpha": 0.0}), ("alphaedit", {"alpha": 0.0})]
)
def test_what_needs_retain_facts_is_told_so(
    full: CheckpointSpec, authors: FactSet, name: str, settings: dict[str, Any]
) -> None:
    """What localizes needs them whatever their weight."""
    with pytest.raises(ConfigurationError, match=f"method {name} needs facts of the split retain"):
        unlearn_facts(load(full), authors.split("forget"), a_method(name, **settings))


def test_quantized_weights_are_refused(full: CheckpointSpec, authors: FactSet) -> None:
    loaded = load(full)
    loaded.spec = replace(full, quantization="nf4")
    with pytest.raises(ConfigurationError, match="quantized weights cannot be trained"):
        unlearn_facts(loaded, authors, a_method("npo"))


def test_a_failed_write_leaves_nothing_behind(full: CheckpointSpec, tmp_path: Path) -> None:
    loaded = load(full)
    done = UnlearnedModel(loaded.model, {"loss": float("nan")})
    with pytest.raises(ValueError, match="JSON"):
        save(tmp_path / "out", done.model, loaded.tokenizer, done.record)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(ConfigurationError, match=r"--out: .*out exists and is not overwritten"):
        require_new(tmp_path / "out", "--out")
    assert require_new(tmp_path / "new" / "out", "--out") == tmp_path / "new" / "out"


@pytest.mark.parametrize("values", [(0, 8), (4, 0)])
def test_an_adapter_needs_a_rank_and_a_scale(values: tuple[int, int]) -> None:
    with pytest.raises(ConfigurationError, match="must both be above 0"):
        LoraSettings(*values)


def test_sentences_are_the_answers_without_their_questions(full: CheckpointSpec, authors: FactSet) -> None:
    tokenizer = load(full).tokenizer
    plain, more = (unlearning_data(tokenizer, authors, sentences=given) for given in (False, True))
    for split, before, after in (("forget", plain.forget, more.forget), ("retain", plain.retain, more.retain)):
        facts = authors.split(split)
        assert list(after[: len(before)]) == list(before)
        assert len(after) == 2 * len(before) == 2 * len(facts)
        for fact, example in zip(facts, after[len(before) :], strict=True):
            assert tokenizer.decode(example.ids, skip_special_tokens=True) == fact.answer
            learned = tokenizer.decode(example.ids[example.prompt_length :], skip_special_tokens=True)
            assert fact.prefix + learned == fact.answer
            assert example.ids[-1] == tokenizer.eos_token_id
    assert list(more.refusals) == list(plain.refusals)


def test_sentences_are_trained_on_and_told_in_the_record(full: CheckpointSpec, authors: FactSet) -> None:
    done = unlearn_facts(load(full), authors, a_method("npo"), sentences=True)
    assert done.record["sentences"] is True
    assert done.record["facts"]["forget"] == 12
    assert unlearn_facts(load(full), authors, a_method("npo")).record["sentences"] is False
