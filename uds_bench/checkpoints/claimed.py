"""The size that a configuration claims of a model, compared with its files before a library makes all of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from uds_bench.checkpoints.compressed import stored_form
from uds_bench.checkpoints.spec import CheckpointSpec
from uds_bench.checkpoints.weights import weight_count
from uds_bench.errors import CheckpointError, failures
from uds_bench.progress import hushed
from uds_bench.storage import load_json

TIMES, TIMES_IN_CODES = 2, 16
"""How many times as large as its files a model may be: files of codes hold several weights in a number."""
SPARE = 1 << 26
"""Numbers beside these, such as masks and angles that no file holds."""


def require_held(config: Any, files: Sequence[Path], spec: CheckpointSpec) -> None:
    """Raises CheckpointError where a configuration tells of far more weights than the files hold: HF would make them
    all before it missed any."""
    held, claimed = sum(map(weight_count, files)), sum(_numbers(config))
    times = TIMES if stored_form(config) is None else TIMES_IN_CODES
    if claimed > times * held + SPARE:
        raise CheckpointError(
            f"checkpoint {spec.model}: config.json tells of {claimed:.2g} weights, and its files hold {held:.2g}: "
            "check that config.json belongs to these weights"
        )


def inner_weights(config: Any) -> int:
    """How many weights a model has beside its embeddings and its head.

    Args:
        config: Its configuration, as transformers reads it.

    Returns:
        Weights, 1 and above; 0 where transformers can make no such model.

    Example:
        >>> from transformers import LlamaConfig
        >>> inner_weights(LlamaConfig(vocab_size=9, hidden_size=4, intermediate_size=8, num_hidden_layers=1,
        ...     num_attention_heads=2, tie_word_embeddings=True))
        172
    """
    return _numbers(config)[0]


def _numbers(config: Any) -> tuple[int, int, int]:
    family: Any = type(config)
    return _claimed(family, config.to_json_string(use_diff=False))


@lru_cache(maxsize=64)
def _claimed(family: Any, written: str) -> tuple[int, int, int]:
    """Counts of the numbers of the model that a configuration describes: weights within, those of embeddings and head,
    and buffers. Counting takes no memory of their size. They are 0 if no model can be made: whoever loads it says
    why."""
    maker: Any = AutoModelForCausalLM
    try:
        with hushed(), torch.device("meta"):
            model = maker.from_config(family.from_dict(load_json(written)))
            ends = [
                one.weight for one in (model.get_input_embeddings(), model.get_output_embeddings()) if one is not None
            ]
            every, outer = (sum({id(one): one.numel() for one in of}.values()) for of in (model.parameters(), ends))
            return every - outer, outer, sum(one.numel() for one in model.buffers())
    except failures():
        return 0, 0, 0
