"""What is remembered of a tokenizer is remembered by its content: equal content, equal key; any other rule, another."""

from __future__ import annotations

import copy
from pathlib import Path

from families import tiny_tokenizer
from transformers import AutoTokenizer

from uds_bench.facts import tokenizer_key


def test_a_copy_on_disk_has_the_same_key(tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer()
    keys = {tokenizer_key(tokenizer), tokenizer_key(copy.deepcopy(tokenizer))}
    for name in ("one", "two"):
        tokenizer.save_pretrained(tmp_path / name)
    one, two = (tokenizer_key(AutoTokenizer.from_pretrained(tmp_path / name)) for name in ("one", "two"))
    assert len(keys) == 1
    assert one == two


def test_whatever_decides_how_texts_are_split_changes_the_key() -> None:
    plain, asked, closed, grown, marked = (tiny_tokenizer() for _ in range(5))
    asked.chat_template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
    closed.eos_token = "<pad>"
    grown.add_tokens(["Solheim"])
    marked.add_special_tokens({"additional_special_tokens": ["Tromsø"]})
    keys = [tokenizer_key(t) for t in (plain, tiny_tokenizer(bos=False), asked, closed, grown, marked)]
    assert len(set(keys)) == len(keys)
