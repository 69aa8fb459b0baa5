"""A model of 13 thousand weights that has learned 24 answers, and helpers to ask what it still knows."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from uds_bench.methods.examples import Example, epochs, pad
from uds_bench.methods.forward import answer_nll
from uds_bench.methods.registry import Data, Method, unlearn
from uds_bench.methods.training import Optimisation, train

VOCABULARY = 40


def tiny_llama(seed: int = 0) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=32,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
        )
    )


def drawn(seed: int, count: int) -> list[Example]:
    """Random prompts of five tokens with random answers of four to six."""
    generator = torch.Generator().manual_seed(seed)

    def tokens(n: int) -> list[int]:
        return torch.randint(3, VOCABULARY, (n,), generator=generator).tolist()

    return [Example((1, *tokens(4), *tokens(3 + i % 3), 2), 5) for i in range(count)]


def mean_nll(model: Any, examples: Sequence[Example]) -> float:
    with torch.no_grad():
        return float(answer_nll(model, pad(examples)))


@dataclass(frozen=True)
class Knowledge:
    """Nats per answer token on what was to be forgotten, what was to be kept, and what can be said instead."""

    forget: float
    retain: float
    refusals: float
    alternates: float


@dataclass
class Student:
    """A trained model and what it was trained on; `after(method)` unlearns a copy of it."""

    model: Any
    data: Data

    def measure(self, model: Any) -> Knowledge:
        data = self.data
        return Knowledge(*(mean_nll(model, e) for e in (data.forget, data.retain, data.refusals, data.alternates)))

    def unlearned(self, method: Method) -> Any:
        model = copy.deepcopy(self.model)
        unlearn(model, self.data, method)
        return model

    def after(self, method: Method) -> Knowledge:
        return self.measure(self.unlearned(method))


def trained() -> Student:
    forget, retain = drawn(1, 12), drawn(2, 12)
    refusals = [Example((*e.ids[: e.prompt_length], 5, 6, 2), e.prompt_length) for e in forget]
    said = [e.ids[e.prompt_length :] for e in drawn(5, 12)]
    alternates = [Example((*e.ids[: e.prompt_length], *other), 5) for e, other in zip(forget, said, strict=True)]
    model, batches = tiny_llama(), epochs([*forget, *retain], 8, 60, torch.Generator().manual_seed(0))
    train(model, batches, answer_nll, Optimisation(1e-2, schedule="cosine"), 180)
    return Student(model, Data(forget, retain, refusals, alternates))
