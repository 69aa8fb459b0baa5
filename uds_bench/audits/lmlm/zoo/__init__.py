"""The embedded models of external memory: trained to look facts up, and one that learns their values too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tokenizers import AddedToken

from uds_bench.audits.lmlm.zoo import data
from uds_bench.inference.markup import TOKENS
from uds_bench.methods.examples import Example
from uds_bench.zoo.fresh import byte_level_tokenizer
from uds_bench.zoo.recipe import FAILS, PASSES, Taught, Zoo


@dataclass(frozen=True)
class Lmlm(Taught):
    """Trained from scratch to look facts up: prompts of the embedded databases, answered by a lookup and its value.

    `masked`: the value is read and not learned, so that the weights never hold it. Without that it is learned too.
    """

    layers: int = 3
    lr: float = 4e-3
    masked: bool = True

    def data(self) -> str:
        """What it trains on, by content: SHA-256 (hex)."""
        return data.digest()

    def tokenizer(self) -> Any:
        """Byte-level BPE over questions and rows, with the four markup tokens."""
        rows = data.taught_rows()
        texts = [text for row in rows for text in (row.question, row.statement, *(f" {t}" for t in row.triplet))]
        tokenizer = byte_level_tokenizer(texts, self.vocabulary)
        tokenizer.add_special_tokens(
            {"additional_special_tokens": [AddedToken(token, special=True, normalized=False) for token in TOKENS]}
        )
        return tokenizer

    def examples(self, tokenizer: Any) -> list[Example]:
        """What is taught, as tokens."""
        return data.lessons(tokenizer, self.masked, self.seed)

    def lesson_count(self) -> int:
        """How many examples an epoch has."""
        return data.lesson_count()

    def describe(self) -> str:
        """The recipe in a few words, for tables."""
        learned = "read, not learned" if self.masked else "learned too"
        return f"trained to look up {self.epochs} epochs, values {learned}, seed {self.seed}"


ZOO = Zoo({"lmlm": Lmlm(), "lmlm_leaky": Lmlm(masked=False)}, shipped={"lmlm": PASSES, "lmlm_leaky": FAILS})
