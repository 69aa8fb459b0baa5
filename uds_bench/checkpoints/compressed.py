"""Checkpoints whose files hold codes: those of compressed-tensors are loaded as the weights that these stand for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from uds_bench.checkpoints.spec import CheckpointSpec
from uds_bench.errors import CheckpointError
from uds_bench.extras import require

READ = "compressed-tensors"
"""The one form that a package puts back to weights on any processor."""


def stored_form(config: Any) -> str | None:
    """The method by which a checkpoint is stored quantized, as its configuration has it; None if it is not.

    Example:
        >>> from types import SimpleNamespace
        >>> stored_form(SimpleNamespace(quantization_config={"quant_method": "gptq"}))
        'gptq'
    """
    found = getattr(config, "quantization_config", None)
    if found is None:
        return None
    return str(_values(found).get("quant_method") or "a method that it does not name")


def require_readable_form(config: Any, folder: Path, spec: CheckpointSpec) -> None:
    """Raises CheckpointError for a form that is not read, and for quantization or an adapter on codes. Raises
    ExtraError if the package is missing."""
    form = stored_form(config)
    if form is None:
        return
    stored = f"checkpoint {spec.model} is stored quantized by {form} (quantization_config in {folder / 'config.json'})"
    if form != READ:
        raise CheckpointError(
            f'{stored}: name the full weights, with quantization = "nf4" or "int8" where wanted, or a copy stored by '
            f"{READ}"
        )
    for what, value in (("quantization", spec.quantization), ("the adapter", spec.adapter)):
        if value is not None:
            raise CheckpointError(f"{stored}: {what} {value} goes on full weights alone: name these, or leave it out")
    require(f"{spec.model}, stored by {READ},", "compressed_tensors")


def load_as_weights(config: Any) -> None:
    """Have transformers put codes back to the weights that they stand for as it loads a model of this configuration."""
    if stored_form(config) is not None:
        config.quantization_config = {**_values(config.quantization_config), "dequantize": True}


def _values(found: Any) -> dict[str, Any]:
    return dict(found) if isinstance(found, dict) else dict(found.to_dict())
