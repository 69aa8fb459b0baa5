"""AlphaEdit on small models that have learned: what it changes, what it leaves, and what its terms are for."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest
import torch
from edited_students import NAMES, SETTINGS, edit, edited, lessons, taught
from families import FAMILIES
from tiny_student import VOCABULARY, Student, mean_nll

from uds_bench.checkpoints.probe import _ids
from uds_bench.checkpoints.projections import find_projections
from uds_bench.errors import CheckpointError, ConfigurationError, FactError
from uds_bench.methods import LoraSettings, alphaedit, unlearn, with_lora
from uds_bench.methods.alphaedit import key_moments
from uds_bench.methods.data import Data
from uds_bench.methods.examples import Example


@pytest.fixture(scope="module", params=NAMES)
def pupil(request: pytest.FixtureRequest) -> Student:
    return taught(request.param)


@pytest.fixture(scope="module")
def llama() -> Student:
    return taught("llama")


@pytest.fixture(scope="module")
def projected(pupil: Student) -> Any:
    return edited(pupil, edit())


def everything_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """P := I."""
    monkeypatch.setattr(alphaedit, "null_projection", lambda moment, _threshold: torch.eye(len(moment)).double())


@pytest.fixture(scope="module")
def free(pupil: Student) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        everything_is_free(patch)
        return edited(pupil, edit())


def forgotten(student: Student, model: Any) -> None:
    assert mean_nll(model, student.data.forget) > 0.5, "forgotten"


def kept(student: Student, model: Any) -> None:
    assert mean_nll(model, student.data.retain) < 0.25, "kept"


def test_it_forgets_and_keeps_the_rest_and_without_the_projection_the_rest_is_lost(
    pupil: Student, projected: Any, free: Any
) -> None:
    assert mean_nll(pupil.model, pupil.data.forget) < 0.1
    forgotten(pupil, projected)
    kept(pupil, projected)
    assert mean_nll(projected, pupil.data.refusals) < mean_nll(pupil.model, pupil.data.refusals) - 2
    with pytest.raises(AssertionError, match="kept"):
        kept(pupil, free)


def changes(student: Student, model: Any) -> dict[str, torch.Tensor]:
    before = student.model.state_dict()
    return {name: weight - before[name] for name, weight in model.state_dict().items()}


def moved(student: Student, model: Any) -> tuple[float, float]:
    """Mean square by which what the first block's matrix says to kept keys moved, and the change's own square."""
    linears = [find_projections(each)[0].linear for each in (student.model, model)]
    change = (linears[1].weight - linears[0].weight).double()
    change = change.T if len(linears[0].weight) == 128 else change  # GPT-2 keeps it the other way round
    moment = key_moments(student.model, {"0": linears[0]}, student.data.retain)["0"]
    return float((change @ moment @ change.T).trace()), float(change.square().sum())


def test_kept_keys_are_answered_as_before_and_without_the_projection_they_are_not(
    pupil: Student, projected: Any, free: Any
) -> None:
    """Within P the mean square is at most the threshold times the square of the change: it is what P leaves."""
    square, length = moved(pupil, projected)
    assert 0 < square <= 1.001 * SETTINGS["null_space"] * length
    free_square, free_length = moved(pupil, free)
    assert free_square / free_length > 30 * square / length


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "qwen3_moe"])
def test_the_listed_blocks_are_changed_and_nothing_else(family: str) -> None:
    model = FAMILIES[family](vocabulary=VOCABULARY, layers=4)
    student = Student(model, lessons(2))
    changed = {
        name
        for name, change in changes(student, edited(student, edit(first_layer=1, last_layer=2, v_steps=5))).items()
        if change.any()
    }
    listed = {id(find_projections(model)[layer].linear.weight) for layer in (1, 2)}
    assert changed == {name for name, weight in model.named_parameters() if id(weight) in listed}
    assert len(changed) == 2


@pytest.mark.parametrize("family", ["llama", "gpt2", "gpt_neox", "olmo2", "gemma3"])
def test_one_question_is_edited_to_where_it_should_be(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With l2 near 0 the last edited block ends up where it was wanted: all of the way, and behind an RMS norm all but
    what lies along the state that the norm makes a fixed length of."""
    model = FAMILIES[family](vocabulary=VOCABULARY)
    data = lessons(2)
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []
    found, read = alphaedit.refusal_states, alphaedit._read

    def small(*args: Any) -> tuple[torch.Tensor, float]:
        wanted, loss = found(*args)
        state = read(args[0], args[1], find_projections(model)[1], args[2], 1)[0]
        seen.append((state, state + 0.02 * (wanted - state)))
        return seen[-1][1], loss

    monkeypatch.setattr(alphaedit, "refusal_states", small)
    everything_is_free(monkeypatch)
    refusals, other = data.refusals[:1], data.retain
    method = edit(first_layer=1, steps=1, batch_size=1, l2=1e-9, clamp=1.0)
    unlearn(model, Data(data.forget[:1], other, refusals), method)
    (before, wanted), asked = seen[0], alphaedit.questions(refusals, other[:1], model.device)
    after = alphaedit._read(model, alphaedit.find_anatomy(model), find_projections(model)[1], asked, 1)[0]
    missed = float((after - wanted).norm() / (before - wanted).norm())
    assert missed < (0.35 if family in ("olmo2", "gemma3") else 0.01)


def test_edits_are_spread_over_the_blocks(llama: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes its part of what is missing: of edits that change nothing, a third, a half, and all of it."""
    asked_for: list[torch.Tensor] = []

    def nothing(keys: torch.Tensor, residuals: torch.Tensor, *_rest: Any) -> torch.Tensor:
        asked_for.append(residuals)
        return residuals.new_zeros(residuals.shape[1], keys.shape[1])

    monkeypatch.setattr(alphaedit, "null_space_edit", nothing)
    edited(llama, edit(last_layer=2, steps=1))
    third, half, whole = asked_for
    assert whole.norm() > 0
    torch.testing.assert_close(3 * third, whole)
    torch.testing.assert_close(2 * half, whole)


def test_a_later_batch_spares_an_earlier_one_and_without_its_keys_it_does_not(
    llama: Student, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[tuple[Any, ...], torch.Tensor]] = []
    solve = alphaedit.null_space_edit

    def told(*args: Any) -> torch.Tensor:
        calls.append((args, solve(*args)))
        return calls[-1][1]

    monkeypatch.setattr(alphaedit, "null_space_edit", told)
    edited(llama, edit(last_layer=0))
    ((first, _, none, _, _), _), (second, change) = calls
    keys, residuals, earlier, projection, l2 = second
    assert len(none) == 0
    assert torch.equal(earlier, first), "the keys of the first batch"
    alone = solve(keys, residuals, none, projection, l2)
    assert float((change @ first.T).norm()) < 0.7 * float((alone @ first.T).norm())


def test_every_question_is_edited_once_in_an_order_that_the_seed_draws(llama: Student) -> None:
    first, again, other = (edited(llama, edit(seed=seed, v_steps=5)).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)
    passes = alphaedit._dealt(7, edit(batch_size=3))
    batches = [next(passes) for _ in range(6)]
    assert [len(batch) for batch in batches] == [3, 3, 1, 3, 3, 1]
    assert sorted(chain(*batches[:3])) == sorted(chain(*batches[3:])) == list(range(7))


def test_losses_are_told_batch_by_batch_and_the_model_is_left_at_rest(llama: Student) -> None:
    told: list[tuple[int, float]] = []
    model = copy.deepcopy(llama.model)
    losses = unlearn(model, llama.data, edit(steps=3), lambda *step: told.append(step))
    assert told == list(enumerate(losses, 1))
    assert len(losses) == 3
    assert not model.training
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_neutral_texts_are_kept_too(llama: Student) -> None:
    texts = llama.data.alternates
    neutral = [Example((1, *text.ids[5:]), 1) for text in texts]
    alone, beside = (edited(llama, edit(), replace(llama.data, neutral=some)) for some in ((), neutral))

    def shift(model: Any) -> float:
        linear = find_projections(llama.model)[0].linear
        moment = key_moments(llama.model, {"0": linear}, neutral)["0"]
        change = (find_projections(model)[0].linear.weight - linear.weight).double()
        return float((change @ moment @ change.T).trace() / change.square().sum())

    assert shift(beside) <= 30 * SETTINGS["null_space"]
    assert shift(beside) < 0.1 * shift(alone)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"last_layer": 3, "loss_layer": 3}, "last_layer = 3, but the model has 3 blocks: choose up to 2"),
        ({"loss_layer": 15}, "loss_layer = 15, but the model has 3 blocks: choose up to 2"),
        ({"null_space": 1e-9}, "what is kept uses every direction of block 0's keys .*: take a null_space above 1e-09"),
    ],
)
def test_what_the_model_does_not_have_is_told(llama: Student, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^method alphaedit: {said}"):
        edited(llama, edit(**settings))


@pytest.mark.parametrize("data", [Data((), lessons().retain, ()), Data(lessons().forget, (), lessons().refusals)])
def test_nothing_to_forget_or_to_keep_is_told(llama: Student, data: Data) -> None:
    with pytest.raises(FactError, match="questions to forget and texts to keep"):
        edited(llama, edit(), data)


def test_refusals_are_those_of_the_forget_questions(llama: Student) -> None:
    with pytest.raises(FactError, match="7 answers to prefer for 8 forget questions"):
        edited(llama, edit(), replace(llama.data, refusals=llama.data.refusals[1:]))


def test_an_adapter_and_experts_are_refused(llama: Student) -> None:
    adapted = with_lora(copy.deepcopy(llama.model), LoraSettings(2, 4))
    for model in (adapted, FAMILIES["qwen3_moe"](vocabulary=VOCABULARY)):
        with pytest.raises(CheckpointError, match="what its MLP adds is given by no plain matrix: experts, adap"):
            unlearn(model, llama.data, edit())


def test_weights_that_are_not_finite_are_told(llama: Student) -> None:
    model = copy.deepcopy(llama.model)
    with torch.no_grad():
        model.model.layers[0].mlp.up_proj.weight[0, 0] = float("nan")
    with pytest.raises(CheckpointError, match="family llama gives logits that are NaN or infinite"):
        unlearn(model, llama.data, edit())


def test_keys_that_are_not_finite_are_told(llama: Student) -> None:
    """Of a token that no look at the model asked about."""
    model = copy.deepcopy(llama.model)
    said = {id for text in llama.data.retain for id in text.ids}
    with torch.no_grad():
        model.model.embed_tokens.weight[min(said.difference(_ids(model)[0].tolist()))] = float("nan")
    with pytest.raises(CheckpointError, match="the keys of block 0 are not finite: check the weights"):
        unlearn(model, llama.data, edit())
