"""Properties and pairs from a Wikidata dump: what is read, what counts, what is drawn, and what cannot be used."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_line import refusal
from wikidata_dumps import (
    Entity,
    claim,
    described,
    dump_bytes,
    human,
    item,
    of_item,
    of_quantity,
    of_time,
    without,
    write_dump,
)

from uds_bench.errors import FactError
from uds_bench.facts.properties import read_properties
from uds_bench.facts.templates import SUBJECT, VALUE
from uds_bench.facts.wikidata import Dump, Value, date, stated
from uds_bench.facts.wikidata_sampling import (
    NAMES,
    NO_LABEL,
    NOT_DESCRIBED,
    SPARE,
    PropertyReservoir,
    WikidataSample,
    draw,
)

JOBS = [item(f"Q{at}", f"job {at}") for at in range(1000, 1100)]
OCCUPATION = described("P106", "occupation", aliases=("profession", "job"))


def drawn(folder: Path, entities: Iterable[Entity], least: int = 1, count: int = 100, seed: int = 0) -> WikidataSample:
    return draw(Dump(write_dump(folder, entities)), least, count, seed, lambda _text, _done: None)


def pairs(folder: Path, entities: Iterable[Entity], **asked: int) -> Mapping[str, str]:
    return drawn(folder, entities, **asked).pairs["P106"]


def values(folder: Path, *claims: Entity, datatype: str, others: Iterable[Entity] = ()) -> list[str]:
    """What is drawn of as many humans as there are claims, each of one."""
    people = [human(at, f"Human {at}", P1=[one]) for at, one in enumerate(claims)]
    return sorted(drawn(folder, [*people, described("P1", "thing", datatype), *others]).pairs["P1"].values())


def workers(count: int) -> list[Entity]:
    """Each is called Human N and has one of the hundred jobs."""
    return [human(at, f"Human {at}", P106=[of_item(f"Q{1000 + at % 100}")]) for at in range(count)]


def contents(folder: Path) -> dict[str, Any]:
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in folder.iterdir()}


# What comes out


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2"])
def test_what_is_written_is_read_back_whatever_the_compression(tmp_path: Path, suffix: str) -> None:
    path = write_dump(tmp_path, [*workers(30), *JOBS, OCCUPATION], suffix)
    found = draw(Dump(path), 30, 10, 0, lambda _text, _done: None)
    found.write(tmp_path / "out")
    written = contents(tmp_path / "out")
    assert written["listing"] == {
        "P106": {
            "label": "occupation",
            "description": "what occupation is",
            "aliases": ["profession", "job"],
            "datatype": "wikibase-item",
        }
    }
    assert written["templates"] == {
        "P106": [f"{SUBJECT}'s occupation is {VALUE}.", f"The occupation of {SUBJECT} is {VALUE}."]
    }
    both = written["counterfactuals"]["P106"]
    assert len(both["human_cfs"]) == len(both["value_cfs"]) == 10
    for name, value in zip(both["human_cfs"], both["value_cfs"], strict=True):
        assert int(name.removeprefix("Human ")) == int(value.removeprefix("job ")) - 1000
    assert both == {"human_cfs": [*found.pairs["P106"]], "value_cfs": [*found.pairs["P106"].values()]}
    plain = drawn(tmp_path, [*workers(30), *JOBS, OCCUPATION], 30, 10)
    assert plain == found, "the same for the same entities"

    (read,) = read_properties(
        *(tmp_path / "out" / f"{name}.json" for name in ("listing", "counterfactuals", "templates"))
    ).values()
    assert (read.id, read.label, read.aliases, read.datatype) == (
        "P106",
        "occupation",
        ("profession", "job"),
        "wikibase-item",
    )
    assert read.counterfactuals == tuple(both["value_cfs"])
    assert [template.kind for template in read.templates] == ["possessive", "copular"]


def test_the_order_of_entities_does_not_matter_to_what_can_be_found(tmp_path: Path) -> None:
    parts = workers(8), JOBS, [OCCUPATION]
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        found = pairs(tmp_path, [one for at in order for one in parts[at]])
        assert found == {f"Human {at}": f"job {1000 + at}" for at in range(8)}


def test_properties_stand_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    ids = ("P106", "P21", "P19")
    one = human(0, "Human 0", **{id: [claim("string", f"x {id}")] for id in ids})
    found = drawn(tmp_path, [one, *(described(id, f"label {id}", "string") for id in ids)])
    assert [*found.pairs] == [*found.listed] == ["P19", "P21", "P106"]


# Who and what counts


def test_only_humans(tmp_path: Path) -> None:
    job = of_item("Q1000")
    others = [
        item("Q1", "dog", P31=[of_item("Q144")], P106=[job]),
        item("Q2", "never human", P31=[of_item("Q5", "deprecated")], P106=[job]),
        item("Q3", "unknown", P31=[without("somevalue")], P106=[job]),
        item("Q4", "nothing", P106=[job]),
        item("Q6", "human elsewhere", P31=[of_item("Q1000")], P21=[of_item("Q5")], P106=[job]),
    ]
    both = item("Q7", "both", P31=[of_item("Q144"), of_item("Q5", "preferred")], P106=[of_item("Q1001")])
    found = drawn(tmp_path, [*others, *JOBS, OCCUPATION, human(1, "Ada", P106=[job]), both])
    assert found.people == 2
    assert found.pairs == {"P106": {"Ada": "job 1000", "both": "job 1001"}}


def test_deprecated_statements_and_those_without_a_value_are_not_there(tmp_path: Path) -> None:
    people = [
        human(1, "Ada", P106=[of_item("Q1001", "deprecated"), of_item("Q1002")]),
        human(2, "Ben", P106=[of_item("Q1003", "deprecated")]),
        human(3, "Cem", P106=[without("novalue")]),
        human(4, "Dia", P106=[without("somevalue"), of_item("Q1004", "preferred")]),
    ]
    entities = [*people, *JOBS, OCCUPATION]
    assert dict(pairs(tmp_path, entities, least=2)) == {"Ada": "job 1002", "Dia": "job 1004"}
    with pytest.raises(FactError, match="of 4 in it 2 have the most frequent property, and 3 must"):
        drawn(tmp_path, entities, least=3)


def test_a_human_counts_once_and_also_without_a_name(tmp_path: Path) -> None:
    twice = human(1, "Ada", P106=[of_item("Q1000"), of_item("Q1001")])
    nameless = human(2, None, P106=[of_item("Q1002")])
    namesake = human(3, "Ada", P106=[of_item("Q1001")])
    entities = [twice, nameless, namesake, *JOBS, OCCUPATION]
    found = pairs(tmp_path, entities, least=3)
    assert [*found] == ["Ada"]
    assert found["Ada"] in ("job 1000", "job 1001")
    with pytest.raises(FactError, match="of 3 in it 3 have"):
        drawn(tmp_path, entities, least=4)


@pytest.mark.parametrize(("least", "kept"), [(4, ["P19", "P106"]), (5, ["P106"])])
def test_a_property_needs_so_many_humans(tmp_path: Path, least: int, kept: list[str]) -> None:
    people = workers(5)
    for one in people[1:]:
        one["claims"]["P19"] = [of_item("Q1000")]
    found = drawn(tmp_path, [*people, *JOBS, OCCUPATION, described("P19", "place of birth")], least)
    assert [*found.pairs] == kept


def test_other_datatypes_and_what_makes_them_human_are_left_out(tmp_path: Path) -> None:
    said = {
        "P106": of_item("Q1000"),
        "P214": claim("external-id", "113230702"),
        "P856": claim("url", "https://x.example"),
        "P1559": claim("monolingualtext", {"text": "Ada", "language": "en"}),
        # Wikidata's own word for a value that it finds bad.
        "P569": {
            "mainsnak": {"snaktype": "value", "datatype": "time", "datavalue": {"type": "bad", "value": {}}},
            "rank": "normal",
        },
    }
    names = [described(id, f"label {id}", one["mainsnak"]["datatype"]) for id, one in said.items()]
    everybody = human(1, "Ada", **{id: [one] for id, one in said.items()})
    found = drawn(tmp_path, [*names, described("P31", "instance of"), item("Q5", "human"), *JOBS, everybody])
    assert [*found.pairs] == ["P106"]
    assert found.left_out == {}


def test_a_property_that_is_not_described_or_has_no_value_in_english_is_named(tmp_path: Path) -> None:
    said = {id: [of_item("Q1000")] for id in ("P1", "P2", "P106")} | {"P3": [of_item("Q7")]}
    named = [OCCUPATION, described("P2", None), described("P3", "three")]
    found = drawn(tmp_path, [human(1, "Ada", **said), *JOBS, *named])
    assert [*found.pairs] == ["P106"]
    assert found.left_out == {"P1": NOT_DESCRIBED, "P2": NOT_DESCRIBED, "P3": NO_LABEL}


def test_a_property_with_another_datatype_than_its_values_is_named(tmp_path: Path) -> None:
    people = [human(1, "Ada", P2=[claim("string", "x")], P106=[of_item("Q1000")])]
    found = drawn(tmp_path, [*people, *JOBS, OCCUPATION, described("P2", "two", "external-id")])
    assert [*found.pairs] == ["P106"]
    assert found.left_out == {"P2": NOT_DESCRIBED}


def test_the_default_for_all_languages_stands_in_for_english(tmp_path: Path) -> None:
    mul = {"mul": {"language": "mul", "value": "Ada"}, "de": {"language": "de", "value": "Ada D."}}
    ada, ben = (human(at, None, P106=[of_item(f"Q{1000 + at}")]) for at in range(2))
    ada["labels"], ben["labels"] = mul, {**mul, "en": {"language": "en", "value": "Ben"}}
    german = human(2, None, P106=[of_item("Q1002")])
    german["labels"] = {"de": mul["de"]}
    assert dict(pairs(tmp_path, [ada, ben, german, *JOBS, OCCUPATION])) == {"Ada": "job 1000", "Ben": "job 1001"}


# Values as text


@pytest.mark.parametrize(
    ("time", "precision", "text"),
    [
        ("+1952-00-00T00:00:00Z", 9, "1952"),
        ("+1952-05-00T00:00:00Z", 10, "May 1952"),
        ("+1952-03-11T00:00:00Z", 11, "11 March 1952"),
        ("+1952-12-01T10:30:00Z", 14, "1 December 1952"),
        ("+1952-03-11T00:00:00Z", 9, "1952"),
        ("-0044-03-15T00:00:00Z", 11, "15 March 44 BCE"),
        ("-0427-00-00T00:00:00Z", 9, "427 BCE"),
        ("+0079-01-00T00:00:00Z", 10, "January 79"),
        ("+1950-00-00T00:00:00Z", 8, None),
        ("+1900-00-00T00:00:00Z", 7, None),
        ("+1952-00-00T00:00:00Z", 10, None),
        ("+1952-13-00T00:00:00Z", 10, None),
        ("+1952-05-00T00:00:00Z", 11, None),
        ("+0000-00-00T00:00:00Z", 9, None),
        ("some day", 11, None),
    ],
)
def test_a_time_is_said_as_precisely_as_it_is_known(time: str, precision: int, text: str | None) -> None:
    assert date(time, precision) == text


def test_times(tmp_path: Path) -> None:
    told = [
        of_time("+1952-03-11T00:00:00Z", 11),
        of_time("-0044-00-00T00:00:00Z", 9),
        of_time("+1900-00-00T00:00:00Z", 7),
    ]
    assert values(tmp_path, *told, datatype="time") == ["11 March 1952", "44 BCE"]


def test_quantities_with_the_label_of_their_unit_or_not_at_all(tmp_path: Path) -> None:
    told = [
        of_quantity("+3"),
        of_quantity("-1.50"),
        of_quantity("+180", "Q9"),
        of_quantity("+70", "Q8"),
        of_quantity("+3"),
    ]
    units = [item("Q9", "centimetre"), item("Q8", None)]
    assert values(tmp_path, *told, datatype="quantity", others=units) == ["-1.50", "180 centimetre", "3"]


def test_strings_as_they_are(tmp_path: Path) -> None:
    told = [claim("string", text) for text in ("A+", " two  words", "Ærø ", "  ")]
    assert values(tmp_path, *told, datatype="string") == [" two  words", "A+", "Ærø "]


def test_items_without_a_label_or_with_that_of_another_are_replaced(tmp_path: Path) -> None:
    labels = [item(f"Q{at}", None if at % 2 else "baker" if at < 20 else f"job {at}") for at in range(10, 40)]
    people = [human(at, f"Human {at}", P106=[of_item(f"Q{at}")]) for at in range(10, 45)]
    found = pairs(tmp_path, [*people, *labels, OCCUPATION], count=11)
    assert sorted(found.values()) == ["baker", *(f"job {at}" for at in range(20, 40, 2))]


def test_what_is_said_twice_of_a_human_is_one_value() -> None:
    assert stated([of_item("Q9"), of_item("Q9", "preferred"), of_item("Q8")]) == [Value("", "Q9"), Value("", "Q8")]


# What is drawn


def test_a_value_and_a_name_are_drawn_once_and_rare_values_are_found(tmp_path: Path) -> None:
    common = [human(at, f"Human {at % 50}", P106=[of_item("Q1000")]) for at in range(300)]
    rare = [human(1000 + at, f"Rare {at}", P106=[of_item(f"Q{1001 + at}")]) for at in range(9)]
    found = pairs(tmp_path, [*common[:150], *rare, *common[150:], *JOBS, OCCUPATION], count=10)
    assert sorted(found.values()) == [f"job {at}" for at in range(1000, 1010)]
    assert len(found) == 10


def test_one_human_gives_one_pair_of_many_values(tmp_path: Path) -> None:
    people = [human(at, f"Human {at}", P106=[of_item("Q1000"), of_item(f"Q{1001 + at}")]) for at in range(6)]
    found = pairs(tmp_path, [*people, *JOBS, OCCUPATION])
    assert sorted(found) == [f"Human {at}" for at in range(6)]
    assert len(set(found.values())) == 6


def test_the_same_for_the_same_seed_and_other_for_another(tmp_path: Path) -> None:
    entities = [*workers(300), *JOBS, OCCUPATION]
    first, again, other = (pairs(tmp_path, entities, count=10, seed=seed) for seed in (3, 3, 4))
    assert [*first.items()] == [*again.items()]
    assert set(first.items()) != set(other.items())
    assert len(first) == 10


def walked(offers: list[tuple[str, str]], count: int, seed: int) -> dict[str, str]:
    """All pairs in memory, shuffled, and taken one by one where name and value are new."""
    random = Random(seed)
    found: dict[str, str] = {}
    for _, (name, value) in sorted((random.random(), offer) for offer in offers):
        if name not in found and value not in found.values() and len(found) < count:
            found[name] = value
    return found


def streamed(offers: list[tuple[str, str]], count: int, seed: int, spare: int = SPARE) -> dict[str, str]:
    random, one = Random(seed), PropertyReservoir(spare * count)
    for name, value in offers:
        one.add(name, [Value(value)], random)
    return one.pairs(count, {})


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9)), max_size=300), st.integers(1, 8), st.integers(0, 5))
def test_the_draw_is_that_of_a_shuffle_of_all_pairs(held: list[tuple[int, int]], count: int, seed: int) -> None:
    """Where no name has two values, without anything to spare."""
    offers = [(f"Human {value}/{name}", f"value {value}") for value, name in held]
    assert [*streamed(offers, count, seed, spare=1).items()] == [*walked(offers, count, seed).items()]


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 30)), max_size=200), st.integers(1, 8))
def test_namesakes_and_their_values_are_there_once_and_were_said(held: list[tuple[int, int]], count: int) -> None:
    offers = [(f"Human {name}", f"value {value}") for name, value in held]
    found = streamed(offers, count, 0)
    assert set(found.items()) <= set(offers)
    assert len(set(found.values())) == len(found) <= count
    if held:
        assert found


def test_frequent_values_come_first_as_often_as_they_are_frequent() -> None:
    offers = [(f"Human {at}", "rare" if at < 20 else "common") for at in range(100)]
    got = Counter(value for seed in range(500) for value in streamed(offers, 1, seed).values())
    # Four standard deviations of a binomial around 100.
    assert abs(got["rare"] - 100) < 4 * (500 * 0.2 * 0.8) ** 0.5
    names = Counter(name for seed in range(500) for name in streamed(offers, 1, seed))
    assert len(names) > 90, "and everybody may be met"


def test_a_name_that_is_taken_leaves_the_value_to_the_next_who_has_it() -> None:
    offers = [(f"Human {at}", value) for at in range(NAMES) for value in ("a", "b", "c", "d")]
    for seed in range(50):
        assert len(streamed(offers, 4, seed)) == 4


def test_memory_does_not_grow_with_the_dump(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        people = workers(count)
        for at, one in enumerate(people):
            one["claims"]["P742"] = [claim("string", f"alias {at}")]
        path = write_dump(tmp_path, [*JOBS, *people, OCCUPATION, described("P742", "pseudonym", "string")], ".gz")
        tracemalloc.start()
        draw(Dump(path), 1, 10, 0, lambda _text, _done: None)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(10)
    assert peak(6000) < 1.1 * peak(600)


def test_how_far_it_is_is_told_in_bytes_of_the_file(tmp_path: Path) -> None:
    path = write_dump(tmp_path, [*workers(3000), *JOBS, OCCUPATION], ".gz")
    told: list[tuple[str, int]] = []
    draw(Dump(path), 1, 10, 0, lambda *args: told.append(args))
    for text in ("people and properties", "labels of values"):
        done = [at for one, at in told if one == text]
        assert done == sorted(done)
        assert len(done) >= 3
        assert done[-1] <= path.stat().st_size


def test_labels_are_read_no_further_than_needed(tmp_path: Path) -> None:
    told: list[int] = []
    dump = Dump(write_dump(tmp_path, [*JOBS, *workers(5000)]))
    assert dump.labels({"Q1000", "Q1099"}, told.append) == {"Q1000": "job 1000", "Q1099": "job 1099"}
    assert len(told) == 1
    assert dump.labels({"Q1000", "Q999"}, told.append) == {"Q1000": "job 1000"}
    assert len(told) == 1 + 6


def test_lines_with_spaces_are_read_like_those_without(tmp_path: Path) -> None:
    entities = [*workers(9), *JOBS, OCCUPATION]
    found = drawn(tmp_path, entities)
    path = tmp_path / "spaced.json"
    path.write_text("[\n" + " ,\r\n".join(f"  {json.dumps(one)}" for one in entities) + "\r\n] \n\n")
    assert draw(Dump(path), 1, 100, 0, lambda _text, _done: None) == found


# What cannot be used


def refused(path: Path, **asked: int) -> str:
    given = {"least": 1, "count": 100, "seed": 0} | asked
    said = refusal(lambda: draw(Dump(path), **given, stage=lambda _text, _done: None))
    assert said.startswith(str(path))
    return said


def test_no_such_file(tmp_path: Path) -> None:
    assert "no such file" in refused(tmp_path / "none.json")
    assert "no such file" in refused(tmp_path)


@pytest.mark.parametrize("suffix", [".gz", ".bz2"])
def test_a_damaged_or_truncated_archive(tmp_path: Path, suffix: str) -> None:
    path = write_dump(tmp_path, [*workers(100), *JOBS, OCCUPATION], suffix)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "cannot be read (Compressed file ended" in refused(path)
    path.write_bytes(whole[:30] + b"\x00" * 30 + whole[60:])
    assert "line 1: cannot be read" in refused(path)


def test_a_dump_cut_between_lines_is_cut_short_too(tmp_path: Path) -> None:
    path = write_dump(tmp_path, [*workers(3), *JOBS, OCCUPATION])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    assert f"line {len(lines)}: ends without its closing ]" in refused(path)
    path.write_bytes(gzip.compress(b"".join(lines[:20])))
    assert "line 21: ends without its closing ]" in refused(path)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b'{"type":"item","id":', "line 3: bad JSON"),
        (b"\xff\xfe,", "line 3: bad JSON"),
        (b"{}{}", "line 3: bad JSON (Extra data"),
        (b"5,", "line 3: is int; it must be a JSON object"),
        (b'{"id":"Q1"}', "line 3: is no entity as Wikidata writes them (KeyError('type'))"),
        (b'{"type":"item","id":"Q1","claims":{"P31":[{"rank":"normal"}]}}', "(KeyError('mainsnak'))"),
        (b'{"type":"item","id":"Q1","claims":5}', "line 3: is no entity"),
        (b'{"type":"property","id":"P1","labels":{"en":"x"}}', "line 3: is no entity"),
        (b'{"type":"item","id":"Q1000","labels":{"en":"x"}}', "line 3: is no entity"),
        (b"]", "line 4: there is more behind the ]"),
    ],
)
def test_a_line_that_is_no_entity_is_named(tmp_path: Path, line: bytes, told: str) -> None:
    path = tmp_path / "dump.json"
    lines = dump_bytes([*workers(3), *JOBS, OCCUPATION]).splitlines()
    path.write_bytes(b"\n".join([*lines[:2], line, *lines[2:]]))
    assert told in refused(path)


@pytest.mark.parametrize("content", [b"{}\n", b'[{"type":"item"}]\n', b"nonsense"])
def test_a_file_that_is_no_dump(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "dump.json"
    path.write_bytes(content)
    assert "line 1: the dump does not begin with a line of [" in refused(path)
    path.write_bytes(b"")
    assert "line 1: ends without its closing ]" in refused(path)


def test_too_few_humans_or_none(tmp_path: Path) -> None:
    assert "no human in it (P31 = Q5)" in refused(write_dump(tmp_path, [*JOBS, OCCUPATION]))
    path = write_dump(tmp_path, [*workers(7), human(50, "Ada"), *JOBS, OCCUPATION])
    assert "too few humans: of 8 in it 7 have the most frequent property, and 8 must" in refused(path, least=8)
    path = write_dump(tmp_path, [human(50, "Ada")])
    assert "of 1 in it 0 have" in refused(path)
    path = write_dump(tmp_path, [*workers(7), *JOBS])
    assert f"no property is left of 1: P106: {NOT_DESCRIBED}" in refused(path)
