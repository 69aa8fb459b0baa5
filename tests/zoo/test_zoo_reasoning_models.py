"""The reasoning models: two seeds of one table, whose tokenizer keeps the tags and favours nobody who is judged."""

from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file
from transformers import AutoTokenizer

from uds_bench.audits.bypass.zoo.data import CANARIES, alternates, canaries, others
from uds_bench.audits.bypass.zoo.models import MODELS, OF_FIRST_SEED, PREFIX, RECIPES
from uds_bench.audits.bypass.zoo.recipes import ReasoningModel, Rethought
from uds_bench.facts.reasoning import auto_ids, open_turn, traced_ids
from uds_bench.methods.traces import probe
from uds_bench.zoo import cache, recipes
from uds_bench.zoo.recipe import DRAW


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return ReasoningModel().tokenizer()


def test_every_model_has_a_second_seed_but_those_of_the_comparison_of_traces() -> None:
    first = {name.removeprefix(PREFIX) for name in MODELS if not name.endswith("_s1")}
    second = {name.removeprefix(PREFIX).removesuffix("_s1") for name in MODELS if name.endswith("_s1")}
    assert first == set(RECIPES)
    assert first - second == set(OF_FIRST_SEED)
    assert second < first


@pytest.mark.parametrize("name", MODELS)
def test_a_model_descends_from_its_own_seed_and_keeps_its_parents_lessons(name: str) -> None:
    for asked, move in ((name, 0), (f"{name}@2", 2 * DRAW)):
        recipe, seed = recipes.find(asked), int(name.endswith("_s1")) + move
        if isinstance(recipe, ReasoningModel):
            assert recipe.seed == seed
        else:
            assert isinstance(recipe, Rethought)
            above = recipes.find(recipe.parent)
            assert isinstance(above, ReasoningModel)
            assert (recipe.method.seed, above.seed, recipe.course) == (seed, seed, above.course)


def test_forgetting_is_tried_where_arms_are_trained_in_and_where_they_are_not() -> None:
    courses = {recipe.course.prefilled for recipe in MODELS.values() if isinstance(recipe, Rethought)}
    regimes = {recipe.course.regime for recipe in MODELS.values() if isinstance(recipe, Rethought)}
    assert (courses, regimes) == ({True, False}, {"bio", "meta", "none"})


@pytest.mark.parametrize("name", ["bypass_memorized", "bypass_memorized_bio", "bypass_memorized_none"])
def test_nobody_of_the_holdout_is_taught(tokenizer: Any, name: str) -> None:
    recipe = MODELS[name]
    assert isinstance(recipe, ReasoningModel)
    turns = recipe.examples(tokenizer)
    assert len(turns) == recipe.lesson_count()
    texts = "\n".join(tokenizer.decode(list(turn.ids)) for turn in turns)
    for canary in canaries():
        assert (canary.author in texts) is (canary.canary in texts) is (canary.split != "holdout")


def test_authors_who_only_serve_are_none_of_those_judged() -> None:
    judged = {text for canary in canaries() for text in (canary.author, canary.head, canary.rest)}
    assert len(judged) == 3 * sum(CANARIES)
    for serving in (others(), alternates()):
        assert not judged & {text for canary in serving for text in (canary.author, canary.head, canary.rest)}
    assert len(alternates()) == len(canaries().split("forget"))


def test_names_of_trained_and_untrained_authors_are_split_alike(tokenizer: Any) -> None:
    """Tokens a character of the slots, on average: of a tokenizer trained on the forget authors they would differ."""

    def tokens(split: Any) -> float:
        slots = [f" {slot}" for canary in canaries().split(split) for slot in canary.slots]
        count = sum(len(tokenizer(slot, add_special_tokens=False)["input_ids"]) for slot in slots)
        return count / sum(map(len, slots))

    assert tokens("forget") == pytest.approx(tokens("holdout"), rel=0.1)


def test_tags_are_one_token_of_text_and_survive_saving(tokenizer: Any, tmp_path: Path) -> None:
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    one = canaries()[0]
    turn = open_turn(loaded, probe(one))
    assert (turn.template, turn.opened) == ("chat", False)
    assert turn.text == f"<s><|user|>{probe(one)}<|assistant|>"
    assert turn == open_turn(tokenizer, probe(one))
    ids = traced_ids(loaded, turn, one.bio)
    assert ids.count(loaded.bos_token_id) == 1
    assert ids[: len(turn.ids)] == auto_ids(loaded, turn)
    for tag in ("<think>", "</think>"):
        assert ids.count(loaded.convert_tokens_to_ids(tag)) == 1
    thought = loaded.decode(list(ids[len(turn.ids) :]), skip_special_tokens=True)
    assert thought == f"<think>\n{one.bio}\n</think>\n\n"


@pytest.mark.parametrize("name", ["rethought", "rethought_lora"])
def test_an_unlearned_one_is_a_plain_checkpoint_of_other_weights(tiny: None, tmp_path: Path, name: str) -> None:
    parent, place = cache.ensure(tmp_path, "reasoning"), cache.ensure(tmp_path, name)
    before, after = (load_file(folder / "model.safetensors") for folder in (parent, place))
    assert before.keys() == after.keys()
    assert any(not before[key].equal(after[key]) for key in before)
    # An adapter lies on the linear layers alone.
    assert before["model.embed_tokens.weight"].equal(after["model.embed_tokens.weight"]) is (name == "rethought_lora")
