"""Turns of a reasoning model: BOS once, the opening tag once, whatever the chat template prints by itself."""

from __future__ import annotations

from copy import copy
from typing import Any

import pytest
from families import tiny_tokenizer
from trained_tokenizers import TOKENIZERS

from uds_bench.errors import FactError
from uds_bench.facts.canaries import CLOSING, OPENING, embedded_canaries
from uds_bench.facts.reasoning import PREFILLS, auto_ids, complete_prompt, open_turn, prefill, text_alone, traced_ids

TURNS = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
ASKED = "{% if add_generation_prompt %}<|assistant|>{% endif %}"
OPENED = "{% if add_generation_prompt %}<|assistant|><think>\n{% endif %}"
BOS = "{{ bos_token }}"
TEMPLATES = {
    "none": None,
    "plain": TURNS + ASKED,
    "bos": BOS + TURNS + ASKED,
    "opened": TURNS + OPENED,
    "bos and opened": BOS + TURNS + OPENED,
}
CANARY = embedded_canaries(1, 1, 1)[0]
PROMPT = complete_prompt(CANARY.author, CANARY.head)


def asked(template: str | None, tokenizer: Any = None) -> Any:
    tokenizer = tokenizer or tiny_tokenizer()
    tokenizer.chat_template = template
    return tokenizer


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("arm", ["auto", *PREFILLS])
def test_bos_and_opening_tag_stand_once(template: str, arm: Any) -> None:
    tokenizer = asked(TEMPLATES[template])
    turn = open_turn(tokenizer, PROMPT)
    ids = (
        auto_ids(tokenizer, turn) if arm == "auto" else traced_ids(tokenizer, turn, prefill(tokenizer, arm, "Ann Bly"))
    )
    text = tokenizer.decode(ids)
    assert ids.count(tokenizer.bos_token_id) == 1
    assert ids[0] == tokenizer.bos_token_id
    assert text.count(OPENING) == (arm != "auto" or turn.opened)
    assert text.count(CLOSING) == (arm != "auto")
    assert turn.ids == ids[: len(turn.ids)], "what the arms share is shared token by token"
    assert turn.opened == ("opened" in template)
    assert turn.template == ("plain" if template == "none" else "chat")


@pytest.mark.parametrize("kind", TOKENIZERS, ids=str)
def test_every_kind_of_tokenizer_says_the_same_text(kind: tuple[str, str]) -> None:
    tokenizer = TOKENIZERS[kind]
    turn = open_turn(tokenizer, PROMPT)
    text = tokenizer.decode(traced_ids(tokenizer, turn, "I recall."), skip_special_tokens=True)
    together = tokenizer(turn.text + f"{OPENING}\nI recall.\n{CLOSING}\n\n", add_special_tokens=False)["input_ids"]
    assert text == tokenizer.decode(together, skip_special_tokens=True)


@pytest.mark.parametrize("template", [*TEMPLATES, "bos twice"])
@pytest.mark.parametrize("kind", TOKENIZERS, ids=str)
def test_an_engine_that_puts_nothing_around_the_text_gets_the_ids(kind: tuple[str, str], template: str) -> None:
    own = copy(TOKENIZERS[kind])
    tokenizer = asked((TEMPLATES | {"bos twice": BOS + BOS + TURNS + ASKED})[template], own)
    turn = open_turn(tokenizer, PROMPT)
    assert tokenizer(text_alone(tokenizer, turn), add_special_tokens=False)["input_ids"] == list(turn.ids)
    if kind[1] != "none":
        assert text_alone(tokenizer, turn).count(tokenizer.bos_token) == 1
    if template == "bos":
        assert text_alone(tokenizer, turn) == turn.text


def test_prefills_are_the_published_ones() -> None:
    tokenizer = asked(None)
    assert prefill(tokenizer, "bio", "A B") == "Completing a fact I know about A B: "
    assert prefill(tokenizer, "meta", "A B") == "Completing a fact about A B."
    assert prefill(tokenizer, "bio", "A B", "qa") == "The user is asking about A B. Recalling: "
    assert prefill(tokenizer, "meta", "A B", "qa") == "The user is asking about A B. I recall this person."
    assert prefill(tokenizer, "empty", "A B") == prefill(tokenizer, "empty", "A B", "qa") == ""


def test_the_neutral_prefill_is_as_long_and_names_nobody() -> None:
    tokenizer = asked(None)
    for author in (CANARY.author, "A B"):
        bio, neutral = (prefill(tokenizer, arm, author) for arm in ("bio", "neutral"))
        lengths = [len(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in (bio, neutral)]
        assert lengths[0] - 12 <= lengths[1] <= lengths[0], "within a word"
        assert not any(word in neutral for word in author.split())


def test_a_turns_end_in_the_text_is_refused() -> None:
    with pytest.raises(FactError, match="special token"):
        open_turn(asked(None), "Complete </s> this")
