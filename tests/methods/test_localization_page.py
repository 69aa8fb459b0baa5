"""The page on writing people into a model of one's own runs as it stands there, and leaves what the audit takes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from families import FAMILIES, save_checkpoint, tiny_tokenizer

from uds_bench.audits.localization.audit import check_masks
from uds_bench.audits.localization.reading import CheckpointSet
from uds_bench.audits.localization.section import Localization
from uds_bench.audits.localization.sweep import sweep
from uds_bench.audits.manifests import load_manifest
from uds_bench.checkpoints.masks import read_masks
from uds_bench.facts.testbed import QuestionCounts, Sizes, documents, embedded_testbed, write_testbed

PAGE = Path(__file__).parents[2] / "docs" / "localization_of_your_own.md"
SIZES = Sizes(groups=6, judged=2, tuning=1, public=2, instruction=2, held_out=1, unseen=1)


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return str(found)


def test_the_page_makes_what_the_audit_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save_checkpoint(tmp_path / "runs" / "pretrained", FAMILIES["llama"](layers=4, seed=1), tiny_tokenizer())
    asking = QuestionCounts(questions=10, paraphrases=1, tellings=0)
    write_testbed(tmp_path / "people.jsonl", embedded_testbed(SIZES, asking))
    lines = [json.dumps(one) for one in documents(SIZES)]
    (tmp_path / "documents.jsonl").write_text("\n".join(lines))
    exec(block("python").replace("STEPS = 1000", "STEPS = 2").replace("steps=100", "steps=1"), {})
    (tmp_path / "uds.toml").write_text(block("toml"))
    section = load_manifest(tmp_path / "uds.toml").require(Localization, "localization")
    check_masks(section)
    masks = read_masks(tmp_path / "runs" / "masks.safetensors")
    assert len(masks.groups) == 6
    folders = {name: tmp_path / "runs" / name for name in ("pretrained", "injected", "oracle", "simnpo")}
    before = {"pretrained": folders["pretrained"], "injected": folders["injected"]}
    oracle, simnpo = (CheckpointSet({**before, "unlearned": folders[name]}, masks) for name in ("oracle", "simnpo"))
    found = sweep(oracle, []).written
    assert found.value > 0.7, "facts go into their masks at five times the rate of neutral text"
    touched = sweep(oracle, []).touched
    assert touched.elsewhere == 0 < sweep(simnpo, []).touched.elsewhere
    assert touched.share < 0.5
