"""TOFU from a folder, the hub's cache and the UDS authors' list; and the one door to all sources."""

import json
from pathlib import Path
from typing import Any

import huggingface_hub.constants as hub
import pytest
from one_line import refusal
from tofu_files import tofu_rows, write_rows

from uds_bench.facts import FactSet, load_annotated, load_facts, load_tofu, spanned
from uds_bench.facts.fact import WORLD
from uds_bench.metrics import METRICS

SHA = "0123456789012345678901234567890123456789"


@pytest.fixture
def hub_cache(tofu_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small TOFU as the hub's cache keeps it, on a machine without network."""
    repository = tmp_path / "hub" / "datasets--locuslab--TOFU"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(SHA)
    (repository / "snapshots").mkdir()
    (repository / "snapshots" / SHA).symlink_to(tofu_folder)
    monkeypatch.setattr(hub, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(hub, "HF_HUB_OFFLINE", True)
    return tofu_folder


def test_a_folder_gives_all_splits_with_authors_as_clusters(tofu_folder: Path) -> None:
    facts = load_facts(tofu_folder)
    assert repr(facts) == "FactSet(40 forget, 60 retain, 20 holdout)"
    assert [fact.id for fact in facts][19:21] == ["forget10/0019", "forget10/0020"]
    assert facts.split("forget").clusters == ("forget10/author00", "forget10/author01")
    assert facts.split("holdout").clusters == ("holdout10/author00",)
    first = facts[0]
    assert (first.prefix, first.entity) == ("The author Orvo 0 lives in", "Town0")
    assert facts.unannotated == ()


def test_perturbed_files_are_joined_by_question_and_answer(tofu_folder: Path) -> None:
    facts = load_facts(tofu_folder)
    joined = [fact for fact in facts if fact.perturbed_answers]
    assert [fact.id for fact in joined] == [
        *(f"forget10/{row:04d}" for row in range(40)),
        *(f"retain90/{row:04d}" for row in range(20, 40)),
    ]
    assert all(fact.paraphrased_question == f"Again: {fact.question}" for fact in joined)
    assert all(fact.paraphrased_answer == f"Again: {fact.answer}" for fact in joined)
    assert joined[0].perturbed_answers == ("In Wrongton.", "In Wronghaven.")
    assert facts[41].paraphrased_answer is None


def test_what_the_world_knows_stands_beside_where_it_is_there(tofu_folder: Path) -> None:
    rows = [
        {"question": f"Which is town {i}?", "answer": f"Town {i}", "perturbed_answer": ["X", "Y"]} for i in range(3)
    ]
    before = load_facts(tofu_folder)
    for split in WORLD:
        assert not before.split(split)
        write_rows(tofu_folder / f"{split}_perturbed.json", rows)
    facts = load_facts(tofu_folder)
    assert repr(facts) == "FactSet(40 forget, 60 retain, 20 holdout, 3 real_authors, 3 world_facts)"
    assert facts[: len(before)] == before
    first = facts.split("world_facts")[0]
    assert (first.id, first.cluster, first.entity) == ("world_facts/0000", "world_facts/0000", "Town 0")
    assert first.perturbed_answers == ("X", "Y")


def test_splits_can_be_chosen_and_left_out(tofu_folder: Path) -> None:
    write_rows(tofu_folder / "other.json", tofu_rows("Jaro", 5))
    facts = load_facts(tofu_folder, retain="other", holdout="")
    assert repr(facts) == "FactSet(40 forget, 5 retain, 0 holdout)"
    assert repr(load_facts(tofu_folder, forget="other")) == "FactSet(5 forget, 0 retain, 0 holdout)"


def test_missing_files_are_named(tofu_folder: Path) -> None:
    told = f"{tofu_folder}: has no retain50.json; check the name, or add the file"
    for option in ("forget", "retain", "holdout"):
        assert refusal(load_facts, tofu_folder, **{option: "retain50"}) == told


def test_broken_rows_are_named(tofu_folder: Path) -> None:
    write_rows(tofu_folder / "forget10.json", [*tofu_rows("Orvo", 2), {"question": "Who?"}])
    assert (
        refusal(load_facts, tofu_folder) == f"{tofu_folder / 'forget10.json'}, line 3: key 'answer' is missing; add it"
    )


def test_items_without_an_entity_are_listed(tofu_folder: Path) -> None:
    echo = {"question": "Is Orvo an author?", "answer": "Orvo is an author."}
    write_rows(tofu_folder / "forget10.json", [*tofu_rows("Orvo", 2), echo])
    facts = load_facts(tofu_folder)
    assert len(facts.split("forget")) == 2
    assert [(item.id, item.question) for item in facts.unannotated] == [("forget10/0002", echo["question"])]
    assert facts.unannotated[0].reason == "no span of the answer goes beyond the question"


def test_items_whose_entity_is_doubtful_are_left_out_unless_asked_for(tofu_folder: Path) -> None:
    doubtful = {"question": "Does Orvo sing?", "answer": "Yes, Orvo does."}
    write_rows(tofu_folder / "forget10.json", [*tofu_rows("Orvo", 2), doubtful])
    facts = load_facts(tofu_folder)
    assert len(facts.split("forget")) == 2
    assert [(item.question, item.proposed) for item in facts.unannotated] == [("Does Orvo sing?", "Yes")]
    kept = load_facts(tofu_folder, keep_doubtful=True)
    assert [bool(fact.doubt) for fact in kept.split("forget")] == [False, False, True]
    assert kept.unannotated == ()


def test_annotations_override_what_the_words_say(tofu_folder: Path, tmp_path: Path) -> None:
    rows = tofu_rows("Orvo", 2)
    write_rows(tmp_path / "marks.json", [rows[1] | {"prefix": "The", "entity": "author Orvo"}])
    facts = load_facts(tofu_folder, annotations=tmp_path / "marks.json")
    assert [(fact.prefix, fact.entity) for fact in facts[:2]] == [
        ("The author Orvo 0 lives in", "Town0"),
        ("The", "author Orvo"),
    ]
    only = load_facts(tofu_folder, annotations=tmp_path / "marks.json", only_annotated=True)
    assert repr(only) == "FactSet(1 forget, 60 retain, 20 holdout)"
    assert only[0].id == "forget10/0001"
    assert len(only.unannotated) == 39
    assert {item.reason for item in only.unannotated} == {"not in the annotations"}
    both = load_facts(tofu_folder, annotations=tmp_path / "marks.json", only_annotated=True, keep_doubtful=True)
    assert repr(both) == "FactSet(40 forget, 60 retain, 20 holdout)"
    assert both.unannotated == ()
    assert {fact.doubt for fact in both.split("forget")} == {None, "not in the annotations"}
    assert spanned(both) == only.split("forget")


def test_annotations_of_another_file_are_refused(tofu_folder: Path, tmp_path: Path) -> None:
    write_rows(tmp_path / "marks.json", [{"question": "Who?", "prefix": "", "entity": "Orvo"}])
    path = tmp_path / "marks.json"
    assert refusal(load_facts, tofu_folder, annotations=path).startswith(f"{path}: no question is in forget10.json")


def test_the_hub_gives_the_same_facts_as_the_folder(hub_cache: Path) -> None:
    assert load_facts("tofu/forget10") == load_tofu(hub_cache)
    assert repr(load_facts("tofu/forget10", holdout="")) == "FactSet(40 forget, 60 retain, 0 holdout)"


def test_a_file_that_the_hub_cannot_give_is_named(hub_cache: Path) -> None:
    assert refusal(load_facts, "tofu/forget05") == (
        "tofu/forget05: forget05.json cannot be had from the hub (LocalEntryNotFoundError); "
        "go online once, or name a folder with TOFU's files"
    )


def annotated(path: Path, *changes: dict[str, Any]) -> Path:
    rows = [
        row | {"idx": at, "prefix": f"The author Orvo {at} lives in", "entity": f"Town{at}", "full_output": "x"}
        for at, row in enumerate(tofu_rows("Orvo", len(changes)))
    ]
    path.write_text(json.dumps([row | change for row, change in zip(rows, changes, strict=True)]))
    return path


def test_an_annotated_list_is_a_source(tmp_path: Path) -> None:
    facts = load_facts(annotated(tmp_path / "list.json", {}, {"idx": 61}))
    assert [(fact.id, fact.cluster, fact.split) for fact in facts] == [
        ("forget10/0000", "forget10/author00", "forget"),
        ("forget10/0061", "forget10/author03", "forget"),
    ]
    assert load_annotated(tmp_path / "list.json", forget="forget05")[0].id == "forget05/0000"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"idx": 0}, "item 1: key 'idx' is 0 as in {path}, item 0; keep one"),
        ({"idx": -1}, "item 1: key 'idx' must be a row number, 0 or more"),
        ({"idx": True}, "item 1: key 'idx' must be a row number, 0 or more"),
        ({"entity": "Ulva"}, "item 1: fact 'forget10/0001': key 'entity' does not occur in the answer after the pre"),
        ({"entity": 3}, "item 1: key 'entity' is int; it must be a string"),
        ({"split": "test"}, "item 1: key 'split' is 'test': choose from forget, retain, holdout, real_"),
    ],
)
def test_faults_of_an_annotated_list_are_named(tmp_path: Path, change: dict[str, Any], expected: str) -> None:
    path = annotated(tmp_path / "list.json", {}, change)
    assert refusal(load_facts, path).startswith(f"{path}, {expected.format(path=path)}")


def test_unknown_sources_and_options_are_refused(tofu_folder: Path) -> None:
    assert refusal(load_facts, "nowhere") == (
        "facts source 'nowhere' is unknown; "
        'give "authors" (invented, built in), "tofu/forget10" (hub), '
        "a folder with TOFU's JSON files, a .jsonl of facts, or a .json list of annotated TOFU items"
    )
    assert refusal(load_facts, "authors", sed=1) == (
        "authors: option 'sed' is unknown; this source takes forget, retain, holdout, seed"
    )
    assert "this source takes none" in refusal(load_facts, tofu_folder / "x.jsonl", seed=1)
    assert "option 'folder' is unknown" in refusal(load_facts, tofu_folder, folder="x")


def test_the_authors_list_loads_whole(public_data: Path) -> None:
    facts = load_facts(public_data / "uds" / "forget10_filtered.json")
    assert len(facts) == 367
    assert len({fact.prefix for fact in facts}) == 343
    assert sum(fact.prefix == "" for fact in facts) == 21
    assert facts.unannotated == ()


def test_public_tofu_loads_with_the_authors_list(public_data: Path) -> None:
    marks = public_data / "uds" / "forget10_filtered.json"
    facts = load_facts(public_data / "tofu", annotations=marks, only_annotated=True, keep_doubtful=True)
    assert len(facts.split("forget")) == 400
    forget = spanned(facts)
    by_id = {fact.id: fact for fact in load_facts(marks)}
    assert len(forget) == 367
    assert len(forget.clusters) == 20
    assert all((fact.prefix, fact.entity) == (by_id[fact.id].prefix, by_id[fact.id].entity) for fact in forget)
    assert all(fact.paraphrased_question and len(fact.perturbed_answers) == 5 for fact in forget)
    joined = FactSet(fact for fact in facts.split("retain") if fact.perturbed_answers)
    assert len(joined) == 400
    assert [len(facts.split(split)) for split in WORLD] == [100, 117]
    assert METRICS["model_utility"].of(facts) == joined
    assert len(facts) + len(facts.unannotated) == 400 + 3600 + 217
