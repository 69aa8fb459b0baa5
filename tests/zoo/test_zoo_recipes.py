"""A key changes with everything that a model is made of, and with nothing else."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest
import torch

from uds_bench.audits.bypass.zoo.recipes import ReasoningModel
from uds_bench.audits.depth.zoo.recipes import Base, Finetuned, Pooled, Unlearned
from uds_bench.errors import ConfigurationError
from uds_bench.methods.lora import LoraSettings
from uds_bench.methods.method import Method
from uds_bench.methods.traces import Course, GradientScope
from uds_bench.zoo import recipes
from uds_bench.zoo.recipe import Recipe, Zoo

POOLED = "plain_r5_e15"
REASONING, RETHOUGHT = "bypass_memorized", "bypass_npo_lora"
OTHER = {
    "regime": "none",
    "target": "contexts",
    "held": ("closing",),
    "instead": "head",
    "prefilled": False,
    "share": 0.5,
}
"""Values that the embedded models tried here do not have."""


EVERY = recipes.listed()
TRIED = ("base", "full", "npo", POOLED, REASONING, RETHOUGHT, "lmlm", "loc_injected", "loc_oracle_grad", "loc_neutral")


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> dict[str, Recipe]:
    """A table of recipes that the test may change."""
    table = dict(EVERY)
    monkeypatch.setattr(recipes, "zoos", lambda: {"table": Zoo(table)})
    return table


def variants(recipe: Any) -> Iterator[tuple[str, Any]]:
    """The recipe with one field changed, for each field; those of a method, a course, a scope one by one."""
    for field in fields(recipe):
        value = getattr(recipe, field.name)
        if is_dataclass(value):
            yield from ((f"{field.name}.{n}", replace(recipe, **{field.name: v})) for n, v in variants(value))
        else:
            yield field.name, replace(recipe, **{field.name: _other(field.name, value)})


def _other(name: str, value: Any) -> Any:
    if name == "parent":
        return "retain" if value == "full" else "base2"
    if name in OTHER:
        return OTHER[name]
    if name == "form":
        return "plain" if value == "others" else "others"
    return "simnpo" if isinstance(value, str) else value + 1


@pytest.mark.parametrize(
    ("name", "field", "changed"),
    [(name, field, new) for name in TRIED for field, new in variants(EVERY[name])],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_key_changes_with_every_field(table: dict[str, Recipe], name: str, field: str, changed: Recipe) -> None:
    table["base2"] = Base(seed=5)
    before = recipes.key(name)
    table[name] = changed
    assert recipes.key(name) != before


def test_every_field_was_changed() -> None:
    """The test above would pass over a field that `variants` does not reach."""

    def reached(name: str) -> set[str]:
        return {field for field, _ in variants(EVERY[name])}

    def within(**kinds: Any) -> set[str]:
        return {f"{name}.{one.name}" for name, kind in kinds.items() for one in fields(kind)}

    for name, kind in (("base", Base), ("full", Finetuned), (POOLED, Pooled)):
        assert reached(name) == {one.name for one in fields(kind)}
    assert reached(REASONING) == {one.name for one in fields(ReasoningModel)} - {"course"} | within(course=Course)
    parts = within(method=Method, scope=GradientScope, course=Course, lora=LoraSettings)
    assert reached(RETHOUGHT) == {"parent"} | parts
    assert reached("npo") == {"parent"} | within(method=Method)


def test_a_key_changes_with_every_ancestor(table: dict[str, Recipe]) -> None:
    before = {name: recipes.key(name) for name in ("full", "retain", "npo")}
    table["base"] = Base(seed=5)
    assert all(recipes.key(name) != key for name, key in before.items())


def test_a_key_changes_with_the_trainer(monkeypatch: pytest.MonkeyPatch) -> None:
    before = recipes.key("npo")
    monkeypatch.setattr(recipes, "VERSION", recipes.VERSION + 1)
    version = recipes.key("npo")
    monkeypatch.setattr(torch, "__version__", "0.0.0")
    assert len({before, version, recipes.key("npo")}) == 3


def test_a_key_does_not_change_with_other_models_or_their_order(table: dict[str, Recipe]) -> None:
    before = {name: recipes.key(name) for name in ("base", "full", "npo")}
    table["retain"] = Finetuned("base", without=3, seed=9)
    for name in list(table)[::-1]:
        table[name] = table.pop(name)
    assert {name: recipes.key(name) for name in before} == before


def test_no_two_models_share_a_key(table: dict[str, Recipe]) -> None:
    assert len({recipes.key(name) for name in table}) == len(table)


@pytest.mark.parametrize("name", EVERY)
def test_a_lineage_puts_every_parent_before_its_child(name: str) -> None:
    line = recipes.lineage([name])
    assert line[-1] == name
    assert recipes.ancestor(line[0]) is None
    assert line[0] == "base" or recipes.owner(name) != "depth"
    for child in line[1:]:
        assert line.index(str(recipes.ancestor(child))) < line.index(child)


def test_a_lineage_names_every_model_once() -> None:
    assert recipes.lineage(["npo", "full", "idk", "npo"]) == ["base", "full", "npo", "idk"]
    assert recipes.lineage([]) == []


def test_an_unknown_name_says_which_are_near() -> None:
    for ask in (recipes.key, recipes.find, lambda name: recipes.lineage([name])):
        with pytest.raises(ConfigurationError) as caught:
            ask("nop")
        assert str(caught.value).startswith("zoo:nop is not an embedded model: did you mean 'npo'")
        assert "`uds-bench zoo list`" in str(caught.value)


def test_an_unlearned_recipe_may_start_from_any_model(table: dict[str, Recipe]) -> None:
    table["again"] = Unlearned("npo", Method("idk_nll", steps=1, lr=1e-3))
    assert recipes.lineage(["again"]) == ["base", "full", "npo", "again"]
