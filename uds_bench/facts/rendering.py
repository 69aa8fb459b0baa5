"""A chat template rendered by the code of transformers, without a tokenizer: light enough for a process of its own."""

from typing import Any

from transformers.utils.chat_template_utils import render_jinja_template


def render(template: str, turns: list[dict[str, str]], options: dict[str, Any]) -> str:
    """One dialogue as the template has it; `options` are variables of the template, special tokens among them."""
    found: Any = render_jinja_template(conversations=[turns], chat_template=template, **options)
    return str(found[0][0])
