"""Whether the blocks of a family can be read: a tiny model of random weights tells, before a checkpoint is loaded."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import torch
from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, AutoModelForCausalLM, PreTrainedConfig

from uds_bench.checkpoints.anatomy import FamilyError, find_anatomy
from uds_bench.checkpoints.probe import verify
from uds_bench.checkpoints.source import attention_implementation, config_folder, read_config
from uds_bench.checkpoints.spec import CheckpointSpec
from uds_bench.errors import failures
from uds_bench.progress import hushed

LAYERS, VOCABULARY, EXPERTS = 3, 97, 8
MOST_WEIGHTS, LARGEST = 1 << 24, 2048
"""Numbers in a tiny model, and the largest number in its configuration: what is larger is left to loading."""
_LAYERS = re.compile(r"(^|_)layers?$")
_HEADS = re.compile(r"(^|_)(head|heads)$")
_EXPERTS = re.compile(r"experts$")
_TOKEN = re.compile(r"_(id|index)$")
_WIDTH = re.compile(r"(^|_)(size|dim|embd|model|inner|width)$")
_KEPT = {"head_dim", "state_size", "rotary_dim"}
"""Widths that do not grow with the number of heads."""

_refusals: dict[str, str] = {}
"""By tiny configuration, which most checkpoints of a run share."""
_told: dict[bytes, str] = {}
"""By what is written."""


def require_readable(spec: CheckpointSpec) -> None:
    """Refuse a checkpoint of a family whose blocks cannot be read, as loading it would.

    A tiny model is built from its configuration, with all that is said in it except sizes. If none can be built,
    nothing is refused: loading tells.

    Raises:
        FamilyError: What its blocks give is not what it computes with.
    """
    folder = config_folder(spec)
    written = (folder / "config.json").read_bytes()
    if written not in _told:
        _told[written] = _refusal(read_config(folder))
    if why := _told[written]:
        raise FamilyError(why)


def _refusal(config: Any) -> str:
    """Why a family is refused; "" where it is not, or where that takes its weights to tell."""
    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING:
        return f"family {config.model_type} is not supported: it writes no text by itself: use a causal language model"
    try:
        values = shrunk(config) | {"_name_or_path": ""}  # where it lies changes nothing
        key = json.dumps([config.model_type, values], sort_keys=True, default=str)
        if key not in _refusals:
            _refusals[key] = tried(type(config).from_dict(values))
        return _refusals[key]
    except failures():  # sizes that do not go together: each family says so in its own way
        return ""


def tried(small: Any) -> str:
    """Why the blocks of a model of a tiny configuration cannot be read; "" where they can, or it is not tiny."""
    kind: Any = AutoModelForCausalLM
    options = {"attn_implementation": attention_implementation(small), "dtype": torch.float32}
    with hushed(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        with torch.device("meta"):  # takes no memory
            empty = kind.from_config(small, **options)
        if sum(each.numel() for each in (*empty.parameters(), *empty.buffers())) > MOST_WEIGHTS:
            return ""
        model = kind.from_config(small, **options).eval()
        try:
            verify(model, find_anatomy(model))
        except FamilyError as error:
            return str(error)
    return ""


def shrunk(config: Any) -> dict[str, Any]:
    """The values of a configuration with fewer layers, heads, experts and tokens.

    Args:
        config: HF's, of a model with any parts beside its decoder.

    Returns:
        What its class builds a tiny configuration from. Only the decoder has `LAYERS` layers, so that nothing else is
        taken for its blocks.

    Example:
        >>> from transformers import LlamaConfig
        >>> small = shrunk(LlamaConfig())
        >>> [small[name] for name in ("num_hidden_layers", "num_attention_heads", "hidden_size", "vocab_size")]
        [3, 2, 256, 97]
    """
    text = config.get_text_config(decoder=True)
    return _smaller(config.to_dict(), text.num_hidden_layers, text, config)


def _smaller(values: dict[str, Any], count: int, decoder: Any, owner: Any) -> dict[str, Any]:
    """The same of one of its parts, `owner`; `count`: layers of the `decoder`."""
    heads = [value for name, value in values.items() if _HEADS.search(name) and _is_size(value)]
    share = math.gcd(*heads) if heads else 1
    if heads and share == max(heads):  # one head each would hide how they are laid out
        share = max(share // 2, 1)
    layers = LAYERS if owner is decoder else 1
    found: dict[str, Any] = {}
    for name, value in values.items():
        part = getattr(owner, name, None)
        if isinstance(part, PreTrainedConfig):
            value = _smaller(value, count, decoder, part)
        elif isinstance(value, list | tuple) and len(value) == count > layers:
            value = value[:layers]
        elif _is_size(value):
            value = min(_size(name, value, share, layers), LARGEST)
        found[name] = value
    return found


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _size(name: str, value: int, share: int, layers: int) -> int:
    """The value of one number of a configuration in the tiny one."""
    if _LAYERS.search(name):
        return min(value, layers)
    if name.endswith("vocab_size"):
        return min(value, VOCABULARY)
    if _TOKEN.search(name):
        return min(value, VOCABULARY - 1)
    if _EXPERTS.search(name):
        return min(value, EXPERTS)
    grows = _HEADS.search(name) or (_WIDTH.search(name) and name not in _KEPT)
    return value // share if grows and value % share == 0 else value
