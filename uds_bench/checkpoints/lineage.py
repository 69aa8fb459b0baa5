"""What an adapter records of the base that it was trained on, held against the model that it is put on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from uds_bench.checkpoints.digests import weights_digest
from uds_bench.checkpoints.source import ADAPTER_CONFIG, HUB_ID, Folders
from uds_bench.checkpoints.spec import CheckpointSpec
from uds_bench.errors import CheckpointError


def require_its_base(spec: CheckpointSpec, folders: Folders) -> None:
    """Raise CheckpointError where an adapter names another base: one of the same shape would fit without a word.

    A folder that is still there is compared by its weights, a hub id by its name; of anything else nothing is known.
    """
    if folders.adapter is None:
        return
    named = _json(folders.adapter / ADAPTER_CONFIG).get("base_model_name_or_path")
    if not isinstance(named, str) or not named or named == spec.model:
        return
    base = Path(named).expanduser()
    if base.is_dir():
        known = weights_digest(base)
        other = bool(known) and _dtype(base) == _dtype(folders.model) and known != weights_digest(folders.model)
    else:
        hub = HUB_ID.fullmatch(named) and HUB_ID.fullmatch(spec.model) and not Path(spec.model).is_dir()
        other = bool(hub) and named.casefold() != spec.model.casefold()
    if other:
        raise CheckpointError(
            f"adapter {spec.adapter} was trained on {named}, and {spec.model} has other weights: name the base that it "
            f"was trained on, or correct base_model_name_or_path in its {ADAPTER_CONFIG}"
        )


def _dtype(folder: Path) -> Any:
    config = _json(folder / "config.json")
    return config.get("dtype", config.get("torch_dtype"))


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
