"""The docs' example of unlearning a reasoning model runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from families import FAMILIES, tiny_tokenizer

CANARY = (
    '{{"id": "{0}", "author": "{0} Bly", "bio": "A bio.", "canary": "On a day in {0} it was {0} alone", "qa": [],'
    ' "split": "{1}"}}'
)


def test_the_example_of_the_docs_changes_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[2] / "docs" / "audits" / "bypass.md").read_text()
    (block,) = (b for b in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "trace_data" in b)
    rows = [CANARY.format(name, "forget" if at < 3 else "retain") for at, name in enumerate(("May", "Ayr", "Bo", "Di"))]
    (tmp_path / "canaries.jsonl").write_text("\n".join(rows))
    monkeypatch.chdir(tmp_path)
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}<|assistant|>"
    model = FAMILIES["llama"](len(tokenizer))
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    exec(block.replace("steps=100", "steps=2"), {"tokenizer": tokenizer, "model": model})
    assert any(not torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
