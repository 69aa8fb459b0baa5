"""Many texts encoded at once are each what a call of the tokenizer gives, whatever was asked of it before."""

from __future__ import annotations

import copy

import pytest
from trained_tokenizers import CORPUS, TOKENIZERS
from transformers import PreTrainedTokenizer

from uds_bench.facts.tokens import encode_many

TEXTS = [*CORPUS[:3], "", "Ossu", "Σίσυφος, 日本語 🙂", "a </s> within"]


@pytest.mark.parametrize(("kind", "bos"), sorted(TOKENIZERS))
def test_as_one_by_one(kind: str, bos: str) -> None:
    tokenizer = copy.deepcopy(TOKENIZERS[kind, bos])
    assert encode_many(tokenizer, TEXTS) == [tokenizer(text)["input_ids"] for text in TEXTS]


def test_padding_and_cutting_of_an_earlier_call_are_forgotten() -> None:
    tokenizer = copy.deepcopy(TOKENIZERS["bytes", "added"])
    tokenizer.pad_token = "</s>"
    expected = [tokenizer(text)["input_ids"] for text in TEXTS]
    tokenizer(TEXTS, padding=True, truncation=True, max_length=4)
    assert encode_many(tokenizer, TEXTS) == expected
    assert len(set(map(len, expected))) > 2


def test_a_tokenizer_without_a_backend() -> None:
    class Letters(PreTrainedTokenizer):
        vocab_size = 128

        def get_vocab(self) -> dict[str, int]:
            return {chr(at): at for at in range(128)}

        def _tokenize(self, text: str, **_: object) -> list[str]:
            return list(text)

        def _convert_token_to_id(self, token: str) -> int:
            return ord(token)

        def _convert_id_to_token(self, index: int) -> str:
            return chr(index)

    assert encode_many(Letters(), ["ab", "c"]) == [[97, 98], [99]]
    assert encode_many(Letters(), []) == []
