"""Where likelihoods of sentences come from: a checkpoint, or a file of what somebody else's model said of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uds_bench.audits.association.scoring import Likelihoods
from uds_bench.checkpoints import Checkpoint
from uds_bench.errors import FactError
from uds_bench.facts.records import read_records
from uds_bench.facts.tokens import encode_many
from uds_bench.inference.sentences import sentence_nll

OnTokens = Callable[[list[list[int]]], None]
"""Is told the token ids of sentences."""


def of_checkpoint(checkpoint: Checkpoint, seen: OnTokens = lambda _: None) -> Likelihoods:
    """A checkpoint's own; a tokenizer without a first token of its own leaves every sentence's first one unscored."""
    tokenizer = checkpoint.tokenizer

    def likelihoods(sentences: Sequence[str]) -> NDArray[np.float64]:
        encoded = encode_many(tokenizer, sentences)
        seen(encoded)
        return sentence_nll(checkpoint, encoded)

    return likelihoods


def require_known(checkpoint: Checkpoint, names: Sequence[str]) -> None:
    """Raises FactError for the first name in which the tokenizer sees letters that it does not know."""
    unknown = checkpoint.tokenizer.unk_token_id
    if unknown is None:
        return
    for name, ids in zip(names, checkpoint.tokenizer(list(names), add_special_tokens=False)["input_ids"], strict=True):
        if unknown in ids:
            raise FactError(f"the name {name!r} has letters that the tokenizer does not know: leave the person out")


def read_likelihoods(path: str | Path) -> Likelihoods:
    """From a file of {"sentence": TEXT, "logprob": NUMBER} a line, the log-probability of the whole sentence, natural
    log: for models whose weights nobody has.

    Raises FactError with file and line for a row that is none, for a sentence that is told twice otherwise, and for the
    first that is asked for and not there.
    """
    known: dict[str, float] = {}
    for record in read_records(path):
        record.known(("sentence", "logprob"))
        sentence = record.text("sentence")
        logprob: Any = record.values.get("logprob")
        if type(logprob) not in (int, float) or not math.isfinite(logprob) or logprob > 0:
            raise record.error(f"key 'logprob' is {logprob!r}; it must be a number, 0 or less")
        if known.setdefault(sentence, -float(logprob)) != -float(logprob):
            raise record.error(f"{sentence!r} has another logprob above: keep one")

    def likelihoods(sentences: Sequence[str]) -> NDArray[np.float64]:
        for sentence in sentences:
            if sentence not in known:
                raise FactError(f"{path}: no logprob of {sentence!r}: every candidate must be scored; add it")
        return np.array([known[sentence] for sentence in sentences])

    return likelihoods
