"""The files on a card are those that were judged."""

from __future__ import annotations

from pathlib import Path

from families import FAMILIES, save_adapter, save_checkpoint, tiny_tokenizer

from uds_bench.cards.files import _read
from uds_bench.checkpoints import CheckpointSpec


def test_of_an_adapters_folder_a_card_shows_what_is_read(tmp_path: Path) -> None:
    """What lies beside it would stand in the place of the model's own files."""
    model = save_checkpoint(tmp_path / "model", FAMILIES["llama"](len(tiny_tokenizer()), seed=3), tiny_tokenizer())
    adapter = save_adapter(tmp_path / "adapter")
    for name in ("model.safetensors", "tokenizer.json", "weights.PKL"):
        (adapter / name).write_bytes(b"{}")
        (model / "beside.Pt").write_bytes(b"{}")
    shown = dict(_read(CheckpointSpec(str(model), adapter=str(adapter))))
    assert {at for at in shown if at.startswith(":")} == {
        ":adapter/adapter_config.json",
        ":adapter/adapter_model.safetensors",
    }
    assert all(file.parent == model for at, file in shown.items() if at.startswith("/"))
    assert "/tokenizer.json" in shown
    assert "/beside.Pt" not in shown
    assert any(at.endswith(".safetensors") for at in shown if at.startswith("/"))
