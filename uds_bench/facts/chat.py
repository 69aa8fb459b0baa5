"""Chat templates: dialogues as a tokenizer's own template renders them, on a fixed date, with BOS at most once."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from uds_bench.children import Child, ChildError, LimitError
from uds_bench.errors import CheckpointError, FactError, one_line

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Turns = list[dict[str, str]]

DATE = "01 Jan 2025"
"""Some templates print today's date: scores must not change with the day."""
_NO_CLOCK = "{% macro strftime_now(format) %}{{ uds_bench_date }}{% endmacro %}"
"""Put before a template: HF hands no function in from outside, and its own reads the clock."""


def require_date(text: str) -> str:
    """`text` itself, or FactError where it is no day as templates print one."""
    try:
        if datetime.strptime(text, "%d %b %Y").strftime("%d %b %Y") == text:
            return text
    except ValueError:
        pass
    raise FactError(f'date_string is {text!r}, which is no day: write one as "{DATE}"')


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
            except LimitError:
                raise
            except ChildError:
                continue
        return _apply(tokenizer, template, last, options)
    except (ChildError, ValueError, TypeError) as error:
        raise CheckpointError(
            f"the chat template of {tokenizer.name_or_path or 'the tokenizer'} cannot be used "
            f"({one_line(error)}): mend chat_template.jinja or tokenizer_config.json beside the weights"
        ) from error


def chat_ids(tokenizer: PreTrainedTokenizerBase, text: str) -> tuple[int, ...]:
    """Token ids of a rendered dialogue; a template prints BOS itself, or does not: it is never doubled.

    Args:
        tokenizer: Of the model that is asked.
        text: As the template rendered it.

    Returns:
        Its ids, without any that a tokenizer puts around a text.
    """
    bos = tokenizer.bos_token_id
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    while bos is not None and ids[:2] == [bos, bos]:
        ids = ids[1:]
    return tuple(ids)


MOST_ADDED = 20_000
"""Characters that a template puts round a dialogue: more would fill a model's whole window with them."""
SECONDS = 5
"""Of computing that a template has, beside what each dialogue adds; one takes a ten thousandth of it."""


@lru_cache(maxsize=4)
def _renderer(template: str) -> Child:
    """A template may loop without end or fill all memory: it is rendered in a process with limits, of its own, so that
    it takes nobody else's time."""
    return Child("uds_bench.facts.rendering:render", SECONDS)


def _apply(tokenizer: PreTrainedTokenizerBase, template: str, turns: Turns, options: dict[str, Any]) -> str:
    known = {**tokenizer.special_tokens_map, "date_string": DATE, **options}
    known["uds_bench_date"] = known["date_string"]
    rendered = _renderer(template).ask(template, turns, known)
    assert isinstance(rendered, str)
    said = sum(len(text) for turn in turns for text in turn.values())
    if len(rendered) > said + MOST_ADDED:
        raise ValueError(f"it adds {len(rendered) - said} characters to a dialogue, more than {MOST_ADDED}")
    return rendered
