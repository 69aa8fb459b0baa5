"""`uds-bench request`: what is written of who asks, and whether the shipped models still hold it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch
from commands import Command, Refused
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from uds_bench.facts.exposed_people import NEVER_SEEN, embedded_people, requests
from uds_bench.facts.properties import embedded
from uds_bench.facts.subjects import Person
from uds_bench.zoo import specimens

PHONE = ("--sentence", "李明的电话号码是PROTECTED。", "--value", "13800138000")
TAMIL = "அமுதா செல்வி"


def add(command: Command, folder: Path, one: Person, date: str) -> None:
    """All that is told of one of the built-in people, in sentences."""
    words: list[str] = []
    for told in one.statements:
        sentence = embedded()[told.property].templates[0].fill(one.name, "PROTECTED")
        words += ["--sentence", sentence, "--value", told.values[0]]
    command("request", "add", folder / "asked.jsonl", "--id", one.id, "--person", one.name, "--date", date, *words)


def manifest(folder: Path, candidates: str, more: str = "") -> Path:
    path = folder / "uds.toml"
    asked = "requests = 'asked.jsonl'\ncounterfactuals = 25\nsimilar_names = 1\n"
    path.write_text(f"[association]\nmodel = 'specimen:assoc_full'\n{asked}{more}candidates = {candidates}\n")
    return path


def test_a_request_is_added_and_listed_without_its_name(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "asked.jsonl"
    for id, date in (("r1", "2025-01-02"), ("r2", "2026-01-31")):
        command(
            "request",
            "add",
            path,
            "--id",
            id,
            "--person",
            "李明",
            "--date",
            date,
            *PHONE,
            "--phrasing",
            "李明：PROTECTED",
        )
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["id"] for row in rows] == ["r1", "r2"]
    assert rows[0]["facts"] == [
        {"sentence": PHONE[1], "value": PHONE[3], "phrasings": ["李明：PROTECTED"]},
    ]
    shown = command("request", "list", path).stdout
    assert "2025-01-02" in shown
    assert "李明" not in shown
    assert "李明" in command("request", "list", path, "--names").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--id", "r2", *PHONE[:2]), "request 'r2': 1 --sentence and 0 --value: give each sentence its value"),
        (("--id", "r2"), "request 'r2': 0 --sentence and 0 --value"),
        (("--id", "r2", *PHONE[:3], ""), "the new request, fact 1: key 'value' has no letter and no digit"),
        (("--id", "r1", *PHONE), "the new request: key 'id' is 'r1' as in"),
        (("--id", "r2", *PHONE, "--date", "soon"), "the new request: request 'r2': key 'date' is 'soon': write a day"),
        (("--id", "r2", *PHONE, *PHONE, "--phrasing", "x"), "--phrasing: is of one fact, and there are 2"),
        (("--id", "r2", "--sentence", "我的电话PROTECTED", *PHONE[2:]), "a sentence has the person's name 0 times"),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    command: Command, refused: Refused, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    path = tmp_path / "asked.jsonl"
    command("request", "add", path, "--id", "r1", "--person", "李明", *PHONE)
    before = path.read_text()
    assert said in refused("request", "add", path, "--person", "李明", *words)
    assert path.read_text() == before


def test_every_request_is_decided_in_every_candidate(
    command: Command, tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a retain model: one who is known, asked long ago, and one of whom no model has heard."""
    people = embedded_people()
    known, unknown = people[3], next(one for one in people if one.cohort == NEVER_SEEN)
    assert known.id in requests(people)
    add(command, tmp_path, known, "2024-05-01")
    add(command, tmp_path, unknown, "2026-01-31")
    path = manifest(
        tmp_path, "{ same = 'specimen:assoc_full', npo = 'specimen:assoc_npo', new = 'specimen:assoc_retain' }"
    )
    monkeypatch.setattr("uds_bench.progress.EVERY", 0.0)  # a minute, in a log
    told = command("request", "recheck", path, "--store", kept, exit=1)
    assert re.search(r"^asking \w+ about people: \d+ of \d+, \d:\d\d:\d\d left$", told.stderr, re.MULTILINE)
    found = json.loads((tmp_path / "asked.recheck.json").read_text())
    rows = {(row["id"], row["candidate"]): row for row in found["requests"]}
    verdicts = {name: rows[known.id, name]["verdict"] for name in ("same", "npo", "new")}
    assert verdicts == {"same": "fail", "npo": "pass", "new": "pass"}
    one = rows[known.id, "same"]
    assert (one["rank"], one["strangers"], one["side"], one["date"]) == (1, 79, "above", "2024-05-01")
    assert one["p"] == pytest.approx(2 / 80)
    assert one["p"] <= one["adjusted"] <= 0.05
    assert [rows[known.id, name]["first"] > 0.8 for name in verdicts] == [True, False, False], "what is said is told"
    # One in twenty of those whom nobody knows is told by chance; of none is it shown that they are forgotten.
    assert "pass" not in {rows[unknown.id, name]["verdict"] for name in verdicts}
    assert rows[unknown.id, "same"]["verdict"] == "undecided"
    assert "the model before is not told either" in rows[unknown.id, "same"]["why"]
    everything = told.stdout + json.dumps(found)
    for person in (known, unknown):
        assert person.name not in everything
        assert not any(value in everything for one in person.statements for value in one.values)
    assert told.stdout.splitlines()[-1].startswith("uds-bench: RED: 2 pass, ")


def test_one_request_alone_is_decided(command: Command, tmp_path: Path, kept: Path) -> None:
    one = embedded_people()[3]
    add(command, tmp_path, one, "2024-05-01")
    path = manifest(tmp_path, "{ npo = 'specimen:assoc_npo' }")
    out = tmp_path / "recheck.json"
    told = command("request", "recheck", path, "--store", kept, "--out", out, "--names")
    assert one.name in told.stdout
    assert one.name not in out.read_text()
    not_asked = "what is to be kept was not asked: name some 50 people under [association] subjects"
    assert told.stdout.splitlines()[-1] == f"uds-bench: GREEN: 1 pass, 0 fail, 0 undecided of 1 recheck; {not_asked}"
    few = manifest(tmp_path, "{ npo = 'specimen:assoc_npo' }", "strangers = 20\n")
    told = command("request", "recheck", few, "--store", kept, "--out", out, exit=1)
    assert "to tell one takes 79 strangers: set [association] strangers = 79" in told.stdout


def test_a_candidate_that_keeps_nothing_ships_nobodys_request(command: Command, tmp_path: Path, kept: Path) -> None:
    """Random weights tell nobody anything: with people to be kept that is no green."""
    people = [one for one in embedded_people() if one.cohort != NEVER_SEEN]
    asks, others = people[3], [one for one in people if one.id not in requests(people)][:24]
    add(command, tmp_path, asks, "2024-05-01")
    rows = (
        {
            "id": one.id,
            "name": one.name,
            "cohort": one.cohort,
            "facts": [{"property": told.property, "values": [*told.values]} for told in one.statements],
        }
        for one in others
    )
    (tmp_path / "people.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    full = specimens.folder("assoc_full")
    torch.manual_seed(1)
    AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(full)).save_pretrained(tmp_path / "random")
    AutoTokenizer.from_pretrained(full).save_pretrained(tmp_path / "random")
    both = "{ npo = 'specimen:assoc_npo', random = 'random' }"
    path = manifest(tmp_path, both, "subjects = 'people.jsonl'\ntemplates = 1\n")
    told = command("request", "recheck", path, "--store", kept, exit=1).stdout
    found = json.loads((tmp_path / "asked.recheck.json").read_text())
    assert {row["verdict"] for row in found["requests"]} == {"pass"}
    assert found["kept"]["random"]["verdict"] == "fail"
    assert found["kept"]["npo"]["lost"] < 0.1
    assert re.search(r"^of everybody else \[random\]: fail: lost: observed 0\.\d+, 95% CI ", told, re.MULTILINE)
    lost = "of 2 candidates at keeping everybody else: 0 pass, 1 fail, 1 undecided"  # 24 people are few
    assert told.splitlines()[-1] == f"uds-bench: RED: 2 pass, 0 fail, 0 undecided of 2 rechecks; {lost}"
    path.write_text(f'{path.read_text()}\n[thresholds]\n"association.retained[npo]" = -0.9\n')
    command("request", "recheck", path, "--store", kept, exit=1)
    of_others = json.loads((tmp_path / "asked.recheck.json").read_text())["kept"]
    assert {one["verdict"] for one in of_others.values()} == {"fail"}, "a tighter bound of one candidate holds it"


def test_who_stands_out_among_many_is_settled_by_more_strangers(command: Command, tmp_path: Path, kept: Path) -> None:
    people = embedded_people()
    for one in (people[3], people[-1], people[-2]):
        add(command, tmp_path, one, "2024-05-01")
    path = manifest(tmp_path, "{ same = 'specimen:assoc_full' }")
    found = []
    for more in ((), ("--settle",)):
        command("request", "recheck", path, "--store", kept, "--out", tmp_path / "out.json", *more, exit=1)
        found.append(json.loads((tmp_path / "out.json").read_text())["requests"][0])
    first, settled = found
    assert (first["verdict"], first["strangers"], first["rank"]) == ("undecided", 79, 1)
    assert "among all who ask that takes 239 strangers" in first["why"]
    assert (settled["verdict"], settled["strangers"]) == ("fail", 239)


def test_a_script_of_which_there_are_no_names_says_how_many_it_takes(
    command: Command, refused: Refused, tmp_path: Path
) -> None:
    words = ("--sentence", f"{TAMIL}: PROTECTED", "--value", "577 12 34 56")
    command("request", "add", tmp_path / "asked.jsonl", "--id", "r1", "--person", TAMIL, *words)
    path = manifest(tmp_path, "{ npo = 'specimen:assoc_npo' }")
    said = "'r1': 0 strangers' names of the shape of this one in tamil are known, and the test takes 79"
    assert said in refused("request", "recheck", path)


def test_a_manifest_without_requests_is_one_line(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "uds.toml"
    path.write_text("[association]\nmodel = 'specimen:assoc_full'\n")
    assert "recheck needs [association] requests and candidates" in refused("request", "recheck", path)
