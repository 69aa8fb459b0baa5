"""`uds-bench forget-set`: what is held of whom, as facts with their evidence, and what cannot be asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import Command, Refused
from families import FAMILIES, save_checkpoint, tiny_tokenizer

from uds_bench.audits.association.likelihoods import of_checkpoint
from uds_bench.audits.association.section import Association
from uds_bench.audits.depth.section import Depth
from uds_bench.audits.manifests import load_manifest
from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.facts import load_facts

PEOPLE = [
    {"id": "q1", "name": "Jane Doe", "cohort": "known", "facts": [{"property": "P106", "values": ["baker", "poet"]}]},
    {"id": "q2", "name": "John Roe", "cohort": "known", "facts": [{"property": "P19", "values": ["Oslo"]}]},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tokenizer = tiny_tokenizer()
    save_checkpoint(tmp_path / "model", FAMILIES["llama"](len(tokenizer), seed=1), tokenizer)
    (tmp_path / "people.jsonl").write_text("\n".join(map(json.dumps, PEOPLE)))
    # Three candidates a fact and many templates: by luck alone a model that never learned holds some of it.
    asked = "templates = 11\ncounterfactuals = 2\nsimilar_names = 1\nmeaning = false\n"
    (tmp_path / "uds.toml").write_text(f"[association]\nmodel = 'model'\nsubjects = 'people.jsonl'\n{asked}")
    return tmp_path


def run(command: Command, folder: Path, *more: str, store: Path | None = None) -> Any:
    store = store or folder / "store"
    given = ("--manifest", folder / "uds.toml", "--out", folder / "forget.jsonl", "--store", store)
    return command("forget-set", *given, *more)


def test_what_is_held_is_written_with_its_evidence(command: Command, folder: Path, kept: Path) -> None:
    told = run(command, folder, "--subject", "Jane Doe", "--phrasings", "2", store=kept)
    rows = [json.loads(line) for line in (folder / "forget.jsonl").read_text().splitlines()]
    forget = [row for row in rows if row["split"] == "forget"]
    assert {row["cluster"] for row in forget} == {"q1"}
    assert {row["cluster"] for row in rows if row["split"] == "retain"} <= {"q2"}
    for row in rows:
        evidence = row["evidence"]
        assert evidence["templates"] == 8, "the last three phrasings are held out"
        assert 0 < evidence["strict"]["M"] <= evidence["lenient"]["M"] <= 1
        assert evidence["chance"] in (1 / 2, 1 / 3), "a value that is true is no counterfactual"
        assert row["entity"] in row["answer"]
    assert max(sum(row["entity"] == value for row in forget) for value in ("baker", "poet")) == 2
    assert "Jane Doe" in told.stdout
    assert "John Roe" not in told.stdout, "who was not asked about is not shown"
    assert "of 48 people never seen" in told.stderr


def test_candidates_may_still_be_to_be_made(command: Command, folder: Path, kept: Path) -> None:
    manifest = folder / "uds.toml"
    manifest.write_text(f"{manifest.read_text()}candidates = {{ npo = 'runs/npo', idk = 'runs/idk' }}\n")
    manifest.write_text(f"{manifest.read_text()}must_fail = ['idk']\n")
    run(command, folder, "--subject", "q1", store=kept)
    assert (folder / "forget.jsonl").exists()


def test_the_manifest_takes_what_is_printed(command: Command, folder: Path, kept: Path) -> None:
    told = run(command, folder, "--subject", "q1", store=kept)
    printed = told.stdout[told.stdout.index("[facts]") :].replace("[association]", "")
    manifest = folder / "uds.toml"
    first, _, second = printed.partition("\n\n")
    # As many strangers as before: more of them would be asked.
    manifest.write_text(f"{manifest.read_text()}{second.strip()}\nstrangers = 48\n{first}\n")
    read = load_manifest(manifest)
    facts = load_facts(read.of(Depth).facts.source)
    assert read.of(Association) != Association()
    assert read.of(Association).forget_set == read.of(Depth).facts.source
    assert facts.split("forget").clusters == ("q1",)
    again = run(command, folder, "--subject", "q1", store=kept)
    assert "[facts]" not in again.stdout, "which would be a second table of its name"
    assert "forget_set" not in again.stdout
    assert "the manifest names it already" in again.stderr


def test_what_is_stored_is_not_asked_again(command: Command, folder: Path) -> None:
    run(command, folder, "--subject", "q1")
    first = (folder / "forget.jsonl").read_text()
    stored = sorted((folder / "store").rglob("*.json"))
    run(command, folder, "--subject", "q1")
    assert (folder / "forget.jsonl").read_text() == first
    assert sorted((folder / "store").rglob("*.json")) == stored


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--subject", "Jane Do"), "did you mean 'Jane Doe'"),
        (("--subject", "Zed"), "nobody of [association] subjects is called so: add the person there"),
        (("--subject", "invented/000"), "is of the never-seen, of whom no model has heard"),
        ((), "--subject: name somebody, by name or id, as the manifest names nobody"),
    ],
)
def test_whom_nobody_knows_is_one_line(refused: Refused, folder: Path, more: tuple[str, ...], said: str) -> None:
    given = ("--manifest", folder / "uds.toml", "--out", folder / "forget.jsonl", "--store", folder / "store")
    assert said in refused("forget-set", *given, *more)
    assert not (folder / "forget.jsonl").exists()


def shown(path: Path) -> list[Any]:
    """The facts, with what shows them; z* and leads are only near, as sums of floats are."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [{**row, "evidence": {**row["evidence"], "z": 0, "lead": 0}} for row in rows]


def test_a_model_without_weights_gives_the_forget_set_of_its_log_probabilities(
    command: Command, refused: Refused, folder: Path, kept: Path
) -> None:
    run(command, folder, "--subject", "Jane Doe", store=kept)
    own = shown(folder / "forget.jsonl")
    model = load(CheckpointSpec(folder / "model"))
    manifest, asked, said = folder / "uds.toml", folder / "ask.jsonl", folder / "logprobs.jsonl"
    manifest.write_text(manifest.read_text().replace("model = 'model'\n", ""))
    told = command("forget-set", "--manifest", manifest, "--ask", asked)
    sentences = [json.loads(line)["sentence"] for line in asked.read_text().splitlines()]
    assert len(set(sentences)) == len(sentences)
    assert f"{len(sentences)} sentences written to {asked}" in told.stderr
    nll = of_checkpoint(model)(sentences)
    rows = [{"sentence": one, "logprob": -float(of)} for one, of in zip(sentences, nll, strict=True)]
    said.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run(command, folder, "--subject", "Jane Doe", "--logprobs", str(said))
    assert shown(folder / "forget.jsonl") == own
    said.write_text("".join(json.dumps(row) + "\n" for row in rows[:-1]))
    given = ("--manifest", manifest, "--out", folder / "other.jsonl", "--subject", "q1")
    assert f"{said}: no logprob of {sentences[-1]!r}" in refused("forget-set", *given, "--logprobs", said)
    assert "needs [association] model: add what is missing" in refused("forget-set", *given)
    assert "leave out --out" in refused("forget-set", *given, "--ask", asked)
    assert "--out: say where" in refused("forget-set", "--manifest", manifest, "--logprobs", said)
    assert not (folder / "other.jsonl").exists()


def test_of_whom_nothing_is_held_nothing_is_written(command: Command, folder: Path) -> None:
    manifest = folder / "uds.toml"
    manifest.write_text(manifest.read_text().replace("counterfactuals = 2", "counterfactuals = 8"))
    given = ("--manifest", manifest, "--out", folder / "forget.jsonl", "--store", folder / "store")
    told = command("forget-set", *given, "--subject", "John Roe", "--every", exit=5)
    assert "nothing is held of them: there is nothing to forget, and nothing was written" in told.stderr
    assert not (folder / "forget.jsonl").exists()
