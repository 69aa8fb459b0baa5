"""Text to token ids: prompt and continuation encoded apart, together still the plain text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from uds_bench.errors import FactError
from uds_bench.storage import content_key

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Offset = tuple[int, int]

_ANCHORS = ("\n", ":", "=", "a")
"""Texts before a continuation that must not start with a space; dropped again after encoding."""


@dataclass(frozen=True)
class EncodedText:
    """Token ids of a prompt and of its continuation, and the characters of the latter that each covers."""

    prompt_ids: tuple[int, ...]
    continuation_ids: tuple[int, ...]
    offsets: tuple[Offset, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        """Prompt and continuation as one row of ids."""
        return self.prompt_ids + self.continuation_ids


def encode_text(tokenizer: "PreTrainedTokenizerBase", prompt: str, continuation: str) -> EncodedText:
    """Encode `prompt` with special tokens (BOS exactly once) and `continuation` apart, without any.

    Tokenizers that put a space before every text (SentencePiece) get the continuation in the form that
    doubles no space and adds none. Offsets count characters of `continuation`; a space that a tokenizer
    swallowed is in none.

    Raises FactError for tokenizers without character offsets, and where no encoding of the continuation
    joins the prompt to the same text as both encoded at once.
    """
    require_plain(tokenizer, prompt + continuation)
    return encode_after(tokenizer, prompt, encode_prompt(tokenizer, prompt), continuation)


def encode_after(
    tokenizer: "PreTrainedTokenizerBase", prompt: str, prompt_ids: Sequence[int], continuation: str
) -> EncodedText:
    """`continuation` behind a prompt that is encoded already; see `encode_text`."""
    if not tokenizer.is_fast:
        raise FactError(f"tokenizer {type(tokenizer).__name__} gives no character offsets; load the fast version of it")
    expected = _decode(tokenizer, tokenizer(prompt + continuation, add_special_tokens=False)["input_ids"])
    for ids, offsets in _readings(tokenizer, continuation):
        if _decode(tokenizer, [*prompt_ids, *ids]) == expected:
            return EncodedText(tuple(prompt_ids), tuple(ids), tuple(offsets))
    raise FactError(
        f"tokenizer {type(tokenizer).__name__} cannot encode {continuation!r} apart from the prompt that "
        f"ends in {prompt[-20:]!r}; end the prefix at a word boundary"
    )


def encode_many(tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str], around: bool = True) -> list[list[int]]:
    """The ids of texts; sooner than by a call of the tokenizer, which keeps more of every text than its ids.

    Args:
        tokenizer: Of a model.
        texts: Any number.
        around: Whether each has the special tokens around it that the tokenizer puts there.

    Returns:
        The ids of each text, in the order given.
    """
    if not texts:
        return []
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return [list(ids) for ids in tokenizer(list(texts), add_special_tokens=around)["input_ids"]]
    tokenizer(texts[0])  # A call sets what the backend may have kept of an earlier one: no padding, nothing cut off.
    return [encoding.ids for encoding in backend.encode_batch_fast(list(texts), add_special_tokens=around)]


def encode_prompts(tokenizer: "PreTrainedTokenizerBase", prompts: Sequence[str]) -> list[list[int]]:
    """As `encode_prompt`, of many prompts at once.

    Args:
        tokenizer: Of the model that is asked.
        prompts: Without a special token in them.

    Returns:
        The ids of each prompt, in the order given.

    Raises:
        FactError: A prompt holds a special token.
    """
    if not prompts:
        return []
    special, leading = _special_ids(tokenizer), _leading(tokenizer, prompts[0])
    plain = encode_many(tokenizer, prompts, around=False)
    for prompt, ids in zip(prompts, plain, strict=True):
        if not special.isdisjoint(ids):
            require_plain(tokenizer, prompt)
    return [[*leading, *ids] for ids in plain]


def require_plain(tokenizer: "PreTrainedTokenizerBase", text: str) -> None:
    """FactError where the text holds a special token: it would be read as a turn's end, not as text."""
    if found := _special_ids(tokenizer).intersection(tokenizer(text, add_special_tokens=False)["input_ids"]):
        token = tokenizer.convert_ids_to_tokens(min(found))
        raise FactError(f"the text {text!r} holds the special token {token!r}; take it out")


def tokenizer_key(tokenizer: "PreTrainedTokenizerBase") -> str:
    """Content address of all that decides how a tokenizer splits texts and dialogues; paths and names do not count."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = tokenizer.get_vocab() if backend is None else backend.to_str()
    special = [str(tokenizer.special_tokens_map), tokenizer.all_special_ids, tokenizer.split_special_tokens]
    return content_key([type(tokenizer).__qualname__, rules, special, tokenizer.chat_template])


def _special_ids(tokenizer: "PreTrainedTokenizerBase") -> set[int]:
    """Ids that stand for no text. The unknown token stands for text, unless it is BOS or EOS as well."""
    added = {i for i, token in tokenizer.added_tokens_decoder.items() if token.special}
    special = (added | set(tokenizer.all_special_ids)) - {tokenizer.unk_token_id}
    return (special | {tokenizer.bos_token_id, tokenizer.eos_token_id}) - {None}


def encode_prompt(tokenizer: "PreTrainedTokenizerBase", prompt: str) -> list[int]:
    """Ids of the prompt behind its leading special tokens: BOS once, whatever `add_bos_token` says.

    Args:
        tokenizer: Of the model that is asked.
        prompt: Plain text; see `require_plain`.

    Returns:
        Its ids, nothing behind the prompt.
    """
    return [*_leading(tokenizer, prompt), *tokenizer(prompt, add_special_tokens=False)["input_ids"]]


def _leading(tokenizer: "PreTrainedTokenizerBase", prompt: str) -> list[int]:
    """The special tokens that a prompt starts with."""
    special = _special_ids(tokenizer)
    leading = list(dict.fromkeys(takewhile(special.__contains__, tokenizer(prompt)["input_ids"])))
    bos = tokenizer.bos_token_id
    return leading if bos is None or bos in leading else [bos, *leading]


def _readings(tokenizer: "PreTrainedTokenizerBase", text: str) -> Iterator[tuple[list[int], list[Offset]]]:
    """Ways to encode a continuation, the likeliest first.

    As it is (byte-level tokenizers); without its leading space, where the tokenizer adds one of its own;
    and behind an anchor whose tokens are dropped again, where the tokenizer adds a space that the text
    does not have.
    """
    yield _encode(tokenizer, text, shift=0)
    if text.startswith(" "):
        yield _encode(tokenizer, text[1:], shift=1)
    for anchor in _ANCHORS:
        head, _ = _encode(tokenizer, anchor, shift=0)
        ids, offsets = _encode(tokenizer, anchor + text, shift=-len(anchor))
        if ids[: len(head)] == head and tokenizer.unk_token_id not in head:
            yield ids[len(head) :], offsets[len(head) :]


def _encode(tokenizer: "PreTrainedTokenizerBase", text: str, shift: int) -> tuple[list[int], list[Offset]]:
    encoding = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    return encoding["input_ids"], [(start + shift, end + shift) for start, end in encoding["offset_mapping"]]


def _decode(tokenizer: "PreTrainedTokenizerBase", ids: list[int]) -> str:
    text = tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    assert isinstance(text, str)
    return text
