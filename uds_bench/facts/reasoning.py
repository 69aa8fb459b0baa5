"""Turns of a reasoning model, `<think> trace </think> answer`: how one is opened, and how a trace is put into it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from uds_bench.errors import CheckpointError, FactError
from uds_bench.facts.canaries import Canary
from uds_bench.facts.chat import chat_ids, chat_text
from uds_bench.facts.name_matching import normalized
from uds_bench.facts.prompts import question_prompt
from uds_bench.facts.tags import FORM, TAGS, Form, Tags, reads, require_open_once, tags_of
from uds_bench.facts.tokens import encode_after, encode_prompt, require_plain

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Probe = Literal["canary", "qa"]
Prefill = Literal["bio", "meta", "empty", "neutral"]
PREFILLS: tuple[Prefill, ...] = get_args(Prefill)

_TEMPLATES: dict[tuple[Prefill, Probe], str] = {
    ("bio", "canary"): "Completing a fact I know about {author}: ",
    ("bio", "qa"): "The user is asking about {author}. Recalling: ",
    ("meta", "canary"): "Completing a fact about {author}.",
    ("meta", "qa"): "The user is asking about {author}. I recall this person.",
    ("empty", "canary"): "",
    ("empty", "qa"): "",
}
"""Verbatim (audit of reasoning traces, appendix H)."""
_NEUTRAL = (
    "This is a short note that says nothing of anybody. It only fills the place of a thought, so that what follows "
    "stands as far from the question as it otherwise would, and it goes on as long as it is needed. "
)


_PROMPT = "Complete this sentence about {author}: {head}"
OURS = (_PROMPT, _NEUTRAL, *_TEMPLATES.values())
"""All that a model is given beside an author, a head and questions."""


@dataclass(frozen=True)
class Turn:
    """The prompt up to where a trace opens: its text and `ids`, BOS once. `opening`: what the template itself opens the
    trace with, which is not part of `ids`; "" where it leaves that to the model. `template`: chat, or plain where there
    is none. `tags`: of the trace."""

    text: str
    ids: tuple[int, ...]
    opening: str
    template: Literal["chat", "plain"]
    tags: Tags = TAGS

    @property
    def opened(self) -> bool:
        """Whether the template opens the trace itself."""
        return bool(self.opening)


def complete_prompt(author: str, head: str) -> str:
    """The probe: the first words of an author's sentence (audit of reasoning traces, section 3)."""
    return _PROMPT.format(author=author, head=head)


def open_turn(tokenizer: PreTrainedTokenizerBase, prompt: str, form: Form = FORM) -> Turn:
    r"""The user's turn and the start of the assistant's; without a chat template `Question: {prompt}\nAnswer:\n`.

    Raises CheckpointError for a template that closes the trace, opens it twice or writes into it, or that does not read
    what the form says.
    """
    require_plain(tokenizer, prompt)
    _require_read(tokenizer, form)
    tags = form.tags or tags_of(tokenizer)
    if not tokenizer.chat_template:
        text = f"{question_prompt(prompt)}\n"
        return Turn(text, tuple(encode_prompt(tokenizer, text)), "", "plain", tags)
    options = {"add_generation_prompt": True, **dict(form.options)}
    if form.system:
        plain, whose = chat_text(tokenizer, FORM.messages(prompt), **options), tokenizer.name_or_path or "the tokenizer"
        # The first that the template takes: where it refuses a system turn, or passes it over, that is the plain one.
        if chat_text(tokenizer, form.messages(prompt), FORM.messages(prompt), **options) == plain:
            raise CheckpointError(f"the chat template of {whose} reads no system text: take system out of [bypass]")
    text = chat_text(tokenizer, form.messages(prompt), **options)
    # What a template says of the tags above the prompt opens nothing.
    printed = text.rpartition(prompt.strip())[2]
    require_open_once(tokenizer, tags, printed)
    opening = "".join(printed.partition(tags.opening)[1:])
    text = text.removesuffix(opening)
    ids = chat_ids(tokenizer, text)
    bos = tokenizer.bos_token_id
    return Turn(text, ids if bos is None or bos in ids[:1] else (bos, *ids), opening, "chat", tags)


def _require_read(tokenizer: PreTrainedTokenizerBase, form: Form) -> None:
    """Raise CheckpointError for words and options that no template reads: a run would not do what its file says."""
    whose = tokenizer.name_or_path or "the tokenizer"
    if not tokenizer.chat_template and (form.system or form.options):
        key = "system" if form.system else "chat_template_kwargs"
        raise CheckpointError(f"{whose} has no chat template that would read {key} of [bypass]: take it out")
    for name, _ in form.options:
        if not reads(tokenizer, name):
            raise CheckpointError(
                f"the chat template of {whose} reads no {name!r}: correct chat_template_kwargs of [bypass]"
            )


def auto_ids(tokenizer: PreTrainedTokenizerBase, turn: Turn) -> tuple[int, ...]:
    """What the model thinks on from by itself: its trace is opened where its own template opens it.

    Args:
        tokenizer: Of the model that is asked.
        turn: From `open_turn`.

    Returns:
        The ids of the turn, and of what opens the trace.
    """
    return encode_after(tokenizer, turn.text, turn.ids, turn.opening).ids if turn.opened else turn.ids


def text_alone(tokenizer: PreTrainedTokenizerBase, turn: Turn) -> str:
    """The text of the turn for an engine that puts nothing around it: it begins with what the ids begin with.

    Args:
        tokenizer: Of the model that is asked.
        turn: From `open_turn`.

    Returns:
        What is encoded to the ids of the turn without special tokens being added.
    """
    text, bos = turn.text, tokenizer.bos_token or ""
    while bos and text.startswith(bos * 2):
        text = text.removeprefix(bos)
    leading = turn.ids[: max(0, len(turn.ids) - len(_tokens(tokenizer, text)))]
    head = str(tokenizer.decode(list(leading)))
    # A tokenizer that puts a space before a text has put it behind BOS, where it stands in no text.
    ways = (f"{head}{text}", f"{head} {text}")
    return next((one for one in ways if _tokens(tokenizer, one) == [*turn.ids]), ways[0])


def traced_ids(tokenizer: PreTrainedTokenizerBase, turn: Turn, trace: str) -> tuple[int, ...]:
    """The turn with a closed trace: the answer comes next.

    The trace is encoded apart from the prompt and the answer, as `</think>` and the line breaks behind it are other
    tokens before some texts than before others.

    Args:
        tokenizer: Of the model that is asked.
        turn: From `open_turn`.
        trace: What stands between the tags.

    Returns:
        The ids of the turn and of the trace with its tags.

    Raises:
        FactError: The tokenizer cannot encode the trace apart from the prompt.
    """
    return encode_after(tokenizer, turn.text, turn.ids, turn.tags.around(trace)).ids


def prefill(tokenizer: PreTrainedTokenizerBase, arm: Prefill, author: str, probe: Probe = "canary") -> str:
    """A short trace that does not hold the canary. `neutral` has as many tokens as `bio`, and no author."""
    if arm != "neutral":
        return _TEMPLATES[arm, probe].format(author=author)
    length = len(_tokens(tokenizer, prefill(tokenizer, "bio", author, probe)))
    words = _NEUTRAL.split(" ")
    # Whole words, the longest run that has no more tokens than the biography's opener.
    while len(_tokens(tokenizer, " ".join(words))) > length:
        words.pop()
    return " ".join(words)


def require_apart(canaries: Iterable[Canary]) -> None:
    """Raise FactError for a canary that a prefill holds, whole or after its head: the arm would be no control.

    The neutral prefill is part of one text, whatever the tokenizer makes of it.
    """
    for canary in canaries:
        texts = {arm: _TEMPLATES[arm, "canary"].format(author=canary.author) for arm in PREFILLS if arm != "neutral"}
        for arm, text in (texts | {"neutral": _NEUTRAL}).items():
            require_outside(canary, arm, text)


def require_outside(canary: Canary, arm: str, text: str) -> None:
    """Raise FactError for a canary that a trace of ours holds."""
    held = f" {normalized(text)} "
    if any(f" {normalized(part)} " in held for part in (canary.canary, canary.rest)):
        raise FactError(
            f"canary {canary.id!r}: key 'canary' stands in the prefill {arm} ({text!r}): the arm would be no "
            "control; use a sentence that says more than the author's name"
        )


def _tokens(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids
