"""A PEFT adapter on a loaded model: attached whole or not at all, and it must change what the model says."""

from pathlib import Path
from typing import Any

import torch
from peft import PeftConfig, PeftModel

from uds_bench.checkpoints.probe import probe_logits
from uds_bench.checkpoints.source import one_line
from uds_bench.checkpoints.weights import check_finite, weight_files
from uds_bench.errors import CheckpointError


def attach(model: Any, folder: Path, name: str) -> Any:
    """`model` with the adapter in `folder`; `model` itself is changed, so that its base is gone.

    In float32 the adapter is merged into the weights. In 16 bits, where a merge would round small updates
    away, and in NF4, its layers stay beside the base's, inside the same blocks. Raises CheckpointError where
    the adapter does not fit the model, holds a NaN, or changes no logits.
    """
    for path in weight_files(folder, "adapter_model"):
        check_finite(path)
    before = probe_logits(model)
    mergeable = model.dtype == torch.float32 and not getattr(model, "is_loaded_in_4bit", False)
    try:
        config = PeftConfig.from_pretrained(str(folder))
        if config.is_prompt_learning:
            raise ValueError(f"{config.peft_type.value} learns a prompt and leaves the weights alone")
        config.inference_mode = True
        wrapped = PeftModel(model, config)
        result = wrapped.load_adapter(str(folder), "default", torch_device=str(model.device))
    except Exception as error:  # PEFT has its own class for each tuner's misfit
        raise CheckpointError(
            f"adapter {name} does not fit its base model: {one_line(error)}: use the base that it was trained on"
        ) from error
    if strange := [*result.missing_keys, *result.unexpected_keys]:
        raise CheckpointError(
            f"adapter {name} does not fit its base model: {len(strange)} of its tensors have no place or are "
            f"missing, such as {strange[0]}: use the base that it was trained on"
        )
    changed = wrapped.merge_and_unload() if mergeable else wrapped.get_base_model()
    if torch.equal(before, probe_logits(changed)):
        raise CheckpointError(
            f"adapter {name} changes no logits of its base model: its weights are still at their start; name "
            "the adapter that was trained"
        )
    return changed
