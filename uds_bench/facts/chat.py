"""Chat templates: dialogues as a tokenizer's own template renders them, on a fixed date, with BOS at most once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jinja2 import TemplateError

from uds_bench.errors import CheckpointError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Turns = list[dict[str, str]]

DATE = "01 Jan 2025"
"""Some templates print today's date: scores must not change with the day."""
_NO_CLOCK = "{% macro strftime_now(format) %}" + DATE + "{% endmacro %}"
"""Put before a template: HF hands no function in from outside, and its own reads the clock."""


def chat_text(tokenizer: PreTrainedTokenizerBase, *dialogues: Turns, **options: Any) -> str:
    """The first of the dialogues that the chat template takes, rendered; `options` are the template's.

    Raises CheckpointError where it takes none.
    """
    try:
        template = _NO_CLOCK + tokenizer.get_chat_template()
        *tried, last = dialogues
        for turns in tried:
            try:
                return _apply(tokenizer, template, turns, options)
            except TemplateError:
                continue
        return _apply(tokenizer, template, last, options)
    except (TemplateError, ValueError) as error:
        raise CheckpointError(
            f"the chat template of {tokenizer.name_or_path or 'the tokenizer'} cannot be used "
            f"({' '.join(str(error).split())}): mend chat_template.jinja or tokenizer_config.json beside the weights"
        ) from error


def chat_ids(tokenizer: PreTrainedTokenizerBase, text: str) -> tuple[int, ...]:
    """Token ids of a rendered dialogue; a template prints BOS itself, or does not: it is never doubled."""
    bos = tokenizer.bos_token_id
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    while bos is not None and ids[:2] == [bos, bos]:
        ids = ids[1:]
    return tuple(ids)


def _apply(tokenizer: PreTrainedTokenizerBase, template: str, turns: Turns, options: dict[str, Any]) -> str:
    options = {"date_string": DATE} | options
    rendered = tokenizer.apply_chat_template(turns, chat_template=template, tokenize=False, **options)
    assert isinstance(rendered, str)
    return rendered
