"""A PEFT adapter: its base is the model that it is put on, it is attached whole, and it changes what is said."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from uds_bench.checkpoints.bounded import numbers
from uds_bench.checkpoints.digests import weights_digest
from uds_bench.checkpoints.patterns import patterns
from uds_bench.checkpoints.probe import probe_logits
from uds_bench.checkpoints.source import ADAPTER_CONFIG, HUB_ID, Folders
from uds_bench.checkpoints.spec import CheckpointSpec
from uds_bench.checkpoints.weights import alone, check_finite, tensors, weight_files
from uds_bench.children import Child, ChildError
from uds_bench.errors import CheckpointError, failures, one_line
from uds_bench.storage import load_json

FORMS = frozenset({"LORA", "ADALORA", "IA3", "LOHA", "LOKR", "OFT", "BOFT", "HRA", "VERA", "LN_TUNING"})
"""Adapters all of whose weights are in their own file."""
STARTS = re.compile(r"[a-z_]+")
"""How LoRA's weights, or its base's, are made before the file is read: never by chance, as by `pissa_niter_4`."""
MOST = 10_000
_MAY_BE_LARGE = frozenset({"projection_prng_key", "total_step", "tinit", "tfinal", "deltaT"})
"""Seeds, and steps of a training that is over."""
SECONDS = 5
"""Seconds of computing that the patterns of an adapter may take."""


def attach(model: Any, folder: Path, name: str) -> Any:
    """`model` with the adapter in `folder`; `model` itself is changed, so that its base is gone.

    In float32 the adapter is merged into the weights. In 16 bits, where a merge would round small updates
    away, and in fewer bits, its layers stay beside the base's, inside the same blocks. Raises CheckpointError where
    the adapter does not fit the model, holds a NaN, or changes no logits.
    """
    from peft import PeftConfig, PeftModel  # takes seconds to import

    files = weight_files(folder, "adapter_model")
    for path in files:
        check_finite(path)
    before = probe_logits(model)
    mergeable = model.dtype == torch.float32 and not getattr(model, "is_quantized", False)
    try:
        _require_quick_patterns(folder, model)
        with alone(folder, [folder / ADAPTER_CONFIG, *files]) as place:
            config = PeftConfig.from_pretrained(str(place))
            if why := next(_departures(config), ""):
                raise CheckpointError(f"adapter {name}: {why}: merge it (merge_and_unload) and save the model")
            _require_ranks(config, files)
            config.inference_mode = True
            wrapped = PeftModel(model, config)
            result = wrapped.load_adapter(str(place), "default", torch_device=str(model.device))
    except CheckpointError:
        raise
    except failures() as error:  # PEFT has its own class for each tuner's misfit
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


def _departures(config: Any) -> Iterator[str]:
    """The ways in which an adapter is not just a change of the base's weights by its own file."""
    kind = config.peft_type.value
    if config.is_prompt_learning:
        yield f"{kind} learns a prompt and leaves the weights alone"
    if kind not in FORMS:
        yield f"{kind} is none of {', '.join(sorted(FORMS))}"
    if getattr(config, "alora_invocation_tokens", None):
        yield "alora_invocation_tokens: it acts behind some tokens only"
    if getattr(config, "layer_replication", None):
        yield "layer_replication: it has other layers than its base"
    start = getattr(config, "init_lora_weights", None)
    if isinstance(start, str) and not STARTS.fullmatch(start):
        yield f"init_lora_weights: {start!r} is drawn by chance"
    for key, number in numbers(config.to_dict()):
        if number > MOST and key not in _MAY_BE_LARGE:
            yield f"{key} is more than {MOST}"


def _require_ranks(config: Any, files: Sequence[Path]) -> None:
    """Raises ValueError for a rank beyond any dimension of the tensors: PEFT would make weights of that size first."""
    ranks = [*(getattr(config, key, None) or 0 for key in ("r", "init_r"))]
    ranks += (getattr(config, "rank_pattern", None) or {}).values()
    held = [t for file in files for _, t in tensors(file) if t.numel()]
    most = max((max(t.shape, default=0) for t in held), default=0)
    if max(ranks) > most:
        raise ValueError(f"rank {max(ranks):.3g} is more than any dimension of its tensors")


def _require_quick_patterns(folder: Path, model: Any) -> None:
    """Raises ValueError for a pattern that takes for ever to match: PEFT would match it here."""
    if slow := list(patterns(_json(folder / ADAPTER_CONFIG))):
        names = [name for kind in (model.named_modules(), model.named_parameters()) for name, _ in kind]
        child = Child("uds_bench.checkpoints.patterns:match", SECONDS)
        try:
            child.ask(slow, names)
        except ChildError as error:
            raise ValueError(f"a pattern in {ADAPTER_CONFIG} cannot be matched ({error}), write names") from None
        finally:
            child.close()


def require_its_base(spec: CheckpointSpec, folders: Folders) -> None:
    """Raise CheckpointError where an adapter names another base: one of the same shape would fit without a word.

    A folder that is still there is compared by its weights, a hub id by its name; of anything else nothing is known.
    """
    if folders.adapter is None:
        return
    named = _json(folders.adapter / ADAPTER_CONFIG).get("base_model_name_or_path")
    if not isinstance(named, str) or not named or named == spec.model:
        return
    base = _folder(named)
    if base is not None:
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


def _folder(named: str) -> Path | None:
    try:
        path = Path(named).expanduser()
        return path if path.is_dir() else None
    except (OSError, RuntimeError):  # longer than any name, or the home of nobody
        return None


def _dtype(folder: Path) -> Any:
    config = _json(folder / "config.json")
    return config.get("dtype", config.get("torch_dtype"))


def _json(path: Path) -> dict[str, Any]:
    try:
        found = load_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
