"""MemFlex: which matrices it chooses, against a plain reference and a planted case, and what it then leaves alone."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from families import FAMILIES
from hypothesis import given, settings
from hypothesis import strategies as st
from references import editing
from tiny_student import VOCABULARY, Student, drawn, mean_nll
from transformers import LlamaConfig, LlamaForCausalLM
from tried_methods import METHODS

from uds_bench.checkpoints.mask_draws import maskable
from uds_bench.errors import CheckpointError, ConfigurationError, FactError
from uds_bench.methods import LoraSettings, MemFlex, unlearn, with_lora
from uds_bench.methods.data import Data
from uds_bench.methods.examples import Example, answered
from uds_bench.methods.memflex import diverging, leave_diverging, relabelled

ALIKE, LARGE = 0.92, 1e-6
ANY = 2.0
"""A cosine is never that large: no condition."""


def memflex(**settings: Any) -> MemFlex:
    chosen = {"gradient_threshold": LARGE, "similarity_threshold": ALIKE, "alpha": 2.0, "gamma": 0.6, **settings}
    return MemFlex("memflex", **{"steps": 2, "lr": 1e-3, "batch_size": 8, **chosen})


def chosen(model: Any, data: Data, **settings: Any) -> set[str]:
    leave_diverging(model, data, memflex(**settings))
    return {name for name, weight in model.named_parameters() if weight.requires_grad}


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_the_choice_is_the_references(data: st.DataObject) -> None:
    numbers = st.floats(-1, 1).filter(lambda x: x == 0 or abs(x) > 1e-3)
    vectors = st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=1, max_size=5)
    forget = dict(enumerate(data.draw(vectors)))
    retain = {name: data.draw(st.lists(numbers, min_size=3, max_size=3)) for name in forget}
    size, likeness = data.draw(st.floats(0.01, 0.8)), data.draw(st.floats(-0.95, 0.97))
    gradients = ({str(k): torch.tensor(g, dtype=torch.float64) for k, g in each.items()} for each in (forget, retain))
    wanted = [str(name) for name in editing.chosen(forget, retain, size, likeness)]
    if wanted:
        assert diverging(*gradients, size, likeness) == wanted
    else:
        with pytest.raises(ConfigurationError, match="method memflex: none of"):
            diverging(*gradients, size, likeness)


def plain_gradients(model: Any, examples: Sequence[Example]) -> dict[str, list[float]]:
    """One example at a time, by the model's own loss."""
    model = copy.deepcopy(model).requires_grad_(True)
    total = {name: torch.zeros_like(model.get_parameter(name)) for name in maskable(model, 0)}
    for example in examples:
        model.zero_grad()
        ids = torch.tensor([example.ids])
        labels = ids.clone()
        labels[:, : example.prompt_length] = -100
        model(ids, labels=labels).loss.backward()
        for name, summed in total.items():
            summed += model.get_parameter(name).grad / len(examples)
    return {name: summed.flatten().tolist() for name, summed in total.items()}


@pytest.mark.parametrize("family", ["llama", "gpt2", "gpt_neox"])
def test_it_chooses_what_plain_gradients_choose(family: str) -> None:
    """Thresholds at the medians, so that each condition leaves some out."""
    model, data = FAMILIES[family](vocabulary=VOCABULARY), Data(drawn(1, 4), drawn(2, 4), ())
    forget, retain = (plain_gradients(model, relabelled(split, 3, 0)) for split in (data.forget, data.retain))
    sizes = sorted(sum(map(abs, g)) / len(g) for g in forget.values())
    likeness = sorted(float(torch.cosine_similarity(*map(torch.tensor, (forget[n], retain[n])), dim=0)) for n in forget)
    at = len(sizes) // 2
    size, like = (sizes[at - 1] + sizes[at]) / 2, (likeness[at] + likeness[at + 1]) / 2
    wanted = set(editing.chosen(forget, retain, size, like))
    found = chosen(model, data, gradient_threshold=size, similarity_threshold=like)
    assert found == wanted
    assert 0 < len(wanted) < len(sizes) / 2


FORGET_END, RETAIN_END = 5, 6


def planted() -> LlamaForCausalLM:
    """Three blocks without attention. The questions of a split all end in a word of its own: the two words are alike
    but for a small part. The first block's feed-forward module reads nothing off the retain word, the second's nothing
    off the forget word, and the third's what they have in common. The answers are the same words."""
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=16,
            hidden_size=8,
            intermediate_size=12,
            num_hidden_layers=3,
            num_attention_heads=2,
            tie_word_embeddings=False,
        )
    ).eval()
    common, part = torch.eye(8)[0], 0.125 * torch.eye(8)[1]
    across = {0: 0.125 * common + torch.eye(8)[1], 1: 0.125 * common - torch.eye(8)[1], 2: common}
    with torch.no_grad():
        model.model.embed_tokens.weight[FORGET_END] = common + part
        model.model.embed_tokens.weight[RETAIN_END] = common - part
        for at, block in enumerate(model.model.layers):
            for weight in block.self_attn.parameters():
                weight.zero_()
            for linear in (block.mlp.gate_proj, block.mlp.up_proj):
                linear.weight.copy_(torch.rand(12, 1) * across[at])
            block.mlp.down_proj.weight.normal_(0, 0.05)
            block.mlp.down_proj.weight[:2] = 0  # what the blocks read stays as it is
    return model


def matrices(*blocks: int) -> set[str]:
    return {f"model.layers.{at}.mlp.{kind}_proj.weight" for at in blocks for kind in ("gate", "up", "down")}


def planted_data() -> Data:
    forget, retain = ([Example((1, 3 + at % 2, end, 8 + at), 3) for at in range(6)] for end in (FORGET_END, RETAIN_END))
    return Data(forget, retain, ())


def test_in_the_planted_case_it_chooses_what_holds_the_forget_answers_alone() -> None:
    assert chosen(planted(), planted_data()) == matrices(0)


def test_without_the_likeness_to_retain_gradients_it_chooses_what_both_need() -> None:
    assert chosen(planted(), planted_data(), similarity_threshold=ANY) == matrices(0, 2)


def test_what_forget_answers_do_not_reach_is_above_no_threshold() -> None:
    """Gradients of zero, those of the attention here, are unlike the retain gradients and yet not chosen."""
    assert not any("self_attn" in name for name in chosen(planted(), planted_data(), gradient_threshold=0.0))


def test_what_is_kept_and_what_is_forgotten_are_not_the_same() -> None:
    swapped = replace(planted_data(), forget=planted_data().retain, retain=planted_data().forget)
    assert chosen(planted(), swapped) == matrices(1)


def test_what_is_not_chosen_stays_bit_by_bit(student: Student) -> None:
    model = copy.deepcopy(student.model)
    names = chosen(copy.deepcopy(model), student.data, gradient_threshold=0.018)
    unlearn(model, student.data, memflex(gradient_threshold=0.018))
    before = student.model.state_dict()
    assert {name for name, weight in model.named_parameters() if not torch.equal(weight, before[name])} == names
    assert 0 < len(names) < len(maskable(model, 0))


def test_with_no_retain_factor_the_rest_is_lost(student: Student) -> None:
    losses = []
    for alpha in (2.0, 0.0):
        losses.append(mean_nll(student.unlearned(replace(METHODS["memflex"], alpha=alpha)), student.data.retain))
    assert losses[1] > 10 * losses[0]


def test_random_answers_show_what_is_known_by_heart(student: Student) -> None:
    """The gradients of the true answers have all but vanished."""
    sizes = []
    for examples in (student.data.forget, relabelled(student.data.forget, 3, 0)):
        gradients = plain_gradients(student.model, examples).values()
        sizes.append(min(sum(map(abs, g)) / len(g) for g in gradients))
    assert sizes[1] > 10 * sizes[0]


def test_a_question_is_put_with_the_answers_to_others() -> None:
    examples = drawn(1, 5)
    said = relabelled(examples, 4, seed=3)
    answers = {e.ids[5:] for e in examples}
    assert len(said) == 20
    for at, example in enumerate(said):
        own = examples[at // 4]
        assert example.ids[:5] == own.ids[:5]
        assert example.ids[5:] in answers - {own.ids[5:]}
    assert said == relabelled(examples, 4, seed=3) != relabelled(examples, 4, seed=4)
    moved = answered(Example((1, 2, 3), 2), Example((1, 2, 3, 4, 5, 6), 3, (4, 5)))
    assert moved == Example((1, 2, 4, 5, 6), 2, (3, 4))


def test_of_an_adapter_only_its_own_matrices_are_chosen(student: Student) -> None:
    adapted = with_lora(copy.deepcopy(student.model), LoraSettings(2, 4))
    names = chosen(adapted, student.data)
    assert names
    assert all("lora_B" in name for name in names), "the gradient of A is 0 as long as B is"


def test_none_chosen_is_told_with_what_there_is(student: Student) -> None:
    with pytest.raises(
        ConfigurationError,
        match=r"^method memflex: none of 7 matrices has a forget gradient above 10 \(largest .*\) that is less like "
        r"its retain gradient than 0.92 \(least .*\): take another gradient_threshold or similarity_threshold$",
    ):
        unlearn(copy.deepcopy(student.model), student.data, memflex(gradient_threshold=10.0))


def test_weights_that_are_not_finite_are_told(student: Student) -> None:
    model = copy.deepcopy(student.model)
    with torch.no_grad():
        model.model.layers[0].mlp.up_proj.weight[0, 0] = float("nan")
    with pytest.raises(CheckpointError, match=r"the gradient of .* is not finite: check the weights"):
        unlearn(model, student.data, memflex())


@pytest.mark.parametrize("part", ["forget", "retain"])
def test_one_answer_is_too_few_to_draw_others_from(student: Student, part: str) -> None:
    with pytest.raises(FactError, match="draws other answers from 1: give two"):
        unlearn(copy.deepcopy(student.model), replace(student.data, **{part: drawn(1, 1)}), memflex())
