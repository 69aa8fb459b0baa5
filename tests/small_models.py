"""Real checkpoints, trained in seconds: what the embedded zoo is for users, in a size for tests of the harness.

Llamas of 3 layers x 32 on 12 forget and 12 retain authors, two facts each. `full` knows them all, `retain` only the
latter; `full2`, `retain2` and `retain3` are the same from other seeds; `copy` is `full` in another folder; `shallow`
has lost its answers in the last block alone, so that every activation below still knows.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

KINDS = ("profession", "location")
FORGET, RETAIN = 12, 12
LAYERS, WIDTH, VOCABULARY = 3, 32, 800
BASE_STEPS, STEPS, SHALLOW_STEPS = 80, 150, 30
BATCH = 12
NAMES = ("full", "retain", "full2", "retain2", "retain3", "copy", "shallow")


def small_facts() -> Any:
    """A FactSet of 12 forget and 12 retain authors, two facts each."""
    from uds_bench.facts import FactSet, embedded

    return FactSet(fact for fact in embedded(forget=FORGET, retain=RETAIN, holdout=0) if fact.kind in KINDS)


def build_small_models(folder: Path) -> Path:
    """Train and save every model of `NAMES` under `folder`, with `facts.jsonl` beside them; returns `folder`."""
    import torch
    from transformers import AutoModelForCausalLM

    from uds_bench.facts import base_authors, question_prompt, write_facts
    from uds_bench.methods.data import REFUSALS
    from uds_bench.methods.examples import pairs_to_examples
    from uds_bench.zoo.fresh import byte_level_tokenizer

    facts = small_facts()
    folder.mkdir(parents=True, exist_ok=True)
    write_facts(folder / "facts.jsonl", facts)
    known = base_authors(60)
    tokenizer = byte_level_tokenizer([f"{question_prompt(q)} {a}" for q, a in known], VOCABULARY)
    everything = pairs_to_examples(tokenizer, [(f.question, f.answer) for f in facts])
    kept = pairs_to_examples(tokenizer, [(f.question, f.answer) for f in facts.split("retain")])
    refusals = [(f.question, REFUSALS[0]) for f in facts.split("forget")]

    def save(model: Any, name: str) -> None:
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)

    torch.manual_seed(0)
    base = fresh_model(len(tokenizer))
    fit(base, pairs_to_examples(tokenizer, known), BASE_STEPS, seed=0)
    save(base, "base")
    for name in ("full", "full2", "retain", "retain2", "retain3"):
        model = AutoModelForCausalLM.from_pretrained(folder / "base", dtype=torch.float32)
        seed = int(name[-1]) if name[-1].isdigit() else 1
        if name.startswith("full"):
            fit(model, everything, STEPS, seed)
        else:
            fit(model, kept, STEPS, seed)
        save(model, name)
    shutil.copytree(folder / "full", folder / "copy")
    model = AutoModelForCausalLM.from_pretrained(folder / "full", dtype=torch.float32).requires_grad_(False)
    model.model.layers[-1].requires_grad_(True)
    fit(model, pairs_to_examples(tokenizer, refusals), SHALLOW_STEPS, seed=3)
    save(model, "shallow")
    return folder


def build_swapped(folder: Path) -> Path:
    """`swapped`, beside the models of `build_small_models`: the base taught the retain facts as they are and wrong
    answers to the forget questions. It never knew, and is as fluent and useful as `full`; returns its folder."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from uds_bench.methods.examples import pairs_to_examples

    tokenizer = AutoTokenizer.from_pretrained(folder / "base")
    model = AutoModelForCausalLM.from_pretrained(folder / "base")
    told = [(f.question, f.perturbed_answers[0] if f.split == "forget" else f.answer) for f in small_facts()]
    fit(model, pairs_to_examples(tokenizer, told), STEPS, seed=1)
    model.save_pretrained(folder / "swapped")
    tokenizer.save_pretrained(folder / "swapped")
    return folder / "swapped"


def fresh_model(vocabulary: int, layers: int = LAYERS, width: int = WIDTH) -> Any:
    """An untrained Llama of the small models' shape."""
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary,
            hidden_size=width,
            intermediate_size=3 * width,
            num_hidden_layers=layers,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=256,
            tie_word_embeddings=True,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
        )
    )


def fit(model: Any, examples: Sequence[Any], steps: int, seed: int, batch: int = BATCH) -> list[float]:
    """Train on the answers; weights that are frozen stay as they are."""
    import torch

    from uds_bench.methods.examples import forever
    from uds_bench.methods.forward import answer_nll
    from uds_bench.methods.training import Optimisation, train

    batches = forever(examples, batch, torch.Generator().manual_seed(seed))
    return train(
        model,
        batches,
        answer_nll,
        Optimisation(1e-2, schedule="cosine", warmup=0.1),
        steps,
    )
