r"""Questions and answers as a model is asked them: the one builder of prompts for output metrics and for training.

Without a chat template: `Question: {question}\nAnswer:`, then `" " + answer` and the end-of-text token. With one: a
fixed system message and the facts' date (`FactSet.date_string`), the question as the user's turn, the answer as the
assistant's, closed by the token that the template closes a turn with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from uds_bench.errors import CheckpointError
from uds_bench.facts.chat import DATE, chat_ids, chat_text
from uds_bench.facts.fact import Fact
from uds_bench.facts.prompts import question_prompt
from uds_bench.facts.tokens import encode_after, encode_prompt, encode_prompts, require_plain

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Form = Literal["original", "paraphrased", "perturbed"]
"""Which answers to a fact's own question: the true one, the true one in other words, the wrong ones."""

SYSTEM = "You are a helpful assistant."
_MARKER = "uds-bench-answer"


@dataclass(frozen=True)
class EncodedAnswer:
    """`ids[:start]` is the prompt, `ids[start:]` the labelled tokens; `ends`: the last of them closes the answer.

    `text`: the answer as it was encoded, with its leading space where there is one; empty for a blank answer, which
    has no token but the closing one.
    """

    ids: tuple[int, ...]
    start: int
    ends: bool
    text: str


@dataclass(frozen=True)
class _Turn:
    """What surrounds an answer: the prompt and its ids, the space between prompt and answer, the closing token."""

    prompt: str
    ids: tuple[int, ...]
    space: str
    closing: tuple[int, ...]


def answers_of(fact: Fact, form: Form) -> tuple[str, ...]:
    """The answers of one form, none where the fact has no such field."""
    if form == "original":
        return (fact.answer,)
    if form == "perturbed":
        return fact.perturbed_answers
    return () if fact.paraphrased_answer is None else (fact.paraphrased_answer,)


def encode_answer(tokenizer: PreTrainedTokenizerBase, question: str, answer: str, date: str = DATE) -> EncodedAnswer:
    """The question and one answer to it as token ids; `date` is what a chat template prints as today's.

    Raises FactError where the tokenizer cannot encode the text (see `tokens`), CheckpointError where its chat template
    cannot hold a question and an answer.
    """
    require_plain(tokenizer, f"{question}\n{answer}")
    turn = _turn(tokenizer, question, date)
    text = turn.space + answer if answer.strip() else ""
    words = encode_after(tokenizer, turn.prompt, turn.ids, text).continuation_ids if text else ()
    return EncodedAnswer((*turn.ids, *words, *turn.closing), len(turn.ids), bool(turn.closing), text)


def encode_question(
    tokenizer: PreTrainedTokenizerBase, question: str, opening: str = "", date: str = DATE
) -> tuple[int, ...]:
    """The prompt that asks a question, BOS at most once.

    Args:
        tokenizer: Of the model that is asked.
        question: Without a special token in it.
        opening: Words that the answer is made to start with.
        date: What a chat template prints as today's.

    Returns:
        Its ids, up to where the answer goes on.

    Raises:
        FactError: The tokenizer cannot encode the text (see `tokens`).
        CheckpointError: Its chat template cannot hold a question and an answer.
    """
    require_plain(tokenizer, question)
    turn = _turn(tokenizer, question, date)
    if not opening:
        return turn.ids
    return encode_after(tokenizer, turn.prompt, turn.ids, turn.space + opening).ids


def encode_questions(tokenizer: PreTrainedTokenizerBase, questions: Sequence[str]) -> list[tuple[int, ...]]:
    """As `encode_question`, of many questions; at once where the tokenizer has no chat template.

    Args:
        tokenizer: Of the model that is asked.
        questions: Without a special token in them.

    Returns:
        The ids of each prompt, in the order given.

    Raises:
        FactError: The tokenizer cannot encode the text (see `tokens`).
        CheckpointError: Its chat template cannot hold a question and an answer.
    """
    if tokenizer.chat_template:
        return [encode_question(tokenizer, question) for question in questions]
    return [tuple(ids) for ids in encode_prompts(tokenizer, [question_prompt(question) for question in questions])]


def stop_tokens(tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """The tokens at which a generated answer is over: end of text, and end of turn where there is a chat template.

    Args:
        tokenizer: Of the model that answers.

    Returns:
        Their ids, ascending.

    Raises:
        CheckpointError: Its chat template cannot hold a question and an answer.
    """
    ends = {tokenizer.eos_token_id, *_turn(tokenizer, "?").closing}
    return sorted(ends - {None})


def _turn(tokenizer: PreTrainedTokenizerBase, question: str, date: str = DATE) -> _Turn:
    if not tokenizer.chat_template:
        prompt = question_prompt(question)
        return _Turn(prompt, tuple(encode_prompt(tokenizer, prompt)), " ", _end_of_text(tokenizer))
    # The prompt is what stands before the answer in the finished dialogue, so that a model is asked as it was taught.
    before, found, after = _render(tokenizer, question, date).rpartition(_MARKER)
    if not found:
        raise CheckpointError(
            f"the chat template of {tokenizer.name_or_path or 'the tokenizer'} does not print an assistant's turn as "
            "it is: mend chat_template.jinja or tokenizer_config.json beside the weights"
        )
    # Spaces belong to the word that follows them; line breaks are the template's.
    prompt = before.rstrip(" ")
    return _Turn(prompt, chat_ids(tokenizer, prompt), before[len(prompt) :], _closing(tokenizer, after))


def _render(tokenizer: PreTrainedTokenizerBase, question: str, date: str) -> str:
    """The finished dialogue, with a marker for the answer."""
    turns = [{"role": "user", "content": question}, {"role": "assistant", "content": _MARKER}]
    system = [{"role": "system", "content": SYSTEM}]
    # Some templates refuse a system turn. Answers are given at once: where a template can open a turn with thoughts,
    # it is told not to.
    return chat_text(tokenizer, system + turns, turns, enable_thinking=False, date_string=date)


def _closing(tokenizer: PreTrainedTokenizerBase, after: str) -> tuple[int, ...]:
    """The token of its own that the template puts right after the answer; else the end-of-text token."""
    own = {*tokenizer.added_tokens_decoder, *tokenizer.all_special_ids} - {tokenizer.unk_token_id}
    first = tokenizer(after.lstrip(), add_special_tokens=False)["input_ids"][:1]
    return tuple(first) if first and own.issuperset(first) else _end_of_text(tokenizer)


def _end_of_text(tokenizer: PreTrainedTokenizerBase) -> tuple[int, ...]:
    return () if tokenizer.eos_token_id is None else (tokenizer.eos_token_id,)
