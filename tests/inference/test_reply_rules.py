"""A tokenizer or settings of a checkpoint's own that would hide what it says; files alone are read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from families import FAMILIES, save_checkpoint, tiny_tokenizer

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.errors import CheckpointError
from uds_bench.inference.reply_rules import ReplyRules, read_reply_rules, require_same_replies

Change = Callable[[Any], None]


def saved(folder: Path) -> Path:
    tokenizer = tiny_tokenizer()
    model = FAMILIES["llama"](len(tokenizer))
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    save_checkpoint(folder, model, tokenizer)
    return folder


def rules(folder: Path) -> ReplyRules:
    return read_reply_rules(CheckpointSpec(str(folder)))


def rewrite(path: Path, change: Change) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> ReplyRules:
    return rules(saved(tmp_path_factory.mktemp("parent")))


def word(content: dict[str, Any]) -> int:
    """The id of a token that says something."""
    found: int = content["model"]["vocab"]["a"]
    return found


def call_special(content: dict[str, Any]) -> None:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    content["added_tokens"].append({"id": word(content), "content": "a", "special": True, **flags})


def swap(content: dict[str, Any]) -> None:
    vocab = content["model"]["vocab"]
    vocab["a"], vocab["b"] = vocab["b"], vocab["a"]


def strike_out(content: dict[str, Any]) -> None:
    strike = {"type": "Replace", "pattern": {"String": "a"}, "content": ""}
    content["decoder"] = {"type": "Sequence", "decoders": [content["decoder"], strike]}


def read_as_another(content: dict[str, Any]) -> None:
    rule = {"type": "Replace", "pattern": {"String": "Mira Solheim"}, "content": "Idris Kamau"}
    content["normalizer"] = {"type": "Sequence", "normalizers": [rule]}


def add_a_word(content: dict[str, Any]) -> None:
    """Which the text of a prompt becomes, in the place of what it was."""
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    content["added_tokens"].append({"id": word(content), "content": "Mira", **flags})


def test_the_same_files_are_the_same_replies(parent: ReplyRules, tmp_path: Path) -> None:
    require_same_replies("npo", rules(saved(tmp_path)), parent)


def test_a_padding_token_that_training_added_is_no_word(parent: ReplyRules, tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens({"pad_token": "[PAD]"})
    tokenizer.clean_up_tokenization_spaces = not parent.tokenizer.clean_up_tokenization_spaces
    require_same_replies("npo", ReplyRules(tokenizer, parent.served), parent)
    tokenizer.add_special_tokens({"additional_special_tokens": ["[MORE]"]})
    with pytest.raises(CheckpointError, match=r"calls '\[MORE\]' \(\d+\) special"):
        require_same_replies("npo", ReplyRules(tokenizer, parent.served), parent)


@pytest.mark.parametrize(
    ("file", "change", "told"),
    [
        ("tokenizer.json", call_special, r"its tokenizer calls 'a' \(\d+\) special, which no reply shows"),
        ("tokenizer.json", swap, r"its tokenizer spells token \d+ otherwise"),
        ("tokenizer.json", strike_out, "its tokenizer spells texts of several tokens otherwise"),
        ("tokenizer.json", read_as_another, r"its tokenizer reads texts otherwise than its parent's \(normalizer\)"),
        ("tokenizer.json", add_a_word, r"its tokenizer reads texts otherwise than its parent's \(added_tokens\)"),
        (
            "tokenizer_config.json",
            lambda content: content.update(chat_template="{{ messages[0]['content'] }}"),
            r"its (tokenizer reads texts otherwise|answers end at)|does not print an assistant's turn",
        ),
        ("tokenizer_config.json", lambda content: content.update(eos_token="a"), "its answers end at the tokens 'a'"),
        ("generation_config.json", lambda content: content.pop("eos_token_id"), "does not name '<"),
        ("generation_config.json", lambda content: content.update(eos_token_id=0.5), "generation_config.json"),
        ("generation_config.json", lambda content: content.update(min_new_tokens=64), "min_new_tokens in gen"),
        (
            "generation_config.json",
            lambda content: content.update(suppress_tokens=[2]),
            "suppress_tokens in gen",
        ),
        (
            "generation_config.json",
            lambda content: content.update(sequence_bias=[[[5, 6], 50.0]]),
            "sequence_bias in generation_config.json changes what its weights say",
        ),
        ("tokenizer_config.json", lambda content: content.update(bos_token="<pad>"), "puts other tokens"),
        ("tokenizer_config.json", lambda content: content.update(split_special_tokens=True), "puts other tokens"),
    ],
)
def test_what_would_hide_words_is_refused(
    parent: ReplyRules, tmp_path: Path, file: str, change: Change, told: str
) -> None:
    rewrite(saved(tmp_path) / file, change)
    with pytest.raises(CheckpointError, match=told):
        require_same_replies("npo", rules(tmp_path), parent)


def test_settings_that_its_parent_has_too_or_that_choose_among_likely_words_are_no_fault(
    parent: ReplyRules, tmp_path: Path
) -> None:
    settings = saved(tmp_path) / "generation_config.json"
    rewrite(settings, lambda content: content.update(do_sample=True, temperature=0.6, top_p=0.9, max_new_tokens=64))
    require_same_replies("npo", rules(tmp_path), parent)
    rewrite(settings, lambda content: content.update(repetition_penalty=1.05))
    steered = rules(tmp_path)
    require_same_replies("npo", steered, steered)
    require_same_replies("npo", parent, steered)
    with pytest.raises(CheckpointError, match="repetition_penalty"):
        require_same_replies("npo", steered, parent)


def test_settings_that_cannot_be_read_are_a_line(tmp_path: Path) -> None:
    (saved(tmp_path) / "generation_config.json").write_text("{", encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"generation_config.json: cannot be read \(.*\): copy its parent's"):
        rules(tmp_path)
