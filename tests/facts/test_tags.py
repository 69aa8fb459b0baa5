"""Which tags a chat template shows, and what it prints behind a prompt: the trace is the model's to write."""

from __future__ import annotations

from typing import Any

import pytest
import thinking_templates as templates
from families import tiny_tokenizer
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.errors import CheckpointError
from uds_bench.facts.canaries import CLOSING, OPENING
from uds_bench.facts.reasoning import auto_ids, open_turn, traced_ids
from uds_bench.facts.tags import KNOWN, TAGS, Form, Tags

BRACKETS = Tags("[THINK]", "[/THINK]")
CHANNELS = Tags("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>")
SEED = Tags("<seed:think>", "</seed:think>")
THINKING: dict[str, tuple[str, dict[str, Any], Tags, str]] = {
    "qwen3": (templates.QWEN3, {}, TAGS, ""),
    "qwen3, told to": (templates.QWEN3, {"enable_thinking": True}, TAGS, ""),
    "r1-distill": (templates.R1_DISTILL, {}, TAGS, "<think>\n"),
    "v3.1": (templates.DEEPSEEK_V31, {"thinking": True}, TAGS, "<think>"),
    "smollm3": (templates.SMOLLM3, {}, TAGS, ""),
    "magistral": (templates.MAGISTRAL, {}, BRACKETS, ""),
    "gpt-oss": (templates.GPT_OSS, {"reasoning_effort": "high"}, CHANNELS, ""),
    "seed-oss": (templates.SEED_OSS, {}, SEED, ""),
}
CLOSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "v3.1": (templates.DEEPSEEK_V31, {}, r"closes the trace \(</think>\) .*: set thinking in chat_template_kwargs"),
    "smollm3": (templates.SMOLLM3, {"enable_thinking": False}, r"closes the trace .*: set enable_thinking in"),
    "qwen3": (templates.QWEN3, {"enable_thinking": False}, r"closes the trace .*: set enable_thinking in"),
    "seed-oss": (
        templates.SEED_OSS,
        {"thinking_budget": 0},
        r"closes the trace \(</seed:think>\).*set thinking_budget",
    ),
    "never": (templates.NEVER, {}, r"closes the trace .*: mend chat_template\.jinja"),
    "twice": (templates.OPENED_TWICE, {}, r"opens the trace 2 times \(<think>\): mend"),
    "written into": (templates.WRITTEN_INTO, {}, r"writes 'Okay,' into the trace: mend"),
}


def tokenizer(template: str | None) -> Any:
    found = tiny_tokenizer()
    found.chat_template = template
    return found


def form(options: dict[str, Any], **more: Any) -> Form:
    return Form(options=tuple(options.items()), **more)


@pytest.mark.parametrize("family", THINKING)
def test_a_template_that_thinks_is_rendered_as_it_is_and_its_tags_are_found(family: str) -> None:
    template, options, tags, opening = THINKING[family]
    own = tokenizer(template)
    turn = open_turn(own, "Who?", form(options))
    assert (turn.tags, turn.opening) == (tags, opening)
    said = {"messages": [{"role": "user", "content": "Who?"}], "add_generation_prompt": True}
    plain = own.apply_chat_template(said["messages"], tokenize=False, add_generation_prompt=True, **options)
    assert turn.text + turn.opening == plain
    asked, forced = own.decode(auto_ids(own, turn)), own.decode(traced_ids(own, turn, "I recall."))
    behind = {name: text.rpartition("Who?")[2] for name, text in (("auto", asked), ("forced", forced))}
    assert behind["auto"].count(tags.opening) == bool(opening)
    assert tags.closing not in behind["auto"]
    assert (behind["forced"].count(tags.opening), behind["forced"].count(tags.closing)) == (1, 1)
    assert own.decode(auto_ids(own, turn)).removeprefix("<s>") == plain.removeprefix("<s>")


@pytest.mark.parametrize("family", CLOSED)
def test_a_template_that_takes_the_trace_from_the_model_is_refused(family: str) -> None:
    template, options, told = CLOSED[family]
    with pytest.raises(CheckpointError, match=told) as raised:
        open_turn(tokenizer(template), "Who?", form(options))
    assert "\n" not in str(raised.value)


def test_tags_that_no_template_shows_are_told() -> None:
    bare = tokenizer("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}<|assistant|><reason>")
    assert open_turn(bare, "Who?").opening == ""
    assert open_turn(bare, "Who?", Form(tags=Tags("<reason>", "</reason>"))).opening == "<reason>"


@pytest.mark.parametrize("family", [name for name, (_, _, _, opening) in THINKING.items() if opening])
def test_tags_that_are_not_those_a_template_opens_with_are_refused(family: str) -> None:
    template, options, _, opening = THINKING[family]
    told = (
        f"writes {opening.strip()} behind the prompt, and the trace is looked for between <reason> and </reason>: corr"
    )
    with pytest.raises(CheckpointError, match=told):
        open_turn(tokenizer(template), "Who?", form(options, tags=Tags("<reason>", "</reason>")))


def test_a_template_that_opens_by_other_tags_than_it_speaks_of_first_is_refused() -> None:
    two = "Use <think>.{% for m in messages %}{{ m.content }}{% endfor %}[THINK]"
    with pytest.raises(CheckpointError, match=r"writes \[THINK\] behind the prompt, .* between <think> and </think>"):
        open_turn(tokenizer(two), "Who?")
    assert open_turn(tokenizer(two), "Who?", Form(tags=BRACKETS)).opening == "[THINK]"
    spaced = Tags("<think>\n", "\n</think>")
    assert open_turn(tokenizer(templates.R1_DISTILL), "Who?", Form(tags=spaced)).opening == "<think>\n"


def test_what_no_template_reads_is_refused() -> None:
    with pytest.raises(CheckpointError, match="reads no 'enable_thinkin'"):
        open_turn(tokenizer(templates.QWEN3), "Who?", form({"enable_thinkin": True}))
    with pytest.raises(CheckpointError, match="reads no system text"):
        open_turn(
            tokenizer("{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}"), "Who?", Form("Think.")
        )
    refusing = "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}{{ m.content }}"
    with pytest.raises(CheckpointError, match=r"reads no system text: take system out of \[bypass\]"):
        open_turn(tokenizer(refusing + "{% endfor %}"), "Who?", Form("Think."))
    for key, said in (("system", Form("Think.")), ("chat_template_kwargs", form({"thinking": True}))):
        with pytest.raises(CheckpointError, match=f"no chat template that would read {key} of"):
            open_turn(tokenizer(None), "Who?", said)


def test_system_words_stand_before_the_prompt() -> None:
    turn = open_turn(tokenizer(templates.QWEN3), "Who?", Form("Think first."))
    assert turn.text == (
        "<|im_start|>system\nThink first.<|im_end|>\n<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n"
    )


PIECES = ["[THINK]", "[/THINK]", OPENING, CLOSING, "a", " ", "\n", "</thi", "nk>", "[/TH", "INK]"]


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_published_tags_stand_where_a_models_own_stood_and_nowhere_else(text: str) -> None:
    plain = BRACKETS.plain(text)
    assert plain.count(CLOSING) == text.count("[/THINK]")
    assert plain.count(OPENING) == text.count("[THINK]")
    before, tag, _ = text.partition("[/THINK]")
    assert plain.partition(CLOSING)[0] == BRACKETS.plain(before)
    assert bool(tag) == (CLOSING in plain)
    assert TAGS.plain(text) == text


def test_no_known_tag_lies_in_another() -> None:
    tags = [tag for one in KNOWN for tag in (one.opening, one.closing)]
    assert len(set(tags)) == len(tags)
    assert not any(one in other for one in tags for other in tags if one != other)
