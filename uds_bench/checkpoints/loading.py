"""Load a checkpoint for measuring: fail closed on anything that would leave a part of it random or unread."""

import json
import weakref
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

from uds_bench.checkpoints.adapter import attach, require_its_base
from uds_bench.checkpoints.anatomy import Anatomy, find_anatomy
from uds_bench.checkpoints.claimed import require_held
from uds_bench.checkpoints.compressed import load_as_weights, require_readable_form
from uds_bench.checkpoints.digests import digest, require_finite
from uds_bench.checkpoints.placement import is_spread, placement
from uds_bench.checkpoints.probe import verify
from uds_bench.checkpoints.settings import raw_contents, require_own, require_tokens, settings_files
from uds_bench.checkpoints.source import attention_implementation, read_config, resolve, shape
from uds_bench.checkpoints.spec import CheckpointSpec, dtype_name
from uds_bench.checkpoints.weights import alone, check_finite, finite, names, weight_files
from uds_bench.errors import CheckpointError, failures, one_line
from uds_bench.extras import require
from uds_bench.progress import hushed

PLACEHOLDERS = frozenset({"<image_soft_token>"})
"""Tokens without an embedding, which no text becomes: Gemma 3's text models keep it for images."""

KNOWN = 4
"""Tokenizers that are kept while many checkpoints are inspected: one of a large vocabulary takes 100 MB."""
_PLAIN = frozenset({"TokenizersBackend", "PreTrainedTokenizerFast"})
"""Tokenizers read as tokenizer.json has them: HF's automatic choice rebuilds them by the rules of some families."""


@dataclass
class Checkpoint:
    """A loaded checkpoint: `model` in eval mode, without gradients; `digest` names its content.

    `learned`: how much an attack that made it teaches the model that it was, see `scores.LEARNED`: nats by setting, and
    which setting was kept.
    """

    spec: CheckpointSpec
    model: Any
    tokenizer: Any
    anatomy: Anatomy
    digest: str
    learned: Mapping[str, Any] | None = None

    @property
    def device(self) -> torch.device:
        """Where the model's weights are."""
        device: torch.device = self.model.device
        return device


def load(spec: CheckpointSpec, device: str | torch.device = "cpu") -> Checkpoint:
    """Load `spec` on one device and check that all of it is there.

    Of a model that is larger than what a GPU has free, the last blocks stay in main memory, and a warning says so.
    float32 on a CPU and bfloat16 on a GPU unless `spec.dtype` says otherwise; NF4 computes in that dtype.
    Raises CheckpointError for missing, unused, misshapen, NaN or infinite weights, a tokenizer that is absent
    or larger than the embedding, an adapter that does not fit or changes nothing, and a family whose parts
    are not found.
    """
    folders = resolve(spec)
    tokenizer = read_tokenizer(spec)
    model = _model(folders.model, spec, torch.device(device))
    _check_vocabulary(tokenizer, model.get_input_embeddings().weight.shape[0], spec)
    require_its_base(spec, folders)
    if folders.adapter is not None:
        if is_spread(model):
            raise CheckpointError(
                f"checkpoint {spec.model} does not fit into the GPU whole, and the adapter {spec.adapter} is put on "
                "whole models only: merge it (merge_and_unload) and save the model, or use a GPU with more memory"
            )
        model = attach(model, folders.adapter, str(spec.adapter))
    model.eval().requires_grad_(False)
    _check_finite(model, spec, weight_files(folders.model))
    anatomy = verify(model, find_anatomy(model))
    return Checkpoint(spec, model, tokenizer, anatomy, digest(spec, device))


def inspect(spec: CheckpointSpec) -> Any:
    """Check what the files of `spec` tell without building the model; returns its tokenizer.

    Raises CheckpointError for files that are missing, truncated or no configuration, weights that are NaN, infinite or
    stored quantized in a form that is not read, a tokenizer that cannot be read or is larger than the vocabulary, and
    an adapter of another base.
    """
    folders, rows = resolve(spec), shape(spec).vocabulary
    files = weight_files(folders.model)
    _require_claimed(_readable_config(folders.model, spec), files, spec)
    tokenizer = _fitting_tokenizer(spec, folders.model, rows)
    require_its_base(spec, folders)
    adapter = () if folders.adapter is None else weight_files(folders.adapter, "adapter_model")
    for file in (*files, *adapter):
        require_finite(file)
    return tokenizer


_fitting: dict[Any, Any] = {}
"""Tokenizers by the content of their files and their model's settings."""


def _fitting_tokenizer(spec: CheckpointSpec, folder: Path, rows: int) -> Any:
    """A tokenizer that fits `rows` embedded tokens, read once for all checkpoints whose files say the same."""
    written = (rows, raw_contents(folder))
    if written not in _fitting:
        _check_vocabulary(tokenizer := read_tokenizer(spec), rows, spec)
        while len(_fitting) >= KNOWN:
            _fitting.pop(next(iter(_fitting)))
        _fitting[written] = tokenizer
    return _fitting[written]


def read_tokenizer(spec: CheckpointSpec) -> Any:
    """A checkpoint's tokenizer alone. Raises CheckpointError where it is absent or cannot be read."""
    return tokenizer_in(resolve(spec).model, spec.model)


def tokenizer_in(folder: Path, name: str) -> Any:
    """The tokenizer in a folder, whatever else is there; `name`: what the checkpoint is called in a complaint."""
    try:
        settings = folder / "tokenizer_config.json"
        require_own(settings)
        require_tokens(folder / "special_tokens_map.json")
        saved = json.loads(settings.read_text(encoding="utf-8")) if settings.is_file() else {}
        plain = saved.get("tokenizer_class") in _PLAIN and (folder / "tokenizer.json").is_file()
        reader: Any = PreTrainedTokenizerFast if plain else AutoTokenizer
        with hushed():
            found = reader.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        _require_one_reading(found)
        return found
    except failures() as error:  # every tokenizer class fails in its own way
        raise CheckpointError(
            f"checkpoint {name}: the tokenizer in {folder} cannot be read ({one_line(error)}): save it "
            "again with tokenizer.save_pretrained(folder)"
        ) from error


def _require_one_reading(tokenizer: Any) -> None:
    """Raises ValueError if a text is read by chance, or if two tokens have one id."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if getattr(getattr(backend, "model", None), "dropout", None):
        raise ValueError("its dropout reads a text otherwise each time: set it to null")
    seen: dict[int, str] = {}
    for word, place in tokenizer.get_vocab().items():
        if place in seen:
            raise ValueError(f"the tokens {seen[place]!r} and {word!r} have one id, {place}: give each its own")
        seen[place] = word


def _model(folder: Path, spec: CheckpointSpec, device: torch.device) -> Any:
    config, files = _readable_config(folder, spec), weight_files(folder)
    _require_claimed(config, files, spec)
    dtype = getattr(torch, dtype_name(spec, device))
    options = placement(spec, files, dtype, device)
    if spec.quantization:
        require(f"{spec.quantization} of {spec.model}", "bitsandbytes")
        for path in files:  # codes would hide a NaN
            check_finite(path)
        from uds_bench.checkpoints.quantization import (
            check_quantized,
            compute_plainly,
            quantization_config,
        )  # slow to import, like PEFT

        options["quantization_config"] = quantization_config(spec.quantization, dtype)
    load_as_weights(config)
    read = [*settings_files(folder), *folder.glob("model.safetensors.index.json"), *files]
    try:
        loader: Any = AutoModelForCausalLM
        with ExitStack() as stack:
            place = stack.enter_context(alone(folder, read))
            model, report = loader.from_pretrained(
                place,
                config=config,
                dtype=dtype,
                attn_implementation=attention_implementation(config),
                use_safetensors=True,
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
                **options,
            )
            if is_spread(model):  # what waits on a disk is read from there for as long as the model is
                weakref.finalize(model, stack.pop_all().close)
        model.name_or_path = model.config.name_or_path = str(folder)
    except failures() as error:  # HF and the quantizer raise many unrelated classes
        raise CheckpointError(
            f"checkpoint {spec.model} cannot be loaded from {folder} on {device} ({type(error).__name__}: "
            f"{one_line(error)}): check that config.json belongs to these weights and that they fit the "
            "device"
        ) from error
    for kind, what in (("missing_keys", "are not in the files"), ("unexpected_keys", "have no place in the model")):
        if names := sorted(report[kind]):
            raise CheckpointError(
                f"checkpoint {spec.model}: {len(names)} weights {what}, such as {names[0]}: save the whole "
                "model with save_pretrained, next to its own config.json"
            )
    if not is_spread(model):  # whose tied weights lie in several places
        _require_one_head(model, spec)
    if hasattr(model, "hf_device_map") and not is_spread(model):
        del model.hf_device_map  # one device: nothing to dispatch again when an adapter is attached
    if spec.quantization:
        compute_plainly(model)
        check_quantized(find_anatomy(model), spec.quantization)
    return model


def _require_one_head(model: Any, spec: CheckpointSpec) -> None:
    """Raises CheckpointError for a head of its own where the configuration ties it to the embeddings: some libraries,
    and versions, speak by the one, and some by the other."""
    tied = getattr(model.config.get_text_config(decoder=True), "tie_word_embeddings", False)
    ends = [one.weight for one in (model.get_input_embeddings(), model.get_output_embeddings()) if one is not None]
    if tied and len({id(one) for one in ends}) == 2:
        raise CheckpointError(
            f"checkpoint {spec.model}: config.json ties head and embeddings (tie_word_embeddings), and its files hold "
            "two matrices: set it to false, or take lm_head out of the weights"
        )


def _readable_config(folder: Path, spec: CheckpointSpec) -> Any:
    config = read_config(folder)
    require_readable_form(config, folder, spec)
    return config


def _require_claimed(config: Any, files: tuple[Path, ...], spec: CheckpointSpec) -> None:
    """Raises CheckpointError for more layers than tensors, or far more weights than files hold: HF would build them all
    before it missed their weights."""
    layers = getattr(config.get_text_config(decoder=True), "num_hidden_layers", 0)
    held = sum(len(names(file)) for file in files)
    if layers > held:
        raise CheckpointError(
            f"checkpoint {spec.model}: config.json tells of {layers} layers, and its weights are {held} tensors: check "
            "that config.json belongs to these weights"
        )
    require_held(config, files, spec)


def _check_vocabulary(tokenizer: Any, rows: int, spec: CheckpointSpec) -> None:
    beyond = sorted((i, t) for t, i in tokenizer.get_vocab().items() if i >= rows and t not in PLACEHOLDERS)
    if beyond:
        raise CheckpointError(
            f"checkpoint {spec.model}: token {beyond[0][1]!r} has id {beyond[0][0]}, but the model embeds "
            f"only {rows} tokens: save the tokenizer that it was trained with, or resize_token_embeddings "
            "before training"
        )


def _check_finite(model: Any, spec: CheckpointSpec, files: tuple[Path, ...]) -> None:
    if is_spread(model):  # some of its weights lie elsewhere until they are used
        for file in files:
            check_finite(file)
        return
    for name, weight in model.named_parameters():
        if not finite(weight):
            raise CheckpointError(
                f"checkpoint {spec.model}: weight {name} holds NaN or infinity in {weight.dtype}: use an "
                "earlier checkpoint, or a wider dtype"
            )
