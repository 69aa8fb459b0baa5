"""Questions and answers as a model is asked them: without a chat template and with every kind of one."""

from __future__ import annotations

from typing import Any

import pytest
from families import tiny_tokenizer
from trained_tokenizers import TOKENIZERS, build

from uds_bench.errors import CheckpointError, FactError
from uds_bench.facts import Fact, answers_of, encode_answer, encode_question, stop_tokens
from uds_bench.facts.chat import DATE
from uds_bench.facts.dialogue import SYSTEM

QUESTION, ANSWER, OTHER = "Where was Mira Solheim born?", "Mira Solheim was born in Tromsø, Norway.", "In Oslo."
PLAIN = f"Question: {QUESTION}\nAnswer:"
TURNS = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
OPEN = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
DATED = "{{ bos_token }}Today: {{ date_string if date_string is defined else strftime_now('%d %b %Y') }}\n"
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
INSTRUCT = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
    "{% elif m.role == 'assistant' %} {{ m.content }}{{ eos_token }}"
    "{% else %}{{ raise_exception('Only user and assistant roles!') }}{% endif %}{% endfor %}"
)
THINKING = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}<think>\n\n</think>\n\n{% endif %}"
    "{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
    "{% endif %}"
)


def chat(template: str, *, special: bool = True, **names: Any) -> Any:
    tokenizer = tiny_tokenizer()
    tokens = ["<|im_start|>", "<|im_end|>"]
    tokenizer.add_tokens(tokens, special_tokens=special)
    tokenizer.chat_template = template
    for name, token in names.items():
        setattr(tokenizer, name, token)
    return tokenizer


def text_of(tokenizer: Any, ids: tuple[int, ...]) -> str:
    return str(tokenizer.decode(ids, clean_up_tokenization_spaces=False))


# ---- without a chat template


@pytest.mark.parametrize("kind", TOKENIZERS, ids=str)
def test_plain_prompt_and_answer(kind: tuple[str, str]) -> None:
    tokenizer = TOKENIZERS[kind]
    found = encode_answer(tokenizer, QUESTION, ANSWER)
    assert found.ids[: found.start] == encode_question(tokenizer, QUESTION)
    assert list(found.ids).count(tokenizer.bos_token_id) == (tokenizer.bos_token_id is not None)
    assert found.ends == (tokenizer.eos_token_id is not None)
    assert list(found.ids).count(tokenizer.eos_token_id) == found.ends
    assert not found.ends or found.ids[-1] == tokenizer.eos_token_id
    whole = tokenizer(f"{PLAIN} {ANSWER}", add_special_tokens=False)["input_ids"]
    kept = [i for i in found.ids if i not in (tokenizer.bos_token_id, tokenizer.eos_token_id)]
    assert tokenizer.decode(kept) == tokenizer.decode(whole)
    assert found.text == f" {ANSWER}"


def test_labels_are_the_tokens_of_the_spaced_answer_and_the_end_of_text() -> None:
    tokenizer = tiny_tokenizer()
    found = encode_answer(tokenizer, QUESTION, ANSWER)
    assert list(found.ids[: found.start]) == tokenizer(PLAIN)["input_ids"]
    words = tokenizer(f" {ANSWER}", add_special_tokens=False)["input_ids"]
    assert list(found.ids[found.start :]) == [*words, tokenizer.eos_token_id]


@pytest.mark.parametrize("kind", TOKENIZERS, ids=str)
def test_an_opening_follows_the_plain_prompt(kind: tuple[str, str]) -> None:
    tokenizer = TOKENIZERS[kind]
    ids = encode_question(tokenizer, QUESTION, "Sure, here is the answer:")
    prompt = encode_question(tokenizer, QUESTION)
    assert ids[: len(prompt)] == prompt
    whole = tokenizer(f"{PLAIN} Sure, here is the answer:", add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids, skip_special_tokens=True) == tokenizer.decode(whole, skip_special_tokens=True)


@pytest.mark.parametrize("kind", TOKENIZERS, ids=str)
@pytest.mark.parametrize("blank", ["", " ", "\n"])
def test_a_blank_answer_has_no_word(kind: tuple[str, str], blank: str) -> None:
    found = encode_answer(TOKENIZERS[kind], QUESTION, blank)
    assert len(found.ids) - found.start == found.ends
    assert found.text == ""


@pytest.mark.parametrize("tokenizer", [tiny_tokenizer(), chat(TURNS + OPEN)])
def test_special_tokens_in_a_text_are_refused(tokenizer: Any) -> None:
    end = tokenizer.added_tokens_decoder[max(tokenizer.added_tokens_decoder)].content
    for question, answer in ((QUESTION + end, ANSWER), (QUESTION, f"Oslo{end} and more")):
        with pytest.raises(FactError, match="special token"):
            encode_answer(tokenizer, question, answer)
    with pytest.raises(FactError, match="special token"):
        encode_question(tokenizer, QUESTION + end)


# ---- with one

TEMPLATES = {
    "turns": TURNS + OPEN,
    "dated": DATED + TURNS + OPEN,
    "clock": DATED.replace("date_string if date_string is defined else ", "") + TURNS + OPEN,
    "no_system": NO_SYSTEM + TURNS + OPEN,
    "instruct": INSTRUCT,
    "thinking": THINKING,
    "two_bos": "{{ bos_token }}{{ bos_token }}" + TURNS + OPEN,
}


@pytest.fixture(params=sorted(TEMPLATES))
def asked(request: pytest.FixtureRequest) -> tuple[str, Any]:
    return str(request.param), chat(TEMPLATES[str(request.param)])


def test_chat_prompt_is_the_generation_prompt_of_the_template(asked: tuple[str, Any]) -> None:
    name, tokenizer = asked
    turns = [{"role": "user", "content": QUESTION}]
    if name not in ("no_system", "instruct"):
        turns.insert(0, {"role": "system", "content": SYSTEM})
    template = tokenizer.chat_template.replace("strftime_now('%d %b %Y')", f"'{DATE}'")
    expected = tokenizer.apply_chat_template(
        turns,
        chat_template=template,
        tokenize=False,
        add_generation_prompt=True,
        date_string=DATE,
        enable_thinking=False,
    )
    if name == "two_bos":
        expected = expected.removeprefix(tokenizer.bos_token)
    assert text_of(tokenizer, encode_question(tokenizer, QUESTION)) == expected


@pytest.mark.parametrize("name", ["dated", "clock"])
def test_the_facts_date_stands_in_every_prompt_of_a_template_that_prints_one(name: str) -> None:
    tokenizer, date = chat(TEMPLATES[name]), "10 Apr 2025"
    question, usual = encode_question(tokenizer, QUESTION, date=date), encode_question(tokenizer, QUESTION)
    assert text_of(tokenizer, question) == text_of(tokenizer, usual).replace(DATE, date)
    answer = encode_answer(tokenizer, QUESTION, ANSWER, date)
    assert answer.ids[: answer.start] == question != usual


def test_chat_answer_is_closed_by_its_turn(asked: tuple[str, Any]) -> None:
    name, tokenizer = asked
    found = encode_answer(tokenizer, QUESTION, ANSWER)
    closing = "</s>" if name == "instruct" else "<|im_end|>"
    space = " " if name == "instruct" else ""
    assert found.ids[: found.start] == encode_question(tokenizer, QUESTION)
    assert text_of(tokenizer, found.ids[found.start :]) == f"{space}{ANSWER}{closing}"
    assert found.ends
    assert found.text == space + ANSWER
    assert found.ids.count(tokenizer.bos_token_id) == (name in ("dated", "clock", "instruct", "two_bos"))
    assert set(stop_tokens(tokenizer)) == {tokenizer.eos_token_id, found.ids[-1]}


def test_chat_opening_stands_in_the_assistants_mouth(asked: tuple[str, Any]) -> None:
    name, tokenizer = asked
    ids = encode_question(tokenizer, QUESTION, "Sure, here is the answer:")
    prompt = text_of(tokenizer, encode_question(tokenizer, QUESTION))
    assert text_of(tokenizer, ids) == prompt + " " * (name == "instruct") + "Sure, here is the answer:"


@pytest.mark.parametrize("special", [True, False])
def test_end_of_turn_need_not_be_a_named_special_token(special: bool) -> None:
    tokenizer = chat(TURNS + OPEN, special=special)
    assert text_of(tokenizer, encode_answer(tokenizer, QUESTION, ANSWER).ids[-1:]) == "<|im_end|>"


def test_a_turn_that_nothing_closes_ends_with_the_end_of_text() -> None:
    open_ended = chat("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:")
    assert encode_answer(open_ended, QUESTION, ANSWER).ids[-1] == open_ended.eos_token_id
    nameless = chat(open_ended.chat_template, eos_token=None)
    assert not encode_answer(nameless, QUESTION, ANSWER).ends


@pytest.mark.parametrize("kind", ["always", "first", "never", "prepend"])
def test_spaces_of_sentencepiece_are_those_of_the_whole_dialogue(kind: str) -> None:
    corpus = [f"[INST] {QUESTION} [/INST] {ANSWER}", f"[INST] {QUESTION} [/INST] {OTHER}"] * 4
    tokenizer = build(kind, "added", corpus)
    tokenizer.chat_template = INSTRUCT
    for answer in (ANSWER, OTHER):
        found = encode_answer(tokenizer, QUESTION, answer)
        whole = tokenizer(f"<s>[INST] {QUESTION} [/INST] {answer}</s>", add_special_tokens=False)["input_ids"]
        assert tokenizer.decode(found.ids) == tokenizer.decode(whole)
        if kind != "prepend":  # trained on so little without words, it takes whole sentences for tokens
            assert list(found.ids) == whole


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{{ raise_exception('tools only') }}", "tools only"),
        ("{% for m in messages %}{{ m.role }}{% endfor %}", "does not print"),
        ("{% for m in messages %}{{ m.content | upper }}{% endfor %}", "does not print"),
        ("{% if %}", "cannot be used"),
    ],
)
def test_a_template_that_cannot_hold_an_answer(template: str, says: str) -> None:
    with pytest.raises(CheckpointError, match=says):
        encode_answer(chat(template), QUESTION, ANSWER)


# ---- forms


def test_answers_of_each_form() -> None:
    fact = Fact(
        "1", "a", "forget", QUESTION, ANSWER, "", "Tromsø", paraphrased_answer=OTHER, perturbed_answers=("x", "y")
    )
    assert [answers_of(fact, form) for form in ("original", "paraphrased", "perturbed")] == [
        (ANSWER,),
        (OTHER,),
        ("x", "y"),
    ]
    bare = Fact("1", "a", "forget", QUESTION, ANSWER, "", "Tromsø")
    assert answers_of(bare, "paraphrased") == answers_of(bare, "perturbed") == ()
