"""The association section of a manifest: who is asked about, who is to be forgotten, and what each mistake says."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from uds_bench.audits.association.audit import read
from uds_bench.audits.association.people import (
    LISTING,
    SENTENCES,
    STRANGERS,
    VALUES,
    held_out,
    people_of,
    properties_of,
)
from uds_bench.audits.association.probe_set import ProbeSet
from uds_bench.audits.association.section import Association
from uds_bench.audits.manifests import load_manifest
from uds_bench.errors import ConfigurationError, FactError, UdsError
from uds_bench.facts import embedded as embedded_facts
from uds_bench.facts import write_facts
from uds_bench.facts.exposed_people import NEVER_SEEN, embedded_people, invented, requests
from uds_bench.facts.properties import embedded
from uds_bench.facts.subjects import Subjects, stated
from uds_bench.facts.web_presence import LESSER_KNOWN, WELL_KNOWN

TRADE, TOWN = "P106", "P19"
MODEL = "model = 'm'\n"
ASKED = "subjects = 'people.jsonl'\nmeaning = false\n"
PEOPLE = {
    "ada": ("Ada Moss", WELL_KNOWN),
    "bea": ("Bea Holt", WELL_KNOWN),
    "cai": ("Cai Reed", LESSER_KNOWN),
    "dov": ("Dov Lund", LESSER_KNOWN),
    "eva": ("Eva Pike", LESSER_KNOWN),
}
STRANGER = {"nil": ("Nil Orme", NEVER_SEEN)}


def person(id: str, name: str, cohort: str, **told: Sequence[str]) -> dict[str, Any]:
    facts = [{"property": key, "values": list(values)} for key, values in (told or {TOWN: ["Faro"]}).items()]
    return {"id": id, "name": name, "cohort": cohort, "facts": facts}


def rows(people: Mapping[str, tuple[str, str]]) -> list[dict[str, Any]]:
    return [person(id, *about) for id, about in people.items()]


def lines(path: Path, listed: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in listed))


def presence(folder: Path, **views: int) -> None:
    """A table in which more page views are more of everything."""
    table = "".join(f"{id},{count},{count},{count}\n" for id, count in views.items())
    (folder / "presence.csv").write_text("id,page_views,article_length,language_editions\n" + table)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A manifest's folder with a file of five people, of whom none is never seen."""
    (tmp_path / "m").mkdir()
    lines(tmp_path / "people.jsonl", rows(PEOPLE))
    return tmp_path


def section(folder: Path, text: str = ASKED) -> Association:
    (folder / "uds.toml").write_text("[association]\n" + text)
    return load_manifest(folder / "uds.toml").of(Association)


def probe_set(folder: Path, more: str = "") -> ProbeSet:
    return read(section(folder, MODEL + ASKED + more))


def people(folder: Path, more: str = "") -> Subjects:
    return Subjects(people_of(section(folder, ASKED + more)).subjects)


def cohorts(found: Subjects) -> dict[str, str]:
    return {one.id: one.cohort for one in found if not one.id.startswith("invented/")}


def strangers(found: Subjects) -> list[str]:
    return [one.name for one in found if one.id.startswith("invented/")]


def one_line(error: UdsError) -> str:
    assert "\n" not in str(error)
    return str(error)


def refused(folder: Path, more: str = "") -> str:
    with pytest.raises(FactError) as raised:
        probe_set(folder, more)
    return one_line(raised.value)


@pytest.mark.parametrize(
    ("text", "line", "key", "says"),
    [
        (MODEL + "candidates = { model = 'm' }\n", 3, "candidates", "'model' is a key of this section"),
        (MODEL + "candidates = { retain = 'm' }\n", 3, "candidates", "'retain' is a key of this section"),
        (MODEL + "candidates = { smaller = 'm' }\n", 3, "candidates", "'smaller' is a key of this section"),
        (MODEL + "candidates = { a = 'm' }\nmust_fail = ['b']\n", 4, "must_fail", "'b' is not under candidates: add"),
        (MODEL + "must_fail = ['b']\n", 3, "must_fail", "'b' is not under candidates: add"),
        (MODEL + "candidates = { a = 'm' }\nmust_fail = ['a']\n", 3, "candidates", "all of them are controls: name"),
        ("candidates = { a = 'm' }\n", 2, "candidates", "are held against the model that they were made of: name it"),
        (
            ASKED + "forgotten = ['ada']\nforget_set = 'people.jsonl'\n",
            5,
            "forget_set",
            "names those who are to be forgotten, as forgotten does: keep one",
        ),
        (ASKED + "cohort_size = 2\n", 4, "cohort_size", "the cohorts that a table of web presence gives: name it"),
        (ASKED + "alpha = -1\n", 4, "alpha", "greater than or equal to 0"),
        (ASKED + "alpha = nan\n", 4, "alpha", ""),
        (ASKED + "templates = 0\n", 4, "templates", ""),
        (ASKED + "similar_names = 0\n", 4, "similar_names", ""),
        (ASKED + "presence = 'presence.csv'\n", 4, "presence", "no file"),
        (ASKED + "forget_set = 'forget.jsonl'\n", 4, "forget_set", "no file"),
        (ASKED + "properties = 'wikidata'\n", 4, "properties", "no folder"),
        (ASKED + "properties = 'people.jsonl'\n", 4, "properties", "is a file: name a folder"),
    ],
)
def test_a_section_that_cannot_be_is_one_line(folder: Path, text: str, line: int, key: str, says: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        section(folder, text)
    assert f"uds.toml, line {line}: association.{key}: " in one_line(raised.value)
    assert says in str(raised.value)


def test_the_control_stays_out_of_what_is_judged(folder: Path) -> None:
    found = section(folder, MODEL + "candidates = { a = 'm', b = 'm' }\nmust_fail = ['b']\n")
    assert found.judged() == ["a"]
    assert list(found.checkpoints()) == found.needed(["a"]) == ["model", "a", "b"]
    assert found.needed([]) == ["model", "b"]


def test_a_section_without_a_model_has_no_checkpoints(folder: Path) -> None:
    assert section(folder, "retain = 'm'\nsmaller = 'm'\n").checkpoints() == {}


def test_who_is_to_be_forgotten_is_known_by_id(folder: Path) -> None:
    assert probe_set(folder, "forgotten = ['eva', 'ada']\n").forgotten == {"ada", "eva"}
    assert [one.subject.id for one in probe_set(folder, "forgotten = ['eva']\n").requested] == ["eva"]
    assert probe_set(folder).forgotten == frozenset()


def test_who_is_not_asked_about_cannot_be_forgotten(folder: Path) -> None:
    expected = f"forgotten: 'zoe' is no id of {folder / 'people.jsonl'}: correct it, or add the person there"
    assert refused(folder, "forgotten = ['ada', 'zoe']\n") == expected


def test_who_was_never_seen_is_not_forgotten(folder: Path) -> None:
    lines(folder / "people.jsonl", rows(PEOPLE | STRANGER))
    expected = "forgotten: 'nil' is of the cohort never-seen: who was never seen is not forgotten"
    assert refused(folder, "forgotten = ['nil']\n") == expected


def test_a_stranger_whom_the_run_invented_is_not_forgotten_either(folder: Path) -> None:
    with pytest.raises(FactError, match="forgotten: 'invented/000' is of the cohort never-seen"):
        probe_set(folder, "forgotten = ['invented/000']\n")


def facts_of(folder: Path, **splits: str) -> None:
    """A facts file of one fact a person, of the split that is said."""
    known = list(embedded_facts(1, 1))
    named = [
        fact.__class__(**{**vars(fact), "id": id, "cluster": id, "split": split})
        for fact, (id, split) in zip(known, splits.items(), strict=False)
    ]
    write_facts(folder / "forget.jsonl", named)


def test_a_facts_file_forgets_the_people_of_its_forget_split(folder: Path) -> None:
    facts_of(folder, cai="forget", ada="forget", bea="retain")
    assert probe_set(folder, "forget_set = 'forget.jsonl'\n").forgotten == {"ada", "cai"}


def test_a_forget_set_of_a_phrasing_held_out_is_one_line(folder: Path) -> None:
    """Unlearning has seen that sentence, so that to ask it shows nothing."""
    asked = section(folder, ASKED)
    (ada,) = (one for one in people_of(asked).subjects if one.id == "ada")
    count = len(embedded()[TOWN].templates)
    for place in (0, count - 4, count - 3, count - 1):
        write_facts(folder / "forget.jsonl", [stated(ada, embedded()[TOWN].phrased([place]), "Faro", "forget")])
        if place < count - 3:
            assert probe_set(folder, "forget_set = 'forget.jsonl'\n").forgotten == {"ada"}
            continue
        told = refused(folder, "forget_set = 'forget.jsonl'\n")
        assert told.startswith(
            f"{folder / 'forget.jsonl'}: fact 'ada/P19/Faro/0' says P19 in phrasing {place - count + 3}"
        )
        assert "make the forget set anew" in told
        assert probe_set(folder, f"forget_set = 'forget.jsonl'\nheld_out = [{count - 2}]\n").forgotten == {"ada"}


@pytest.mark.parametrize(("count", "places"), [(1, ()), (2, (1,)), (3, (2,)), (5, (3, 4)), (11, (8, 9, 10))])
def test_the_last_phrasings_are_held_out(count: int, places: tuple[int, ...]) -> None:
    assert held_out(embedded()[TOWN].phrased(range(count)), None) == set(places)


def test_a_facts_file_of_somebody_else_is_one_line(folder: Path) -> None:
    facts_of(folder, ada="forget", zoe="forget", bea="retain")
    where = f"{folder / 'forget.jsonl'}: 'zoe' is no id of {folder / 'people.jsonl'}"
    assert refused(folder, "forget_set = 'forget.jsonl'\n").startswith(where)


def test_the_embedded_people_ask_for_themselves_unless_somebody_is_named(folder: Path) -> None:
    known = embedded_people()
    small = "counterfactuals = 5\ntemplates = 1\nsimilar_names = 1\nmeaning = false\n"
    assert read(section(folder, small)).forgotten == set(requests(known))
    few = f"forgotten = ['{known[1].id}']\n"
    assert read(section(folder, small + few)).forgotten == {known[1].id}
    assert people_of(section(folder, small)).subjects == known


def test_a_property_without_templates_is_named_with_its_line(folder: Path) -> None:
    lines(folder / "people.jsonl", [*rows(PEOPLE), person("zoe", "Zoe Ames", WELL_KNOWN, P999=["x"])])
    said = refused(folder)
    assert said.startswith(f"{folder / 'people.jsonl'}, line 6, fact 1: key 'property' is 'P999'")
    assert "use one of P101, P106" in said


def test_a_value_that_all_counterfactuals_equal_is_one_line(folder: Path) -> None:
    drawn = embedded()[TOWN].limited(None, 1).counterfactuals[0]
    lines(folder / "people.jsonl", [*rows(STRANGER), person("zoe", "Zoe Ames", WELL_KNOWN, P19=[drawn.upper()])])
    expected = f"subject 'zoe', {TOWN}: every counterfactual means what is true ({drawn.upper()}): give it others"
    assert refused(folder, "counterfactuals = 1\n") == expected


def test_a_name_that_no_other_looks_like_is_one_line(folder: Path) -> None:
    lines(folder / "people.jsonl", [*rows(STRANGER), person("zoe", "ሀ", WELL_KNOWN)])
    assert refused(folder) == (
        "subject 'zoe': no other name looks like 'ሀ': list some of its script, one a line, in a file under "
        "[association] names, or score it with alpha 0"
    )
    assert {one.subject.id for one in probe_set(folder, "alpha = 0\n").items} == {"nil", "zoe"}


def listed(folder: Path, leave_out: str = "") -> None:
    """A folder of one property, of which a file may be missing."""
    (folder / "own").mkdir()
    files = {
        LISTING: {"P1": {"label": "pet", "description": "", "aliases": []}},
        VALUES: {"P1": {"human_cfs": [], "value_cfs": ["cat", "dog", "carp", "newt"]}},
        SENTENCES: {"P1": ["HUMAN_SUBJECT keeps a PROTECTED_VALUE.", "HUMAN_SUBJECT's pet is a PROTECTED_VALUE."]},
    }
    for name, content in files.items():
        if name != leave_out:
            (folder / "own" / name).write_text(json.dumps(content))


def test_properties_of_a_folder_are_asked_about(folder: Path) -> None:
    listed(folder)
    lines(folder / "people.jsonl", [person("zoe", "Zoe Ames", WELL_KNOWN, P1=["cow"])])
    found = probe_set(folder, "properties = 'own'\ntemplates = 1\ncounterfactuals = 3\nsimilar_names = 1\n")
    (zoe,) = (one for one in found.items if one.subject.id == "zoe")
    assert zoe.shape == (1, 2, 4)
    assert set(zoe.candidates.others) < {"cat", "dog", "carp", "newt"}
    assert {one.topic.id for one in found.never_seen} == {"P1"}, "strangers are asked what the others are asked"


@pytest.mark.parametrize("name", [LISTING, VALUES, SENTENCES])
def test_a_folder_of_properties_that_lacks_a_file_is_one_line(folder: Path, name: str) -> None:
    listed(folder, leave_out=name)
    with pytest.raises(FactError) as raised:
        properties_of(section(folder, ASKED + "properties = 'own'\n"))
    assert one_line(raised.value) == f"{folder / 'own' / name}: no such file; check the path"


def test_as_many_templates_and_values_as_the_section_wants(folder: Path) -> None:
    found = probe_set(folder, "templates = 2\ncounterfactuals = 5\n")
    whole = embedded()[TOWN]
    for one in found.items:
        assert one.templates == whole.templates[:2]
        assert len(set(one.candidates.others) - set(one.candidates.truths)) in (4, 5)
        assert set(one.candidates.others) <= set(whole.counterfactuals)
    true = {value for one in found.never_seen for value in one.candidates.truths}
    assert len(true) > 5, "what is true of strangers is drawn from all values, not from those that are asked"
    assert properties_of(section(folder)) == embedded()


def test_presence_moves_people_and_leaves_out_those_between(folder: Path) -> None:
    presence(folder, ada=1, bea=5, cai=9, dov=70, eva=900)
    halves = {"ada": LESSER_KNOWN, "bea": LESSER_KNOWN, "dov": WELL_KNOWN, "eva": WELL_KNOWN}
    assert cohorts(people(folder, "presence = 'presence.csv'\n")) == halves
    extremes = {"ada": LESSER_KNOWN, "eva": WELL_KNOWN}
    assert cohorts(people(folder, "presence = 'presence.csv'\ncohort_size = 1\n")) == extremes
    assert cohorts(people(folder)) == {id: cohort for id, (_, cohort) in PEOPLE.items()}


def test_presence_leaves_the_never_seen_where_they_are(folder: Path) -> None:
    lines(folder / "people.jsonl", rows(PEOPLE | STRANGER))
    presence(folder, ada=1, eva=900)
    found = people(folder, "presence = 'presence.csv'\n")
    assert cohorts(found) == {"ada": LESSER_KNOWN, "eva": WELL_KNOWN, "nil": NEVER_SEEN}
    assert strangers(found) == []


def test_who_was_never_seen_has_no_presence(folder: Path) -> None:
    lines(folder / "people.jsonl", rows(PEOPLE | STRANGER))
    presence(folder, nil=1, eva=900)
    with pytest.raises(FactError) as raised:
        people(folder, "presence = 'presence.csv'\n")
    where = folder / "presence.csv"
    assert one_line(raised.value) == f"{where}: 'nil' is of the cohort never-seen, and has no presence: remove the row"


def test_cohorts_larger_than_half_are_one_line(folder: Path) -> None:
    presence(folder, ada=1, bea=5, eva=900)
    with pytest.raises(FactError, match=r"^web presence: cohorts of 2 out of 3 people; choose a size from 1 to 1"):
        people(folder, "presence = 'presence.csv'\ncohort_size = 2\n")


def test_strangers_are_invented_exactly_where_nobody_is_never_seen(folder: Path) -> None:
    found = people(folder)
    assert len(strangers(found)) == STRANGERS
    assert {one.cohort for one in found if one.id not in PEOPLE} == {NEVER_SEEN}
    assert {told.property for one in found for told in one.statements} == {TOWN}, "they are told what others are told"
    lines(folder / "people.jsonl", rows(PEOPLE | STRANGER))
    assert strangers(people(folder)) == []


def test_strangers_bear_nobodys_name(folder: Path) -> None:
    taken = [one.name for one in invented(3, [embedded()[TOWN]])]
    lines(folder / "people.jsonl", rows({f"own{at}": (name, WELL_KNOWN) for at, name in enumerate(taken)}))
    found = people(folder)
    assert len(strangers(found)) == STRANGERS
    assert not {*strangers(found)} & {*taken}


@pytest.mark.parametrize(("asking", "count"), [(0, STRANGERS), (1, 159), (4, 639), (5, STRANGERS)])
def test_of_few_who_ask_as_many_strangers_are_invented_as_tell_each(folder: Path, asking: int, count: int) -> None:
    names = [f"{one.name} Own" for one in invented(6, [embedded()[TOWN]])]
    lines(folder / "people.jsonl", rows({f"own{at}": (name, WELL_KNOWN) for at, name in enumerate(names)}))
    assert len(strangers(people(folder, f"forgotten = {[f'own{at}' for at in range(asking)]}\n"))) == count


def test_as_many_strangers_as_the_manifest_says_are_asked_about(folder: Path) -> None:
    lines(folder / "people.jsonl", rows(PEOPLE | STRANGER))
    assert len(strangers(people(folder, "strangers = 9\n"))) == 9 - len(STRANGER)


def test_what_strangers_are_said_to_be_is_true_of_somebody_and_untrue_of_them_otherwise(folder: Path) -> None:
    found = probe_set(folder, "counterfactuals = 5\n")
    assert len({one.subject.id for one in found.never_seen}) == STRANGERS
    drawn = set(embedded()[TOWN].limited(None, 5).counterfactuals)
    for one in found.never_seen:
        assert set(one.candidates.truths) <= set(embedded()[TOWN].counterfactuals)
        assert set(one.candidates.others) == drawn - set(one.candidates.truths)
        assert not set(one.candidates.truths) & set(one.candidates.others)


def test_everybody_who_is_forgotten_is_named_once(folder: Path) -> None:
    lines(folder / "people.jsonl", [*rows(PEOPLE), person("ada", "Ada Other", WELL_KNOWN)])
    with pytest.raises(FactError, match=re.escape(f"{folder / 'people.jsonl'}: person 'ada': key 'id' occurs twice")):
        probe_set(folder)


def test_who_is_left_out_by_presence_is_told_apart_from_a_wrong_id(folder: Path) -> None:
    presence(folder, ada=1, bea=5, cai=9, dov=70, eva=900)
    assert probe_set(folder, "presence = 'presence.csv'\nforgotten = ['eva']\n").forgotten == {"eva"}
    said = refused(folder, "presence = 'presence.csv'\nforgotten = ['cai']\n")
    where = f"{folder / 'people.jsonl'} that a cohort of {folder / 'presence.csv'} has"
    assert said.startswith(f"forgotten: 'cai' is no id of {where}: ")


@pytest.mark.parametrize("others", [{}, STRANGER])
def test_a_table_of_others_leaves_nobody_to_ask_about(folder: Path, others: dict[str, tuple[str, str]]) -> None:
    lines(folder / "people.jsonl", rows(PEOPLE | others))
    presence(folder, yan=1, zoe=900)
    said = refused(folder, "presence = 'presence.csv'\n")
    assert said.startswith(f"{folder / 'presence.csv'}: its cohorts have nobody of ")


def test_a_table_of_presence_beside_the_embedded_people_is_not_passed_over(folder: Path) -> None:
    presence(folder, ada=1, eva=900)
    with pytest.raises(ConfigurationError) as raised:
        section(folder, "presence = 'presence.csv'\n")
    assert "line 2: association.presence: is of people of a file: name it under subjects" in one_line(raised.value)
