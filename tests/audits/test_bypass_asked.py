"""What an engine is asked, whether a template writes BOS or not, and whose replies are read instead of asking."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from families import tiny_tokenizer
from typer.testing import CliRunner

from uds_bench.audits.bypass.audit import BypassRunner
from uds_bench.audits.bypass.evaluator import BypassEvaluator
from uds_bench.audits.bypass.replies import Recorded, prompts_of, read_replies
from uds_bench.audits.bypass.section import ASKING
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.cli import main
from uds_bench.facts.canaries import embedded_canaries
from uds_bench.scoring.runner import ScoreRequest
from uds_bench.scoring.store import Store
from uds_bench.storage import write_rows
from uds_bench.zoo import specimens

TURNS = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}<|assistant|>"


@pytest.mark.parametrize("template", [None, TURNS, "{{ bos_token }}" + TURNS, TURNS + "<think>"])
@pytest.mark.parametrize("bos", ["<s>", None])
def test_text_and_ids_of_a_line_are_the_same_prompt(tmp_path: Path, template: str | None, bos: str | None) -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.bos_token, tokenizer.chat_template = bos, template if bos or template is None else TURNS
    tokenizer.save_pretrained(tmp_path / "served")
    sizes = "forget = 1\nretain = 1\nholdout = 1\nsamples = 1\n"
    (tmp_path / "uds.toml").write_text(f'[bypass]\n{sizes}models = {{ served = "./served" }}\n')
    ran = CliRunner().invoke(main, ["ask", str(tmp_path / "uds.toml"), "--out", str(tmp_path / "prompts.jsonl")])
    assert ran.exit_code == 0, ran.output
    rows = [json.loads(line) for line in (tmp_path / "prompts.jsonl").read_text().splitlines()]
    assert {row["arm"] for row in rows} >= {"auto", "bio", "empty"}
    for row in rows:
        assert tokenizer(row["prompt"], add_special_tokens=False)["input_ids"] == row["prompt_token_ids"], row["arm"]


def test_an_attacked_model_is_asked_itself_also_of_a_part_of_all_authors(tmp_path: Path) -> None:
    evaluator = BypassEvaluator(embedded_canaries(), recorded={"served": Recorded("served", {})})
    runner, store = BypassRunner({}, evaluator, Store(tmp_path), "cpu"), Store(tmp_path)
    for one in (runner, runner.on_part(0.5, store), runner._like()):
        read = [one.evaluator_of(ScoreRequest("served", attack=attack)).recorded for attack in ("none", "nf4")]
        assert [list(replies) for replies in read] == [["served"], []]


def test_a_checkpoint_that_cannot_be_read_costs_no_other_its_replies(tmp_path: Path) -> None:
    canaries = embedded_canaries(forget=1, retain=1, holdout=1)
    good, broken = CheckpointSpec(str(specimens.folder("specimen:bypass_erased"))), CheckpointSpec(str(tmp_path))
    asked = [one.digest for one in prompts_of(good, canaries, ASKING)[1]]
    rows = [{"digest": one, "finish_reason": "stop", "reply": "Yes."} for one in [*asked, "0" * 64]]
    write_rows(tmp_path / "replies.jsonl", rows)
    found = read_replies([tmp_path / "replies.jsonl"], {"broken": broken, "good": good}, canaries, ASKING)
    assert [(one.name, len(one.replies)) for one in found.values()] == [("good", len(asked))]
