"""What unlearning leaves on disk: weights or adapter, tokenizer, and the record of how they came about."""

from __future__ import annotations

import json
import secrets
import shutil
from pathlib import Path
from typing import Any

from uds_bench.errors import ConfigurationError
from uds_bench.storage import require_writable, write_atomic

RECORD = "unlearning.json"


def require_new(folder: Path, option: str) -> Path:
    """A folder that can be made and is not there yet; ConfigurationError where it is, or cannot be made."""
    if folder.exists():
        raise ConfigurationError(f"{option}: {folder} exists and is not overwritten: name another folder")
    require_writable(folder.absolute().parent, option)
    return folder


def save(folder: Path, model: Any, tokenizer: Any, record: dict[str, Any]) -> None:
    """Write a checkpoint into a new folder, whole or not at all: built beside its place and moved there.

    Of a PEFT model the adapter alone is saved, to be named beside the model that it was trained on; of any other the
    weights and the tokenizer. `record` (strict JSON) goes into `unlearning.json`.
    """
    draft = folder.absolute().with_name(f".{folder.name}.{secrets.token_hex(8)}")
    try:
        draft.mkdir(parents=True)
        model.save_pretrained(draft)
        if hasattr(model, "disable_adapter"):
            (draft / "README.md").unlink(missing_ok=True)  # PEFT's form of a model card, not filled in
        else:
            tokenizer.save_pretrained(draft)
        write_atomic(draft / RECORD, json.dumps(record, indent=1, allow_nan=False).encode() + b"\n")
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
