"""Relearning trains on the forget facts and on nothing else, the same way every time."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from uds_bench.attacks import find_attack
from uds_bench.attacks.relearn import relearn
from uds_bench.checkpoints import Checkpoint, CheckpointSpec, load
from uds_bench.errors import ConfigurationError
from uds_bench.facts import FactSet, embedded
from uds_bench.methods import training
from uds_bench.methods.examples import pad, pairs_to_examples
from uds_bench.methods.forward import answer_nll
from uds_bench.zoo.specimens import folder

Family = Callable[[str], CheckpointSpec]
SETTINGS = {"epochs": 2, "lr": 1e-3, "batch_size": 4}


def relearned(spec: CheckpointSpec, facts: FactSet, **change: float) -> Checkpoint:
    return find_attack("relearn", **SETTINGS | change).apply(spec, "cpu", facts)


def same(one: Checkpoint, other: Checkpoint) -> bool:
    pairs = zip(one.model.state_dict().values(), other.model.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def loss(checkpoint: Checkpoint, facts: FactSet) -> float:
    batch = pad(pairs_to_examples(checkpoint.tokenizer, [(f.question, f.answer) for f in facts]))
    with torch.no_grad():
        return float(answer_nll(checkpoint.model, batch))


def test_the_forget_facts_are_learned(family: Family, forget: FactSet) -> None:
    spec = family("llama")
    assert loss(relearned(spec, forget), forget) < loss(load(spec), forget) - 0.1


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_it_is_the_same_every_time_dropout_or_not(name: str, family: Family, forget: FactSet) -> None:
    first = relearned(family(name), forget)
    torch.rand(7)
    assert same(first, relearned(family(name), forget))
    assert not same(first, relearned(family(name), forget, seed=1))


def test_the_callers_random_numbers_go_on_as_they_were(family: Family, forget: FactSet) -> None:
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    relearned(family("gpt2"), forget)
    assert torch.equal(torch.rand(3), wanted)


@pytest.mark.parametrize("attack", ["relearn", "relearn_lora"])
@pytest.mark.parametrize(
    ("name", "settings"),
    [("llama", {"attention_dropout": 1.0}), ("gpt2", {"attn_pdrop": 1.0, "embd_pdrop": 1.0, "resid_pdrop": 1.0})],
)
def test_a_models_own_dropout_does_not_keep_it_from_learning(
    name: str, settings: dict[str, float], attack: str, family: Family, forget: FactSet, tmp_path: Path
) -> None:
    plain = family(name)
    folder = Path(shutil.copytree(plain.model, tmp_path / "dropping"))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | settings))
    found = [
        find_attack(attack, **SETTINGS).apply(spec, "cpu", forget) for spec in (plain, CheckpointSpec(str(folder)))
    ]
    assert same(*found)
    assert not same(found[0], load(plain))


def test_a_large_model_is_taught_the_same_in_the_memory_of_its_weights(
    family: Family, forget: FactSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, anew = relearned(family("llama"), forget), []

    def counted(*given: Any, **named: Any) -> Any:
        anew.append(None)
        return checkpoint(*given, **named)

    monkeypatch.setattr(training, "LARGE", 0)
    monkeypatch.setattr(training, "checkpoint", counted)
    assert same(kept, relearned(family("llama"), forget))
    assert anew


def test_other_facts_give_another_model(family: Family, forget: FactSet) -> None:
    others = embedded(forget=2, retain=0, holdout=0, seed=1)
    assert not same(relearned(family("llama"), forget), relearned(family("llama"), others))


@pytest.mark.parametrize("change", [{"epochs": 1}, {"lr": 5e-4}, {"batch_size": 3}])
def test_every_setting_is_obeyed(change: dict[str, float], family: Family, forget: FactSet) -> None:
    assert not same(relearned(family("llama"), forget), relearned(family("llama"), forget, **change))


def test_what_comes_out_can_be_measured_and_the_file_is_untouched(
    family: Family, forget: FactSet, weights: Callable[[Path | str], dict[str, bytes]]
) -> None:
    spec = family("llama")
    before = weights(spec.model)
    attacked = relearned(spec, forget)
    assert attacked.spec == replace(spec, dtype="float32")
    assert not attacked.model.training
    assert not any(p.requires_grad for p in attacked.model.parameters())
    assert weights(spec.model) == before


def moved(spec: CheckpointSpec, attacked: Checkpoint) -> float:
    """The share of weights that are no longer what they were."""
    before = dict(load(spec).model.named_parameters())
    pairs = [(before[name].float(), p.float()) for name, p in attacked.model.named_parameters()]
    return sum(int((a != b).sum()) for a, b in pairs) / sum(a.numel() for a, _ in pairs)


def test_a_model_in_16_bits_is_trained_as_in_32(family: Family, forget: FactSet) -> None:
    spec = replace(family("llama"), dtype="bfloat16")
    attacked = relearn().apply(spec, "cpu", forget)
    assert attacked.model.dtype == torch.float32
    assert same(attacked, relearn().apply(replace(spec, dtype="float32"), "cpu", forget))


def test_in_the_dtype_of_loading_most_steps_are_rounded_away(family: Family, forget: FactSet) -> None:
    spec = replace(family("llama"), dtype="bfloat16")
    attacked = relearn(precision="load").apply(spec, "cpu", forget)
    assert attacked.model.dtype == torch.bfloat16
    # Of the tokens that no text holds the rows of the embedding stay as they are.
    assert moved(spec, attacked) < 0.6 * moved(replace(spec, dtype="float32"), relearn().apply(spec, "cpu", forget))


@pytest.mark.slow
def test_the_share_of_the_shipped_model_that_moves() -> None:
    """What the page on depth says of it: `pytest -m slow -s tests/attacks/test_attacks_relearn.py`."""
    spec = CheckpointSpec(str(folder("full")), dtype="bfloat16")
    rounded, whole = (
        moved(place, relearn(precision="load").apply(place, "cpu", embedded()))
        for place in (spec, replace(spec, dtype="float32"))
    )
    print(f"weights that move: {rounded:.1%} in bfloat16, {whole:.2%} in float32")
    assert rounded < whole / 2


@pytest.mark.parametrize("name", ["relearn_half", "relearn_retain", "relearn_unrelated"])
def test_what_is_not_taught_does_not_matter(name: str, family: Family) -> None:
    facts, attack = embedded(forget=3, retain=2, holdout=2), find_attack(name, lr=1e-3)
    assert attack.teaching is not None
    taught = attack.teaching.taught(facts)
    attacked = attack.apply(family("llama"), "cpu", facts)
    assert loss(attacked, taught) < loss(load(family("llama")), taught) - 0.1
    # The same facts taught plainly, as a forget set, give the same weights.
    plain = FactSet(replace(fact, split="forget") for fact in taught)
    assert same(attacked, find_attack("relearn", lr=1e-3).apply(family("llama"), "cpu", plain))


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_an_adapter_changes_every_matrix_by_so_low_a_rank_and_is_added(name: str, family: Family) -> None:
    forget = embedded(forget=2, retain=0, holdout=0)
    spec, attack = family(name), find_attack("relearn_lora", rank=2, lr=1e-2, epochs=2)
    attacked, before = attack.apply(spec, "cpu", forget), dict(load(spec).model.named_parameters())
    after = dict(attacked.model.named_parameters())
    assert after.keys() == before.keys()
    inside = {id(p) for block in attacked.anatomy.blocks for p in block.parameters() if p.dim() == 2}
    changed = {key for key in before if not torch.equal(before[key], after[key])}
    assert changed == {key for key, p in after.items() if id(p) in inside}
    assert {int(torch.linalg.matrix_rank(after[key] - before[key], rtol=1e-3)) for key in changed} == {2}
    assert loss(attacked, forget) < loss(load(spec), forget) - 0.1
    assert same(attacked, attack.apply(spec, "cpu", forget))
    assert not any(p.requires_grad for p in attacked.model.parameters())
    assert not attacked.model.training


def test_a_rank_that_cannot_be() -> None:
    with pytest.raises(ConfigurationError, match="rank 0"):
        find_attack("relearn_lora", rank=0)
