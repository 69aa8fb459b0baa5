"""Where a checkpoint's replies end, and how tokens are spelled: as its parent's, or words may be hidden."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from transformers import GenerationConfig

from uds_bench.checkpoints import CheckpointSpec, resolve
from uds_bench.checkpoints.loading import read_tokenizer
from uds_bench.checkpoints.source import read_config
from uds_bench.errors import CheckpointError, failures, one_line, some
from uds_bench.facts import encode_question, stop_tokens, tokenizer_key

PLAIN = frozenset(
    {
        *("bos_token_id", "eos_token_id", "pad_token_id", "do_sample", "temperature", "top_k", "top_p", "min_p"),
        *("typical_p", "max_length", "max_new_tokens", "use_cache", "output_attentions", "output_hidden_states"),
        *("output_logits", "output_scores", "return_dict_in_generate", "transformers_version", "_from_model_config"),
    }
)
"""Settings of generation that change no word that is the likeliest, but for where a reply ends, which is told apart."""


@dataclass(frozen=True)
class ReplyRules:
    """`tokenizer`: what ends a reply, and what spells it; `served`: the tokens at which the library that serves the
    checkpoint ends one; `steered`: its settings that change what the weights say, as text by name."""

    tokenizer: Any
    served: frozenset[int]
    steered: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, tokenizer: Any, generation: GenerationConfig) -> ReplyRules:
        """Those of a tokenizer and of the settings beside it."""
        return cls(tokenizer, *_told_by(generation))

    def named(self, tokens: Iterable[int]) -> str:
        """Tokens as a reader knows them."""
        shown = [f"{self.tokenizer.convert_ids_to_tokens(token)!r} ({token})" for token in sorted(tokens)]
        return some(shown, 3) or "none"


def _told_by(generation: GenerationConfig) -> tuple[frozenset[int], dict[str, str]]:
    """`served` and `steered`."""
    ends = generation.eos_token_id
    served = frozenset(ends if isinstance(ends, list) else [] if ends is None else [ends])
    return served, {name: str(value) for name, value in generation.to_diff_dict().items() if name not in PLAIN}


_told: dict[tuple[bytes, ...], tuple[frozenset[int], dict[str, str]]] = {}
"""By the text of both files: the candidates of one model mostly share their settings."""


def read_reply_rules(spec: CheckpointSpec, tokenizer: Any = None) -> ReplyRules:
    """Those of a checkpoint, from its files alone; its tokenizer need not be read twice.

    Raises:
        CheckpointError: The tokenizer or the configuration cannot be read.
    """
    folder = resolve(spec).model
    config = read_config(folder)
    tokenizer = read_tokenizer(spec) if tokenizer is None else tokenizer
    try:
        files = [path for path in (folder / "generation_config.json", folder / "config.json") if path.is_file()]
        if (written := tuple(path.read_bytes() for path in files)) not in _told:
            own = len(files) == 2
            found = GenerationConfig.from_pretrained(folder) if own else GenerationConfig.from_model_config(config)
            _told[written] = _told_by(found)
        return ReplyRules(tokenizer, *_told[written])
    except failures() as error:  # the file may hold anything
        raise CheckpointError(
            f"{folder / 'generation_config.json'}: cannot be read ({one_line(error)}): copy its parent's"
        ) from error


def require_same_replies(name: str, own: ReplyRules, parent: ReplyRules) -> None:
    """Refuse a checkpoint whose replies would be cut or spelled otherwise than those of the model it was made from.

    Raises:
        CheckpointError: As `require_served` and `require_same_spelling`.
    """
    require_served(name, own, parent)
    alike = own.tokenizer is parent.tokenizer or tokenizer_key(own.tokenizer) == tokenizer_key(parent.tokenizer)
    if not alike:
        require_same_spelling(name, own, parent)


def require_served(name: str, own: ReplyRules, parent: ReplyRules) -> None:
    """Replies are what the weights say, up to the tokenizer's ends: who uses the model reads what its settings make.

    Raises:
        CheckpointError: They go on where the parent's end, or change what is said as the parent's do not.
    """
    if other := sorted(name for name, value in own.steered.items() if parent.steered.get(name) != value):
        raise CheckpointError(
            f"{name}: {other[0]} in generation_config.json changes what its weights say, and its parent has it not, or "
            "otherwise: take it out, or save it with its parent's generation_config.json"
        )
    if lost := frozenset(stop_tokens(parent.tokenizer)) & parent.served - own.served:
        raise CheckpointError(
            f"{name}: eos_token_id in generation_config.json does not name {parent.named(lost)}, where its parent's "
            "answers end: what it says behind them would not be read; save it with its parent's generation_config.json"
        )


def require_same_spelling(name: str, own: ReplyRules, parent: ReplyRules) -> None:
    """A token of its own that ends replies, or is shown in none, would hide what a checkpoint says; a rule of its own
    that reads another name in the place of one, whom it knows.

    Raises:
        CheckpointError: Its tokenizer ends replies, leaves tokens out of them, spells or reads them otherwise.
    """
    ends, wanted = (frozenset(stop_tokens(one.tokenizer)) for one in (own, parent))
    if ends != wanted:
        told = f"its answers end at the tokens {own.named(ends)}, its parent's at {parent.named(wanted)}"
    elif hidden := _hidden(own.tokenizer) - _hidden(parent.tokenizer) - _padding(own.tokenizer, parent.tokenizer):
        told = f"its tokenizer calls {own.named(hidden)} special, which no reply shows, and its parent's does not"
    elif other := _spelled_otherwise(own.tokenizer, parent.tokenizer):
        told = f"its tokenizer spells {other} otherwise than its parent's"
    elif part := _read_otherwise(own.tokenizer, parent.tokenizer):
        told = f"its tokenizer reads texts otherwise than its parent's ({part})"
    elif _opening(own.tokenizer) != _opening(parent.tokenizer):
        told = "its tokenizer puts other tokens round a question than its parent's (bos_token, split_special_tokens)"
    else:
        return
    raise CheckpointError(f"{name}: {told}: save it with its parent's tokenizer")


def _hidden(tokenizer: Any) -> set[int]:
    """The tokens that are left out of a reply's text."""
    return {*tokenizer.all_special_ids, *(i for i, t in tokenizer.added_tokens_decoder.items() if t.special)}


def _padding(own: Any, parent: Any) -> set[int]:
    """A padding token that training added behind the parent's vocabulary: one token alone hides no words."""
    return {own.pad_token_id} - {None} if (own.pad_token_id or 0) >= len(parent) else set()


def _spelled_otherwise(own: Any, parent: Any) -> str:
    """What two tokenizers spell differently, in words; "" where every text of the parent's tokens reads alike."""
    ids = range(len(parent))
    pairs = zip(own.convert_ids_to_tokens(ids), parent.convert_ids_to_tokens(ids), strict=True)
    if (first := next((i for i, (a, b) in enumerate(pairs) if a != b), None)) is not None:
        return f"token {first}"
    return "" if _joined(own) == _joined(parent) else "texts of several tokens"


READ = ("normalizer", "pre_tokenizer", "model", "post_processor")
"""Parts of a tokenizer by which a text becomes tokens."""


def _read_otherwise(own: Any, parent: Any) -> str:
    """What reads texts differently, by its name; "" where every prompt becomes the same tokens."""
    if own.chat_template != parent.chat_template:
        return "chat_template"
    if (theirs := _rules(parent)) is None or (ours := _rules(own)) is None:
        return "" if type(own) is type(parent) else "its class"
    padding = _padding(own, parent)
    if any(one not in theirs["added_tokens"] and one["id"] not in padding for one in ours["added_tokens"]):
        return "added_tokens"
    return next((part for part in READ if ours.get(part) != theirs.get(part)), "")


def _opening(tokenizer: Any) -> tuple[Any, ...]:
    """What every prompt is read behind, whether a template prints it or not, and what becomes of a template's marks."""
    return tokenizer.bos_token_id, tokenizer.split_special_tokens, encode_question(tokenizer, "?")


def _joined(tokenizer: Any) -> Any:
    """By what tokens become a text; spaces before full stops, which some leave out, hide no words."""
    rules = _rules(tokenizer)
    return type(tokenizer).__qualname__ if rules is None or rules["decoder"] is None else rules["decoder"]


def _rules(tokenizer: Any) -> dict[str, Any] | None:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    found: dict[str, Any] | None = None if backend is None else json.loads(backend.to_str())
    return found
