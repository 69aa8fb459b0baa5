"""Checkpoints stored as codes: those of compressed-tensors are the weights that they stand for, others are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from families import PROBE
from safetensors.torch import load_file, save_file

from uds_bench.audits.localization.evaluator import folder as weights_folder
from uds_bench.audits.preflight import preflight
from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.checkpoints.loading import inspect
from uds_bench.errors import CheckpointError, ConfigurationError, ExtraError

BITS = {"int-quantized": 8, "pack-quantized": 4}
Codes = dict[str, torch.Tensor]


def packed(codes: torch.Tensor) -> torch.Tensor:
    """Eight codes of four bits in a word, the first in its lowest bits, each 8 more than it is."""
    rows = []
    for row in codes.tolist():
        words = [
            sum((code + 8) << (4 * at) for at, code in enumerate(row[start : start + 8]))
            for start in range(0, len(row), 8)
        ]
        rows.append([word - 2**32 if word >= 2**31 else word for word in words])
    return torch.tensor(rows, dtype=torch.int32)


def compress(folder: Path, form: str) -> Codes:
    """Writes every projection of a checkpoint as whole numbers with a scale a row; gives what all weights stand for."""
    weights: Codes = {}
    for file in sorted(folder.glob("*.safetensors")):
        weights |= load_file(file)
        file.unlink()
    for index in folder.glob("*.index.json"):
        index.unlink()
    stored, meant, top = {}, dict(weights), 2 ** (BITS[form] - 1) - 1
    for name, weight in weights.items():
        if not name.endswith("_proj.weight"):
            stored[name] = weight
            continue
        scale = weight.abs().amax(1, keepdim=True) / top
        codes = torch.round(weight / scale).to(torch.int8)
        meant[name] = codes * scale
        stored[f"{name}_scale"] = scale
        if form == "int-quantized":
            stored[name] = codes
        else:
            stored[f"{name}_packed"], stored[f"{name}_shape"] = packed(codes), torch.tensor(weight.shape)
    save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
    how = {"num_bits": BITS[form], "type": "int", "symmetric": True, "strategy": "channel"}
    configure(
        folder,
        quant_method="compressed-tensors",
        format=form,
        quantization_status="compressed",
        ignore=["lm_head"],
        config_groups={"group_0": {"targets": ["Linear"], "weights": how}},
    )
    return meant


def configure(folder: Path, **values: Any) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"quantization_config": values}))


@pytest.mark.parametrize("form", BITS)
def test_codes_are_the_weights_that_they_stand_for(form: str, llama: Path) -> None:
    meant = compress(llama, form)
    spec = CheckpointSpec(str(llama))
    assert preflight({"npo": spec}, ["npo"]) == {}
    found = load(spec)
    weights = dict(found.model.named_parameters())
    for name, weight in weights.items():
        torch.testing.assert_close(weight, meant[name], rtol=1e-6, atol=1e-7)
    ids = found.tokenizer(PROBE, return_tensors="pt")
    with torch.no_grad():
        assert torch.isfinite(found.model(**ids).logits).all()
    assert load(CheckpointSpec(str(llama), dtype="bfloat16")).model.dtype == torch.bfloat16


def test_a_scale_that_is_no_number_is_named(llama: Path) -> None:
    compress(llama, "int-quantized")
    stored = load_file(llama / "model.safetensors")
    stored["model.layers.0.mlp.up_proj.weight_scale"][0] = torch.nan
    save_file(stored, llama / "model.safetensors", metadata={"format": "pt"})
    for look in (load, inspect):
        with pytest.raises(CheckpointError, match=r"up_proj\.weight\w* holds NaN or infinity"):
            look(CheckpointSpec(str(llama)))


@pytest.mark.parametrize("form", ["gptq", "awq", "bitsandbytes", "fp8"])
def test_other_forms_are_refused_before_they_are_loaded(form: str, llama: Path) -> None:
    configure(llama, quant_method=form, bits=4)
    (told,) = preflight({"npo": CheckpointSpec(str(llama))}, ["npo"]).values()
    assert f"is stored quantized by {form} (quantization_config in" in told
    assert "name the full weights" in told
    assert "\n" not in told


@pytest.mark.parametrize(("given", "told"), [("quantization", "quantization nf4"), ("adapter", "the adapter ")])
def test_nothing_is_put_on_codes(given: str, told: str, llama: Path, tmp_path: Path) -> None:
    from uds_bench.checkpoints.compressed import require_readable_form
    from uds_bench.checkpoints.source import read_config

    configure(llama, quant_method="compressed-tensors")
    spec = CheckpointSpec(str(llama), **{given: "nf4" if given == "quantization" else str(tmp_path)})
    with pytest.raises(CheckpointError, match=f"{told}.* goes on full weights alone"):
        require_readable_form(read_config(llama), llama, spec)


def test_a_missing_package_is_named_with_its_extra(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uds_bench.extras.is_installed", lambda package: package != "compressed_tensors")
    configure(llama, quant_method="compressed-tensors")
    with pytest.raises(ExtraError, match=r"needs compressed_tensors, which is missing: pip install 'uds-bench\[compr"):
        inspect(CheckpointSpec(str(llama)))


def test_weights_as_they_lie_in_files_are_not_codes(llama: Path) -> None:
    configure(llama, quant_method="compressed-tensors")
    with pytest.raises(ConfigurationError, match="is stored by compressed-tensors: name the full weights"):
        weights_folder(CheckpointSpec(str(llama)))
