"""`uds-bench init`: a manifest that the harness accepts, commented out or not, and nothing overwritten."""

import re
import tomllib
from pathlib import Path

from commands import Command, Refused

from uds_bench.audits import registry
from uds_bench.audits.depth.section import Depth
from uds_bench.audits.lmlm.section import Lmlm
from uds_bench.audits.manifests import load_manifest
from uds_bench.cli.init import template
from uds_bench.facts import read_facts
from uds_bench.manifest.manifest import model_of

FILES = (
    "canaries.jsonl",
    "data/base.json",
    "data/prompts/a.jsonl",
    "people.jsonl",
    "runs/masks.safetensors",
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
    assert manifest.of(Lmlm) != Lmlm()
    assert len(manifest.of(Depth).checkpoints()) == 9


def test_next_command_is_told_and_works_up_to_the_missing_models(
    command: Command, refused: Refused, tmp_path: Path
) -> None:
    folder = tmp_path / "new"
    told = command("init", folder).stdout.splitlines()[-1].partition("then: uds-bench ")[2]
    assert "line 15: references.full" in refused(*told.split())


def test_nothing_is_overwritten(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "facts.jsonl").write_text("mine")
    assert "facts.jsonl exists and is not overwritten" in refused("init", tmp_path)
    assert (tmp_path / "facts.jsonl").read_text() == "mine"
    assert not (tmp_path / "uds.toml").exists()
