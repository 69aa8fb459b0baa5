"""Where a checkpoint's files are: a local folder, or a hub id through the hub's cache; safetensors only."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import huggingface_hub
from huggingface_hub import constants
from huggingface_hub.errors import (
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from transformers import CONFIG_MAPPING, AutoConfig

from uds_bench.checkpoints.bounded import require_bounded, require_small
from uds_bench.checkpoints.settings import require_own, settings_files
from uds_bench.checkpoints.spec import EMBEDDED, CheckpointSpec, Shape
from uds_bench.errors import CheckpointError, did_you_mean, failures, one_line
from uds_bench.progress import hushed
from uds_bench.storage import load_json

ADAPTER_CONFIG = "adapter_config.json"
TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model")

_FETCHED = ("*.safetensors", "*.json", "*.jinja", "*.model", "merges.txt", "vocab.txt")
_SKIPPED = ("*/*", "consolidated*")  # other formats' copies of the same weights
INDICES = "*.safetensors.index.json"
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
MOST_PARTS = 10_000
_PARTS = re.compile(r"(^|_)(layer|block|expert|head|group|depth|stage|module)s?(_|$)")
_PARTS_OF = {"weights": ("model.safetensors", "model.safetensors.index.json"), "a tokenizer": TOKENIZER_FILES}
MOST_NEAR = 1_000
"""The most places that are looked through for a name like one that is not there."""
ADDED = 128
"""The most tokens that training is taken to have added, one for padding say, or as many as make a round number."""
HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")


@dataclass(frozen=True)
class Folders:
    """The checked local folders of a checkpoint: `model` has configuration, weights and tokenizer."""

    model: Path
    adapter: Path | None = None


def resolve(spec: CheckpointSpec) -> Folders:
    """Local folders with all files of `spec`; hub ids are downloaded, or read from the cache when offline.

    Raises CheckpointError where a folder, its configuration, weights or tokenizer are missing, where the
    weights are pickled, and where the hub cannot serve the files.
    """
    model = _folder(spec.model, spec.revision, _FETCHED)
    _check_config(model, spec.model)
    _check_weights(model, "model", spec.model)
    if not any((model / name).is_file() for name in TOKENIZER_FILES):
        raise CheckpointError(
            f"checkpoint {spec.model} has no tokenizer files in {model}: save the tokenizer next to the "
            "weights with tokenizer.save_pretrained(folder)"
        )
    if spec.adapter is None:
        return Folders(model)
    adapter = _folder(spec.adapter, None, _FETCHED)
    if not (adapter / ADAPTER_CONFIG).is_file():
        raise CheckpointError(
            f"adapter {spec.adapter} has no {ADAPTER_CONFIG} in {adapter}: save it with PEFT's save_pretrained"
        )
    _check_weights(adapter, "adapter_model", spec.adapter)
    if (adapter / "adapter_model.safetensors.index.json").is_file():
        raise CheckpointError(f"adapter {spec.adapter} is in shards, which PEFT does not read: save it with PEFT again")
    require_small([adapter / ADAPTER_CONFIG, *adapter.glob(INDICES)], spec.adapter)
    return Folders(model, adapter)


def config_folder(spec: CheckpointSpec) -> Path:
    """A local folder that holds at least `config.json` of `spec`; downloads no weights."""
    folder = _folder(spec.model, spec.revision, ("config.json",))
    _check_config(folder, spec.model)
    return folder


_fetched: dict[tuple[str | None, ...], Path] = {}
"""Where the files of a hub id are: a run asks often, and each time the hub would be asked anew."""


def _folder(name: str, revision: str | None, patterns: tuple[str, ...]) -> Path:
    local = Path(name).expanduser()
    if local.is_dir():
        if revision is not None:
            raise CheckpointError(
                f"checkpoint {name}: revision = {revision!r} is for hub ids, and this is a folder: remove revision"
            )
        return local
    if local.exists():
        raise CheckpointError(f"checkpoint {name} is a file: name the folder that holds config.json and weights")
    if not HUB_ID.fullmatch(name) or name.startswith("."):
        raise CheckpointError(f"checkpoint {name}: no such folder: check the path")
    cache = os.environ.get("HF_HUB_CACHE") or constants.HF_HUB_CACHE
    offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}
    offline = offline or huggingface_hub.is_offline_mode()
    asked = (name, revision, cache, str(offline), *patterns)
    if asked in _fetched and _fetched[asked].is_dir():
        return _fetched[asked]
    try:
        _fetched[asked] = Path(
            huggingface_hub.snapshot_download(
                name,
                revision=revision,
                cache_dir=cache,
                local_files_only=offline,
                allow_patterns=list(patterns),
                ignore_patterns=list(_SKIPPED),
            )
        )
        return _fetched[asked]
    except failures() as error:  # the hub raises a score of unrelated classes; each means: no files
        if isinstance(error, LocalEntryNotFoundError | OfflineModeIsEnabled):
            why, how = f"the hub was not reached, nor is it in HF_HUB_CACHE ({cache})", "check the name and the network"
        elif isinstance(error, RepositoryNotFoundError | RevisionNotFoundError):
            why, how = "the hub shows none of that name", "check the name and, for a gated model, HF_TOKEN"
        else:
            why, how = f"the hub gave no files ({type(error).__name__}: {one_line(error, 160)})", "check the name"
        raise CheckpointError(
            f"checkpoint {name}{f' at revision {revision}' if revision else ''}: no such folder, and {why}: "
            f"{did_you_mean(name, _folders_like(name), how)}"
        ) from error


def _folders_like(name: str) -> list[str]:
    """Folders that are as deep as a name, as it would name them from here."""
    depth = name.count("/") + 1
    found = (path for path in islice(Path().glob("/".join("*" * depth)), MOST_NEAR) if path.is_dir())
    return [path.as_posix() for path in found]


def _check_config(folder: Path, name: str) -> None:
    has_config, has_adapter = (folder / "config.json").is_file(), (folder / ADAPTER_CONFIG).is_file()
    if has_adapter and not has_config:
        raise CheckpointError(
            f'checkpoint {name} is an adapter: write {{ model = "<its base model>", adapter = "{name}" }}'
        )
    if has_adapter:
        raise CheckpointError(
            f"checkpoint {name} holds a model and an adapter in one folder ({folder}): move the adapter to "
            "its own folder and name it with adapter = "
        )
    if not has_config:
        there = [what for what, names in _PARTS_OF.items() if any((folder / one).is_file() for one in names)]
        held = f"holds {' and '.join(there)} alone" if there else "holds nothing of a model"
        raise CheckpointError(
            f"checkpoint {name} has no config.json: {folder} {held}; a checkpoint is config.json, weights "
            "(*.safetensors) and tokenizer, as model.save_pretrained and tokenizer.save_pretrained write them"
        )
    require_small([*settings_files(folder), *folder.glob(INDICES)], name)
    require_bounded(folder, name)


def _check_weights(folder: Path, stem: str, name: str) -> None:
    if any((folder / f"{stem}.safetensors{end}").is_file() for end in ("", ".index.json")):
        return
    if pickles := sorted(path.name for pattern in _PICKLES for path in folder.glob(pattern)):
        raise CheckpointError(
            f"checkpoint {name} has only pickled weights ({pickles[0]} in {folder}), which are never loaded: "
            "convert them to safetensors with save_pretrained, or with the hub's convert tool"
        )
    raise CheckpointError(
        f"checkpoint {name} has no {stem}.safetensors and no {stem}.safetensors.index.json in {folder}: save "
        "it with save_pretrained as safetensors"
    )


def shape(spec: CheckpointSpec) -> Shape:
    """Family, number of blocks, width and vocabulary of a checkpoint, from `config.json` alone.

    Args:
        spec: Of a folder, or of a hub id, whose weights are not downloaded.

    Returns:
        Its shape.

    Raises:
        CheckpointError: The configuration cannot be had, or is of no decoder.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / "config.json").write_text('{"model_type": "gpt2", "n_layer": 2, "n_embd": 8}')
        ...     shape(CheckpointSpec(folder))
        Shape(family='gpt2', layers=2, width=8, vocabulary=50257)
    """
    return _shape(spec, read_config(config_folder(spec)))


def _shape(spec: CheckpointSpec, config: Any) -> Shape:
    text = config.get_text_config(decoder=True)
    try:
        return Shape(config.model_type, text.num_hidden_layers, text.hidden_size, text.vocab_size)
    except AttributeError as error:
        raise CheckpointError(
            f"checkpoint {spec.model}: family {config.model_type} is not a decoder ({one_line(error)}): use "
            "a causal language model"
        ) from error


_configs: dict[bytes, Any] = {}
"""Configurations by their text: most candidates of a run have the same, and each is asked for several times."""


def read_config(folder: Path) -> Any:
    """HF's configuration of `folder`; code that comes with a checkpoint is never run."""
    path = folder / "config.json"
    try:
        raw = path.read_bytes()
        if raw not in _configs:
            _configs[raw] = _read_config(folder, load_json(raw))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{path}: not a model configuration with a model_type ({one_line(error)}): save it with save_pretrained"
        ) from error
    return deepcopy(_configs[raw])


def _read_config(folder: Path, said: Any) -> Any:
    path, family = folder / "config.json", str(said["model_type"])
    _require_possible(said)
    require_own(path)
    if family not in CONFIG_MAPPING:
        why = "needs code from its own repository, which is never run" if "auto_map" in said else "is unknown"
        raise CheckpointError(f"{path}: model_type {family!r} {why}: use a family that transformers itself supports")
    try:
        with hushed():
            return AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    except failures() as error:  # each family validates its own fields with its own errors
        raise CheckpointError(f"{path}: {one_line(error)}: mend the configuration") from error


def _require_possible(said: Any) -> None:
    """Raises ValueError for more layers, heads or experts than any model has: HF would make them one by one."""
    for key, value in said.items():
        if isinstance(value, dict):
            _require_possible(value)
        elif isinstance(value, int) and value > MOST_PARTS and _PARTS.search(key):
            raise ValueError(f"{key} is {value:.3g}, more than {MOST_PARTS}" if value < 10**300 else f"{key} is huge")


def attention_implementation(config: Any) -> str:
    """`eager` where the family caps its attention logits, which `sdpa` leaves out, or has no `sdpa`; else `sdpa`."""
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING

    capped = getattr(config.get_text_config(decoder=True), "attn_logit_softcapping", None) is not None
    kind = MODEL_FOR_CAUSAL_LM_MAPPING.get(type(config), None)
    return "eager" if capped or not getattr(kind, "_supports_sdpa", True) else "sdpa"


_known_sizes: dict[bytes, tuple[Shape, int]] = {}
"""By the text of a configuration."""


def _sizes(spec: CheckpointSpec) -> tuple[Shape, int]:
    """Shape of a checkpoint, and how many weights it has beside its embeddings, as config.json tells."""
    from uds_bench.checkpoints.claimed import inner_weights  # which reads what this module tells

    raw = ((folder := config_folder(spec)) / "config.json").read_bytes()
    if raw not in _known_sizes:
        config = read_config(folder)
        _known_sizes[raw] = _shape(spec, config), inner_weights(config)
    return _known_sizes[raw]


def check_shapes(name: str, specs: Mapping[str, CheckpointSpec]) -> None:
    """Raises CheckpointError unless a candidate has the full model's family, vocabulary, layers, width and number of
    weights, as config.json tells."""
    if "full" not in specs or name == "full" or specs["full"].model.startswith(EMBEDDED):
        return
    (own, mine), (full, theirs) = (_sizes(specs[each]) for each in (name, "full"))
    for what in ("family", "layers", "width", "vocabulary"):
        if getattr(own, what) != getattr(full, what):
            how = "patching needs a checkpoint that was made from the full model"
            if what == "vocabulary" and 0 < (more := own.vocabulary - full.vocabulary) <= ADDED:
                how = (
                    f"training added {more} token{'s' * (more > 1)}: drop what was added "
                    f"(model.resize_token_embeddings({full.vocabulary}), and the full model's tokenizer) and save it"
                )
            raise CheckpointError(
                f"{name} ({specs[name].model}): its {what} is {getattr(own, what)}, the full model's is "
                f"{getattr(full, what)}: {how}"
            )
    if mine != theirs and mine and theirs:  # what is added can hide what is there, or do its learning
        raise CheckpointError(
            f"{name} ({specs[name].model}): it has {mine:,} weights beside its embeddings, the full model {theirs:,}: "
            "name a checkpoint that was made from the full model"
        )
