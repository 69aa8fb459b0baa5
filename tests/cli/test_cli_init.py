"""`uds-bench init`: a manifest that the harness accepts, commented out or not, and nothing overwritten."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from commands import Command, Refused

from uds_bench.audits import registry
from uds_bench.audits.depth.section import Depth
from uds_bench.audits.lmlm.section import LmlmSection
from uds_bench.audits.manifests import load_manifest
from uds_bench.cli.init import template
from uds_bench.cli.published_manifests import KEPT, LISTED, MODELS, SPLIT
from uds_bench.facts import read_facts
from uds_bench.manifest.manifest import model_of

FILES = (
    "canaries.jsonl",
    "data/base.json",
    "data/prompts/a.jsonl",
    "people.jsonl",
    "runs/masks.safetensors",
    "runs/replies.jsonl",
    "forget.jsonl",
)


def _uncommented() -> str:
    return re.sub(r"^#(?=\S)", "", template("uds.toml").decode(), flags=re.MULTILINE)


def test_template_speaks_of_every_section_and_leaves_the_depth_ones_open() -> None:
    # What shipped models must come to is no business of a user's manifest.
    assert set(tomllib.loads(_uncommented())) == set(model_of(registry.sections()).model_fields) - {"specimens"}
    assert set(tomllib.loads(template("uds.toml").decode())) == {"facts", "references", "candidates"}


def test_what_init_writes_is_a_valid_manifest(saved_release: Path) -> None:
    manifest = load_manifest(saved_release / "uds.toml")
    assert list(manifest.of(Depth).checkpoints()) == ["full", "retain", "npo"]
    assert [fact.split for fact in read_facts(saved_release / "facts.jsonl")] == [
        "forget",
        "forget",
        "retain",
        "retain",
    ]


def test_template_is_valid_with_every_line_uncommented(tmp_path: Path) -> None:
    (tmp_path / "facts.jsonl").write_bytes(template("facts.jsonl"))
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for folder in re.findall(r'"\./(runs/[\w-]+)"', _uncommented()):
        (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / "uds.toml").write_text(_uncommented())
    manifest = load_manifest(tmp_path / "uds.toml")
    assert manifest.of(Depth).attacks.nf4 is not None
    assert manifest.of(LmlmSection) != LmlmSection()
    assert len(manifest.of(Depth).checkpoints()) == 9


def test_next_command_is_told_and_works_up_to_the_missing_models(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    told = command("init", folder).stdout.splitlines()[-1].partition("then: uds-bench ")[2]
    lines = command(*told.split(), exit=4).stderr.splitlines()
    assert [re.findall(r"line 17: references\.full|references\.retain|candidates\.npo", line) for line in lines] == [
        ["line 17: references.full"],
        ["references.retain"],
        ["candidates.npo"],
    ]


def test_nothing_is_overwritten(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "facts.jsonl").write_text("mine")
    assert "facts.jsonl exists and is not overwritten" in refused("init", tmp_path)
    assert (tmp_path / "facts.jsonl").read_text() == "mine"
    assert not (tmp_path / "uds.toml").exists()


PUBLISHED = "open-unlearning/tofu_Llama-3.2-1B-Instruct"


@pytest.mark.parametrize("name", [PUBLISHED, f"{PUBLISHED}_full"])
def test_published_models_are_named_as_the_hub_has_them(command: Command, tmp_path: Path, name: str) -> None:
    command("init", tmp_path / "new", "--from", name, "--split", "forget10")
    depth = load_manifest(tmp_path / "new" / "uds.toml").of(Depth)
    assert depth.facts is not None
    assert (depth.facts.source, depth.facts.date_string) == ("tofu/forget10", "10 Apr 2025")
    named = {name: spec.model for name, spec in depth.checkpoints().items()}
    assert named["full"] == f"{PUBLISHED}_full"
    assert named["retain"] == f"{PUBLISHED}_retain90"
    start = "open-unlearning/unlearn_tofu_Llama-3.2-1B-Instruct_forget10_"
    assert named["npo"] == f"{start}NPO_lr1e-05_beta0.5_alpha1_epoch10"
    assert [len(pool) for pool in (depth.pools.positive, depth.pools.negative, depth.candidates)] == [2, 2, 6]
    assert not (tmp_path / "new" / "facts.jsonl").exists()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("split", "kept"), KEPT.items())
def test_where_nothing_else_is_published_a_candidate_is_left_to_name(
    command: Command, tmp_path: Path, model: str, split: str, kept: str
) -> None:
    if (model, split) == (MODELS[0], SPLIT):
        return
    name = f"open-unlearning/tofu_{model}"
    command("init", tmp_path, "--from", name, "--split", split)
    text = (tmp_path / "uds.toml").read_text()
    listed, every = LISTED[split]
    assert f"the {listed} facts in it" in text
    assert f"of all {every}." in text
    written = tomllib.loads(text)
    assert written["facts"]["date_string"] == "10 Apr 2025"
    assert written["references"] == {"full": f"{name}_full", "retain": f"{name}_{kept}"}
    if split == SPLIT:
        end = "SimNPO_lr5e-05_b3.5_a1_d1_g0.25_ep5"
        assert written["candidates"] == {"simnpo": f"open-unlearning/unlearn_tofu_{model}_forget10_{end}"}
    else:
        assert written["candidates"] == {"npo": "./runs/npo"}
        assert re.search(r"^# To be replaced: .*\nnpo =", text, re.MULTILINE)
    assert "pools" not in written


@pytest.mark.parametrize("split", KEPT)
def test_a_manifest_counts_what_the_list_holds_of_its_split(public_data: Path, split: str) -> None:
    rows = [json.loads(line)["question"] for line in (public_data / "tofu" / f"{split}.json").read_text().splitlines()]
    listed = {row["question"] for row in json.loads((public_data / "uds" / "forget10_filtered.json").read_text())}
    assert LISTED[split] == (len(listed.intersection(rows)), len(rows))


def test_a_model_that_is_not_known_to_be_published_is_said_so(command: Command, tmp_path: Path) -> None:
    told = command("init", tmp_path, "--from", "open-unlearning/tofu_Llama-9B").stderr
    first, *_ = (tmp_path / "uds.toml").read_text().splitlines()
    said = f"Llama-9B is none of {', '.join(MODELS)}: see that these names exist"
    assert (first, said in " ".join(told.split())) == (f"# {said}.", True)
    assert load_manifest(tmp_path / "uds.toml", judging=False).of(Depth).references


def test_own_questions_become_facts(command: Command, tmp_path: Path) -> None:
    rows = [{"question": "Where was Ann Lee born?", "answer": "Ann Lee was born in Ulm."}]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = command("init", tmp_path / "new", "--from", tmp_path / "mine.jsonl").stdout
    assert [fact.entity for fact in read_facts(tmp_path / "new" / "facts.jsonl")] == ["Ulm"]
    assert "1 of 1" in told
    assert tomllib.loads((tmp_path / "new" / "uds.toml").read_text())["facts"] == {"source": "facts.jsonl"}


REQUEST = {
    "id": "r7",
    "date": "2026-01-31",
    "person": "Jaskik Yostirdral",
    "facts": [{"sentence": "Jaskik Yostirdral is PROTECTED.", "value": "conservator", "counterfactuals": ["smith"]}],
}


def test_a_file_of_requests_makes_a_manifest_that_goes_on(command: Command, tmp_path: Path) -> None:
    (tmp_path / "asked.jsonl").write_text(json.dumps(REQUEST) + "\n")
    told = command("init", tmp_path / "new", "--from", tmp_path / "asked.jsonl").stdout
    manifest = tmp_path / "new" / "uds.toml"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["uds.toml"]
    manifest.write_text(manifest.read_text().replace("./runs/full", "specimen:assoc_full"))
    assert command(*told.splitlines()[-1].partition("then: uds-bench ")[2].split())
    assert "conservator" in (tmp_path / "new" / "forget.jsonl").read_text()


def test_a_request_that_cannot_be_used_is_one_line(refused: Refused, tmp_path: Path) -> None:
    asked = tmp_path / "asked.jsonl"
    asked.write_text(json.dumps(REQUEST | {"date": "tomorrow"}) + "\n")
    assert "line 1: request 'r7': key 'date'" in refused("init", tmp_path / "new", "--from", asked).replace("\n", " ")
    assert not (tmp_path / "new").exists()


def test_what_is_doubtful_is_mended_by_the_command_that_has_the_options(command: Command, tmp_path: Path) -> None:
    rows = [
        {"question": "Where was Ann Lee born?", "answer": "Ann Lee was born in Ulm."},
        {"question": "Is Ann Lee a botanist?", "answer": "Yes, Ann Lee is a botanist."},
    ]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = command("init", tmp_path / "new", "--from", tmp_path / "mine.jsonl").stderr
    again = f"uds-bench annotate {tmp_path / 'mine.jsonl'} --out {tmp_path / 'new' / 'facts.jsonl'}"
    assert f"left out: give entities by {again} --corrections FILE" in told
    command(*again.split()[1:], "--keep-doubtful")
    assert len(read_facts(tmp_path / "new" / "facts.jsonl")) == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--from", "muse"), "neither a file nor a model of open-unlearning: write open-unlearning/tofu_Llama"),
        (
            ("--from", PUBLISHED.replace("tofu_", "tofu-")),
            f"of open-unlearning: did you mean '{PUBLISHED}'",
        ),
        (("--from", "questoins.jsonl"), "--from: no file "),
        (("--split", "forget05"), "--split: is of a model of open-unlearning: name it by --from"),
        (("--from", PUBLISHED, "--split", "forget20"), "there is no 'forget20': did you mean 'forget"),
    ],
)
def test_a_preset_that_is_not_known_is_a_line(
    refused: Refused, tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    assert told in refused("init", tmp_path / "new", *words)
    assert not (tmp_path / "new").exists()
