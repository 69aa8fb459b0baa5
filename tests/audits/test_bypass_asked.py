"""What `uds-bench ask` writes for an engine: text and ids are the same prompt, whether a template writes BOS or not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from families import tiny_tokenizer
from typer.testing import CliRunner

from uds_bench.cli import main

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
