"""Variants of the same prompts, read together: each goes on as it does when it is read alone."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from families import FAMILIES, PROBE, tiny_tokenizer

from uds_bench.checkpoints import find_anatomy
from uds_bench.inference import shared_prompts
from uds_bench.inference.generation import continue_greedily
from uds_bench.inference.shared_prompts import continue_variants

TOKENIZER = tiny_tokenizer()
PROMPTS = [TOKENIZER(text)["input_ids"] for text in (PROBE, "Answer:", "Where does Lena live?", "x")]
ENDINGS = ("", " one", " and a longer one", "\n\n")
LIMITS = (9, 4, 12, 1)


def loaded(family: str) -> Any:
    model = FAMILIES[family](len(TOKENIZER), seed=3).requires_grad_(False)
    anatomy = find_anatomy(model)
    return SimpleNamespace(model=model, anatomy=anatomy, tokenizer=TOKENIZER, device=torch.device("cpu"))


def variants() -> list[list[list[int]]]:
    endings = [TOKENIZER(text, add_special_tokens=False)["input_ids"] for text in ENDINGS]
    return [[[*prompt, *ending] for prompt in PROMPTS] for ending in endings]


@cache
def told_alone(family: str) -> tuple[Any, list[Any]]:
    checkpoint = loaded(family)
    return checkpoint, [continue_greedily(checkpoint, rows, n) for rows, n in zip(variants(), LIMITS, strict=True)]


@pytest.mark.parametrize("batch_size", [1, 3, 8])
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_each_goes_on_as_alone(family: str, batch_size: int) -> None:
    checkpoint, alone = told_alone(family)
    found = continue_variants(checkpoint, variants(), LIMITS, batch_size)
    for ours, expected in zip(found, alone, strict=True):
        assert sum(a != b for a, b in zip(ours, expected, strict=True)) <= 1  # a tie of two tokens within rounding


def test_what_is_shared_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = loaded("llama")
    read: list[int] = []
    checkpoint.model.register_forward_pre_hook(
        lambda _module, _args, kwargs: read.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    continue_variants(checkpoint, variants(), (1,) * len(ENDINGS))
    together, read[:] = sum(read), []
    monkeypatch.setattr(shared_prompts, "_remembers", lambda _: False)
    continue_variants(checkpoint, variants(), (1,) * len(ENDINGS))
    assert 2 * together < sum(read)


def test_variants_that_share_nothing_are_read_alone() -> None:
    checkpoint, other = loaded("llama"), [[5, 6, 7], [8, 9]]
    plain = [[[1, 2, 3], [4]], other]
    found = continue_variants(checkpoint, plain, (5, 5))
    assert found == [continue_greedily(checkpoint, rows, 5) for rows in plain]
