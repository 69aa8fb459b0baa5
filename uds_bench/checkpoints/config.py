"""A model's configuration: the shape of the decoder, and what its family needs at load."""

import json
from pathlib import Path
from typing import Any

from transformers import CONFIG_MAPPING, AutoConfig

from uds_bench.checkpoints.source import config_folder, one_line
from uds_bench.checkpoints.spec import CheckpointSpec, Shape
from uds_bench.errors import CheckpointError


def shape(spec: CheckpointSpec) -> Shape:
    """Family, number of blocks, width and vocabulary of `spec`, from `config.json` alone."""
    config = read_config(config_folder(spec))
    text = config.get_text_config(decoder=True)
    try:
        return Shape(config.model_type, text.num_hidden_layers, text.hidden_size, text.vocab_size)
    except AttributeError as error:
        raise CheckpointError(
            f"checkpoint {spec.model}: family {config.model_type} is not a decoder ({one_line(error)}): use "
            "a causal language model"
        ) from error


def read_config(folder: Path) -> Any:
    """HF's configuration of `folder`; code that comes with a checkpoint is never run."""
    path = folder / "config.json"
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        family = raw["model_type"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{path}: not a model configuration with a model_type ({one_line(error)}): save it with save_pretrained"
        ) from error
    if family not in CONFIG_MAPPING:
        why = "needs code from its own repository, which is never run" if "auto_map" in raw else "is unknown"
        raise CheckpointError(f"{path}: model_type {family!r} {why}: use a family that transformers itself supports")
    try:
        return AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    except Exception as error:  # each family validates its own fields with its own errors
        raise CheckpointError(f"{path}: {one_line(error)}: mend the configuration") from error


def attention_implementation(config: Any) -> str:
    """`eager` where the family caps its attention logits, which `sdpa` leaves out; else `sdpa`."""
    capped = getattr(config.get_text_config(decoder=True), "attn_logit_softcapping", None) is not None
    return "eager" if capped else "sdpa"
