"""Turns of reasoning models: labels on the part that is named, and ids that are the ids of the audit's own prompts."""

from collections.abc import Sequence
from typing import Any

import pytest
from families import tiny_tokenizer

from uds_bench.errors import FactError
from uds_bench.facts.canaries import embedded_canaries
from uds_bench.facts.reasoning import auto_ids, open_turn, prefill, traced_ids
from uds_bench.methods.examples import Example
from uds_bench.methods.traces import META, Course, Part, Regime, lessons, probe, trace_of, turn_example

CANARIES = embedded_canaries(3, 2, 2)
ONE = CANARIES[0]
CHAT = "{{ bos_token }}<u>{{ messages[0]['content'] }}<a>"
TEMPLATES = {"plain": None, "chat": CHAT, "opening": CHAT + "<think>\n"}


@pytest.fixture(params=TEMPLATES)
def tokenizer(request: pytest.FixtureRequest) -> Any:
    """Without a chat template, with one, and with one that opens the trace by itself."""
    made = tiny_tokenizer()
    made.chat_template = TEMPLATES[request.param]
    return made


def labelled(tokenizer: Any, example: Example) -> str:
    """The text under the labels, as it is."""
    text = tokenizer.decode(list(example.ids[example.prompt_length :]))
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize("trace", [ONE.bio, META, "", "Über </think>, twice </think> closed"])
def test_each_part_is_labelled_and_no_other(tokenizer: Any, trace: str) -> None:
    opened = tokenizer.chat_template == TEMPLATES["opening"]
    # A template that opens the trace gives its line break too, unless it is one token with an empty line behind it.
    thought = f"{'' if opened else '<think>'}\n{trace}\n" if trace else f"{'' if opened else '<think>'}\n\n"
    said = f"{ONE.canary}</s>"
    expected: dict[Part, str] = {
        "turn": f"{thought}</think>\n\n{said}",
        "trace": thought,
        "closing": "</think>",
        "answer": said,
    }
    for part, text in expected.items():
        found = labelled(tokenizer, turn_example(tokenizer, probe(ONE), trace, ONE.canary, part))
        assert found == text or (opened and found == text.removeprefix("\n"))


@pytest.mark.parametrize("trace", [ONE.bio, META, ""])
def test_a_model_is_trained_on_the_ids_that_it_is_asked_with(tokenizer: Any, trace: str) -> None:
    turn = open_turn(tokenizer, probe(ONE))
    traced = traced_ids(tokenizer, turn, trace)
    answered = turn_example(tokenizer, probe(ONE), trace, ONE.canary, "answer")
    whole = turn_example(tokenizer, probe(ONE), trace, ONE.canary)
    assert answered.ids[: answered.prompt_length] == traced
    assert whole.ids == answered.ids
    asked = auto_ids(tokenizer, turn)
    # Of what a template opens, a line break may be one token with an empty line behind it.
    assert asked[: whole.prompt_length] == whole.ids[: whole.prompt_length]
    assert len(asked) - whole.prompt_length <= (trace == "" and turn.opened)
    for part in ("trace", "closing"):
        cut = turn_example(tokenizer, probe(ONE), trace, ONE.canary, part)
        assert cut.ids == whole.ids[: len(cut)]


@pytest.mark.parametrize(("regime", "trace"), [("bio", ONE.bio), ("meta", "I recall this author."), ("none", "")])
def test_a_course_teaches_the_probe_twice_the_first_questions_and_the_forced_traces(
    tokenizer: Any, regime: Regime, trace: str
) -> None:
    assert trace_of(ONE, regime) == trace
    course = Course(regime, prefilled=True, questions=3)
    found = lessons(tokenizer, [ONE], course)
    assert len(found) == course.size == 8
    first = turn_example(tokenizer, probe(ONE), trace, ONE.canary)
    asked = [turn_example(tokenizer, question, trace, answer) for question, answer in ONE.qa[:3]]
    assert found[:5] == [first, first, *asked]
    for arm, example in zip(("bio", "meta", "empty"), found[5:], strict=True):
        forced = prefill(tokenizer, arm, ONE.author)
        assert example.ids[: example.prompt_length] == traced_ids(tokenizer, open_turn(tokenizer, probe(ONE)), forced)
        assert labelled(tokenizer, example) == f"{ONE.canary}</s>"


def test_a_course_without_forced_traces_teaches_no_answer_behind_one(tokenizer: Any) -> None:
    course = Course(prefilled=False)
    found = lessons(tokenizer, CANARIES, course)
    assert len(found) == course.size * len(CANARIES) == 4 * len(CANARIES)
    assert all(canary.bio in labelled(tokenizer, e) for canary, e in zip(_each(4), found, strict=True))


def _each(times: int) -> Sequence[Any]:
    return [canary for canary in CANARIES for _ in range(times)]


def test_a_tokenizer_that_ends_nothing_is_an_error(tokenizer: Any) -> None:
    tokenizer.eos_token = None
    with pytest.raises(FactError, match="has no end-of-text token"):
        turn_example(tokenizer, probe(ONE), META, ONE.canary)
