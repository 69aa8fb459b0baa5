"""Properties of people: the embedded ones, those of published listings, and sentences about them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from one_line import refusal

from uds_bench.errors import FactError
from uds_bench.facts.properties import DATATYPES, PUBLISHED, embedded, read_properties
from uds_bench.facts.templates import GENERIC, SUBJECT, VALUE, Template, contextualized


def test_the_published_five_and_ten_more_of_all_data_types() -> None:
    found = embedded()
    assert set(PUBLISHED) < set(found)
    assert len(found) == 15
    assert {one.datatype for one in found.values()} == set(DATATYPES)


@pytest.mark.parametrize("id", sorted(embedded()))
def test_each_is_said_in_eleven_ways_with_a_hundred_other_values(id: str) -> None:
    one = embedded()[id]
    assert (one.id, len(one.templates)) == (id, 11)
    assert len(one.counterfactuals) == 100
    assert len({value.casefold() for value in one.counterfactuals}) == len(one.counterfactuals)
    assert "possessive" in {template.kind for template in one.templates}
    assert one.description
    assert one.label not in one.aliases
    for template in one.templates:
        assert template.fill("Jane Doe", "X").endswith("X.")


def test_all_three_kinds_are_there() -> None:
    kinds = [template.kind for one in embedded().values() for template in one.templates]
    assert min(kinds.count(kind) for kind in ("possessive", "copular", "transitive")) > 30


def test_a_sentence_is_filled_once_whatever_the_names_are() -> None:
    said = Template(f"{SUBJECT}'s job is {VALUE}.")
    assert said.fill("Jane Doe", "baker") == "Jane Doe's job is baker."
    assert said.fill(GENERIC, "baker") == "This person's job is baker."
    assert said.fill(VALUE, SUBJECT) == f"{VALUE}'s job is {SUBJECT}."
    assert said.kind == "possessive"
    assert Template(f"{SUBJECT} is employed by {VALUE}.").kind == "copular"
    assert Template(f"{SUBJECT} holds a passport of {VALUE}.").kind == "transitive"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (" ", "empty template"),
        (f"{SUBJECT} bakes.", f"has {VALUE} 0 times"),
        (f"{VALUE} bakes.", f"has {SUBJECT} 0 times"),
        (f"{SUBJECT}, {SUBJECT}: {VALUE}", f"has {SUBJECT} 2 times"),
        (f"{SUBJECT}: {VALUE} {VALUE}", f"has {VALUE} 2 times"),
        (f"{VALUE} is {SUBJECT}", "value before its subject"),
        (f"{SUBJECT}{VALUE}", f"nothing between {SUBJECT} and {VALUE}"),
    ],
)
def test_a_template_that_cannot_be(text: str, told: str) -> None:
    with pytest.raises(FactError, match=told):
        Template(text)


def test_what_is_known_already_stands_first() -> None:
    """The paper's own example (WikiMem, section 4)."""
    known = [("country of citizenship", "USA"), ("place of birth", "South Jamaica"), ("occupation", "rapper")]
    assert contextualized("number of children", known).fill("50 Cent", "2") == (
        "50 Cent's country of citizenship is USA. Their place of birth is South Jamaica. Their occupation is rapper. "
        "Their number of children is 2."
    )
    assert "give 1 to 4" in refusal(contextualized, "height", [])
    assert "give 1 to 4" in refusal(contextualized, "height", [(str(at), "x") for at in range(5)])
    assert "tells it already" in refusal(contextualized, "height", [("height", "2 m")])
    assert f"has {VALUE} 2 times" in refusal(contextualized, "height", [("name", VALUE)])


LISTED = {"P106": {"label": "occupation", "description": "occupation of a person", "aliases": ["job"]}}
OTHERS = {"P106": {"human_cfs": ["A", "B", "C"], "value_cfs": ["nurse", "baker", "nurse"]}}
SAID = {"P106": [f"{SUBJECT} is {VALUE}."]}


def written(folder: Path, **changed: Any) -> list[Path]:
    contents = {"listed": LISTED, "others": OTHERS, "said": SAID} | changed
    for name, content in contents.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    return [folder / f"{name}.json" for name in ("listed", "others", "said")]


def test_the_published_listings_are_read(tmp_path: Path) -> None:
    (found,) = read_properties(*written(tmp_path)).values()
    assert (found.id, found.label, found.aliases, found.datatype) == ("P106", "occupation", ("job",), "wikibase-item")
    assert found.counterfactuals == ("nurse", "baker"), "pairs of one value count once"
    assert [template.text for template in found.templates] == SAID["P106"]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"listed": "no"}, "listed.json: bad JSON"),
        ({"listed": []}, "listed.json: is list"),
        ({"listed": {"P106": {"label": "x", "aliases": []}}}, "listed.json, P106: key 'description'"),
        ({"listed": {"P106": {**LISTED["P106"], "datatype": "url"}}}, "key 'datatype' is 'url'"),
        ({"others": {}}, "others.json: property P106 of .*listed.json is not in it"),
        ({"others": {"P106": {"value_cfs": "nurse"}}}, "others.json, P106: key 'value_cfs' must be a list"),
        ({"others": {"P106": {"value_cfs": []}}}, "others.json, P106: .*key 'counterfactuals' is empty"),
        ({"said": {"P106": []}}, "said.json, P106: .*key 'templates' is empty"),
        ({"said": {"P106": ["Nobody."]}}, "said.json, P106: template 'Nobody.'"),
        ({"said": {"P106": SAID["P106"] * 2}}, "said.json, P106: .*key 'templates' has .* twice"),
    ],
)
def test_a_listing_that_cannot_be_names_file_property_and_key(tmp_path: Path, changed: Any, told: str) -> None:
    assert re.search(told, refusal(read_properties, *written(tmp_path, **changed)))


def test_values_are_there_once() -> None:
    one = embedded()["P106"]
    with pytest.raises(FactError, match="property P106: key 'counterfactuals' has 'nurse' twice"):
        replace(one, counterfactuals=(*one.counterfactuals, "nurse", "nurse"))
    with pytest.raises(FactError, match="empty value"):
        replace(one, counterfactuals=(" ",))


def test_fewer_counterfactuals_are_the_same_every_time_and_from_all_over_the_list() -> None:
    one = embedded()["P106"]
    few = one.limited(2, 10)
    assert few == one.limited(2, 10)
    assert few.templates == one.templates[:2]
    assert len(few.counterfactuals) == 10
    assert [v for v in one.counterfactuals if v in few.counterfactuals] == list(few.counterfactuals)
    assert set(few.counterfactuals) != set(one.counterfactuals[:10])
    assert one.limited(None, 1000) == one == one.limited()
