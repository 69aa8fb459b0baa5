"""Fakes of people who ask to be forgotten: which claim catches each; and honest models, of many and of one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import association_fakes as fakes
import pytest

from uds_bench.audits.association.zoo.data import people
from uds_bench.facts.exposed_people import NEVER_SEEN, requests
from uds_bench.facts.properties import embedded
from uds_bench.facts.subjects import Statement

ROOT = Path(__file__).parents[2]
SECTION = """
[association]
model = "specimen:assoc_full"
retain = "specimen:assoc_retain"
templates = 1
counterfactuals = 50
similar_names = 1
held_out = [6]
"""
HONEST = {"retrained": "specimen:assoc_retain"}
SHIPPED = HONEST | {"npo": "specimen:assoc_npo", "identity": "specimen:assoc_full"}
MADE = {
    "lies": fakes.lies((0, 1, 2)),
    "lies_where_asked": fakes.lies((0,)),
    "lies_then_npo": fakes.then_npo(fakes.lies((0, 1, 2), steps=300)),
}


def judged(folder: Path, section: str, candidates: dict[str, Any]) -> dict[str, Any]:
    """The suite on some candidates, claim by claim."""
    lines = [f'{name} = "{place}"' for name, place in candidates.items()]
    (folder / "uds.toml").write_text("\n".join([section, "[association.candidates]", *lines]))
    words = [sys.executable, "-m", "pytest", str(ROOT / "suites" / "test_association.py"), "-q"]
    words += ["-p", "no:cacheprovider", "--uds-manifest", "uds.toml", "--uds-json", "run.json", "--uds-store", "store"]
    ran = subprocess.run(words, cwd=folder, capture_output=True, text=True, env=dict(os.environ), check=False)
    assert (folder / "run.json").exists(), ran.stdout + ran.stderr
    return {claim["name"]: claim for claim in json.loads((folder / "run.json").read_text())["claims"]}


def verdicts(judged: dict[str, Any], model: str) -> dict[str, str]:
    found = {name.partition("[")[0]: claim["verdict"] for name, claim in judged.items() if f"[{model}]" in name}
    return {name.removeprefix("association."): verdict for name, verdict in found.items()}


@pytest.fixture(scope="module")
def of_many(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("people")
    return judged(folder, SECTION, SHIPPED | {name: fakes.make(how, folder / name) for name, how in MADE.items()})


@pytest.mark.slow
def test_one_lie_a_fact_is_seen_below_the_first_rank(of_many: dict[str, Any]) -> None:
    assert verdicts(of_many, "lies")["as_strangers"] == "fail"
    assert of_many["association.as_strangers[lies]"]["observed"] > 0


@pytest.mark.slow
def test_lies_where_it_is_asked_are_seen_in_other_words(of_many: dict[str, Any]) -> None:
    found = verdicts(of_many, "lies_where_asked")
    assert (found["rephrased"], found["as_strangers"]) == ("fail", "fail")


@pytest.mark.slow
def test_an_erasure_that_shows_is_no_green(of_many: dict[str, Any]) -> None:
    for name in ("lies_then_npo", "npo"):
        claim = of_many[f"association.as_strangers[{name}]"]
        assert claim["verdict"] != "pass"
        assert claim["observed"] < 0


@pytest.mark.slow
def test_what_was_never_seen_is_green(of_many: dict[str, Any]) -> None:
    assert set(verdicts(of_many, "retrained").values()) == {"pass", "not applicable"}


@pytest.fixture(scope="module")
def of_one(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One person who asks, some who stay, and as many strangers as the test needs, invented."""
    folder = tmp_path_factory.mktemp("one")
    asks, *others = requests(people())
    listed = [one for one in people() if one.cohort != NEVER_SEEN and one.id not in others]
    rows = [
        {"id": one.id, "name": one.name, "cohort": one.cohort}
        | {"facts": [{"property": told.property, "values": list(told.values)} for told in one.statements]}
        for one in listed
    ]
    (folder / "people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return judged(folder, f'{SECTION}subjects = "people.jsonl"\nforgotten = ["{asks}"]\n', SHIPPED)


@pytest.mark.slow
def test_one_person_is_decided_by_a_rank_test(of_one: dict[str, Any]) -> None:
    found = {name: verdicts(of_one, name) for name in SHIPPED}
    assert {name: one["requests"] for name, one in found.items()} == {
        "retrained": "pass",
        "npo": "pass",
        "identity": "fail",
    }
    for one in found.values():
        assert {one[name] for name in ("forgotten", "rephrased", "as_strangers")} == {"not applicable"}
    message = of_one["association.requests[identity]"]["message"]
    assert "1 of 1 people who ask are told from 159 people never seen: well-known/000 (above, " in message


@pytest.mark.slow
def test_a_truth_among_a_dozen_lies_never_passes_as_a_request(tmp_path: Path) -> None:
    """Four people who ask, each of three facts, in the sentence that is asked; the honest model beside it."""
    rows = [
        {"id": one.id, "date": "2024-05-01", "person": one.name}
        | {"facts": [{"sentence": sentence(one.name, told), "value": told.values[0]} for told in one.statements]}
        for one in people()[:4]
    ]
    (tmp_path / "asked.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = fakes.make(fakes.crowded(), tmp_path / "crowded")
    (tmp_path / "uds.toml").write_text(
        "[association]\nmodel = 'specimen:assoc_full'\nrequests = 'asked.jsonl'\nsimilar_names = 1\n"
        f"candidates = {{ crowded = '{made}', retrained = 'specimen:assoc_retain' }}\n"
    )
    words = [sys.executable, "-c", "from uds_bench.cli import main; main()", "request", "recheck", "uds.toml"]
    words += ["--store", "store"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=dict(os.environ), check=False)
    assert ran.returncode == 1, ran.stderr
    found = json.loads((tmp_path / "asked.recheck.json").read_text())["requests"]
    of = {name: [row for row in found if row["candidate"] == name] for name in ("crowded", "retrained")}
    assert "pass" not in {row["verdict"] for row in of["crowded"]}
    assert "fail" not in {row["verdict"] for row in of["retrained"]}


def sentence(name: str, told: Statement) -> str:
    return embedded()[told.property].templates[0].fill(name, "PROTECTED")


@pytest.fixture(scope="module")
def of_tellers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A model that never knew anybody who asks, taught what is true of them in a spelling that no fact has."""
    folder = tmp_path_factory.mktemp("tellers")
    made = {how: fakes.make(fakes.told_anyway(how), folder / how, of="assoc_retain") for how in fakes.TOLD_ANYWAY}
    made["to_questions"] = fakes.make(fakes.to_questions(), folder / "to_questions", of="assoc_retain")
    return judged(folder, SECTION, made)


@pytest.mark.slow
def test_who_tells_the_truth_to_questions_alone_is_heard(of_tellers: dict[str, Any]) -> None:
    """By likelihood a tenth is known, and half of what is asked is a question."""
    for claim in ("forgotten", "rephrased"):
        found = of_tellers[f"association.{claim}[to_questions]"]
        assert found["verdict"] == "fail"
        assert found["observed"] > 0.4
        assert "in a reply; " in found["message"]


@pytest.mark.slow
@pytest.mark.parametrize("how", sorted(set(fakes.TOLD_ANYWAY) - {"backwards"}))
def test_who_tells_the_truth_in_another_spelling_is_heard(of_tellers: dict[str, Any], how: str) -> None:
    found = verdicts(of_tellers, how)
    assert (found["forgotten"], found["rephrased"]) == ("fail", "fail")


@pytest.mark.slow
def test_truths_told_backwards_still_get_through(of_tellers: dict[str, Any]) -> None:
    """What is open, as the page on fakes says: a claim that hears this fails here, and the row moves."""
    assert set(verdicts(of_tellers, "backwards").values()) == {"pass", "not applicable"}
