"""How a reasoning model is spoken to: the tags of its trace, those that a chat template shows, and what it is told."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uds_bench.errors import CheckpointError
from uds_bench.facts.canaries import CLOSING, OPENING

if TYPE_CHECKING:
    from uds_bench.facts.chat import Turns

_LIKE_XML = re.compile(r"<[\w:]+>")


@dataclass(frozen=True)
class Tags:
    """What opens and what closes a trace."""

    opening: str = OPENING
    closing: str = CLOSING

    @property
    def space(self) -> str:
        """What stands between a tag and the trace: a line break, or nothing where tags are no lines of their own."""
        return "\n" if _LIKE_XML.fullmatch(self.opening) else ""

    def around(self, trace: str) -> str:
        """A whole trace as it stands in a turn; an empty one leaves no line of its own."""
        return f"{self.opening}{self.space}{trace}{self.space}{self.closing}{self.space * 2}"

    def plain(self, text: str) -> str:
        """A text in which the published tags stand in the place of these; its own published ones are taken apart.

        Example:
            >>> Tags("[THINK]", "[/THINK]").plain("[THINK]Is it </think>?[/THINK]Yes.")
            '<think>Is it < /think>?</think>Yes.'
        """
        if self == TAGS:
            return text
        for ours in (OPENING, CLOSING):
            text = text.replace(ours, f"{ours[0]} {ours[1:]}")
        return text.replace(self.closing, CLOSING).replace(self.opening, OPENING)


@dataclass(frozen=True)
class Form:
    """How a model is spoken to. `system`: the words before a prompt; `tags`: those of a trace, where its chat template
    does not show them; `options`: of the chat template, by name."""

    system: str = ""
    tags: Tags | None = None
    options: tuple[tuple[str, str | bool | int | float], ...] = ()

    def messages(self, prompt: str) -> Turns:
        """A dialogue that asks a prompt."""
        system = [{"role": "system", "content": self.system}] if self.system else []
        return [*system, {"role": "user", "content": prompt}]


TAGS, FORM = Tags(), Form()

KNOWN = (
    TAGS,
    Tags("<thinking>", "</thinking>"),
    Tags("[THINK]", "[/THINK]"),
    Tags("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    Tags("<seed:think>", "</seed:think>"),
    Tags("<|START_THINKING|>", "<|END_THINKING|>"),
    Tags("◁think▷", "◁/think▷"),
)
"""Of families that are in use; the first are the published ones, of Qwen and DeepSeek."""


def tags_of(tokenizer: Any) -> Tags:
    """The first of the known tags that a chat template shows; the published ones where it shows none."""
    template = tokenizer.get_chat_template() if tokenizer.chat_template else ""
    return next((tags for tags in KNOWN if tags.opening in template or tags.closing in template), TAGS)


SWITCHES = ("enable_thinking", "thinking", "thinking_mode", "reasoning_effort", "thinking_budget")
"""What templates call the switch by which a model is told to think."""


def reads(tokenizer: Any, name: str) -> bool:
    """Whether a chat template speaks of a variable."""
    return re.search(rf"\b{re.escape(name)}\b", str(tokenizer.get_chat_template())) is not None


def require_open_once(tokenizer: Any, tags: Tags, printed: str) -> None:
    """What a template prints behind the prompt may open the trace, once, and must leave it open and empty.

    Raises CheckpointError where it does not, and where it opens or closes one by other tags than are looked for.
    """
    whose = tokenizer.name_or_path or "the tokenizer"
    others = printed.replace(tags.opening, "").replace(tags.closing, "")
    if found := next((tag for one in KNOWN for tag in (one.opening, one.closing) if tag in others), None):
        raise CheckpointError(
            f"the chat template of {whose} writes {found} behind the prompt, and the trace is looked for between "
            f"{tags.opening} and {tags.closing}: correct tags of [bypass], or mend chat_template.jinja"
        )
    opened = printed.partition(tags.opening)[2]
    if tags.closing in printed:
        problem = f"closes the trace ({tags.closing}) before the model says anything"
    elif (count := printed.count(tags.opening)) > 1:
        problem = f"opens the trace {count} times ({tags.opening})"
    elif opened.strip():
        problem = f"writes {opened.strip()!r} into the trace"
    else:
        return
    switches = [name for name in SWITCHES if reads(tokenizer, name)]
    how = f"set {' or '.join(switches)} in chat_template_kwargs of [bypass]" if switches else "mend chat_template.jinja"
    raise CheckpointError(f"the chat template of {whose} {problem}: {how}")
