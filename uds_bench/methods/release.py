"""From a full checkpoint and facts to an unlearned model and the record of how it came about."""

from __future__ import annotations

import platform
import secrets
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from uds_bench.checkpoints import Checkpoint
from uds_bench.errors import ConfigurationError, UdsError
from uds_bench.facts import FactSet
from uds_bench.methods.alternates import Alternates, sample_alternates
from uds_bench.methods.cost import RETRAINING_EPOCHS, TokenCost, counting, retraining
from uds_bench.methods.data import Data, unlearning_data
from uds_bench.methods.examples import steps_per
from uds_bench.methods.lora import LoraSettings, with_lora
from uds_bench.methods.method import Method
from uds_bench.methods.registry import METHODS, unlearn
from uds_bench.storage import require_writable, write_json

SCHEMA = 1
ANSWERING = ("idk_nll", "idk_dpo", "alt_po", "alphaedit")
"""Methods that put another answer to each question in place of the true one."""
PACKAGES = ("uds-bench", "torch", "transformers", "peft")


@dataclass(frozen=True)
class UnlearnedModel:
    """`model`: the weights, or a PEFT model whose adapter is new; `record`: strict JSON."""

    model: Any
    record: dict[str, Any]


def unlearn_facts(
    full: Checkpoint,
    facts: FactSet,
    method: Method,
    lora: LoraSettings | None = None,
    retraining_epochs: int = RETRAINING_EPOCHS,
    on_step: Callable[[int, float], None] | None = None,
    sentences: bool = False,
) -> UnlearnedModel:
    """Unlearn the forget facts from `full`, whose model is changed, beside its retain facts; `sentences` as in
    `unlearning_data`.

    The record has settings, losses, versions, and the cost: seconds (without loading and saving), steps and tokens,
    each of the last two beside those of `retraining_epochs` of fine-tuning on the retain facts, which is what
    unlearning saves. Tokens are weighed as forward passes: 3 for one that is trained on, 1 for one that is read.

    Raises ConfigurationError for a method that trains nothing or takes no adapter, facts that lack a split, and
    quantized weights, which cannot be trained; UdsError where the training diverges.
    """
    require_usable(method, facts, lora is not None, sentences)
    if full.spec.quantization is not None:
        raise ConfigurationError(
            f"{full.spec.model} is {full.spec.quantization}: quantized weights cannot be trained: name the full weights"
        )
    cost, started = TokenCost(), time.perf_counter()
    alternates = None
    with counting(full.model, cost):
        if method.name == "alt_po":
            alternates = sample_alternates(full.model, full.tokenizer, facts.split("forget"), method.seed)
    data = unlearning_data(full.tokenizer, facts, alternates.answers if alternates else (), sentences)
    model = full.model if lora is None else with_lora(full.model, lora, method.seed)
    with counting(model, cost):
        try:
            losses = unlearn(model, data, method, on_step)
        except FloatingPointError as error:
            raise UdsError(f"method {method.name}: {error}: take a smaller lr than {method.lr:g}") from error
    record = {
        "schema": SCHEMA,
        "method": method.name,
        "settings": _settings(method),
        "lora": None if lora is None else asdict(lora),
        "full": {**asdict(full.spec), "digest": full.digest},
        "facts": {"digest": facts.digest, "forget": len(data.forget), "retain": len(data.retain)},
        "sentences": sentences,
        "alternates": _sampling(alternates),
        "losses": losses,
        "cost": _cost(cost, data, method, retraining_epochs, time.perf_counter() - started),
        "device": str(full.device),
        "dtype": str(full.model.dtype).removeprefix("torch."),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
    }
    return UnlearnedModel(model, record)


def require_usable(method: Method, facts: FactSet, adapter: bool = False, sentences: bool = False) -> None:
    """ConfigurationError for a method that trains nothing, for an adapter beside one that edits the weights themselves,
    for sentences without a question beside one that puts another answer in place of each, and for facts that lack a
    split that the method needs."""
    if method.name == "identity" or not method.steps:
        raise ConfigurationError(f"method {method.name} with {method.steps} steps trains nothing: take another")
    recipe = METHODS[method.name]
    if adapter and not recipe.adapters:
        raise ConfigurationError(f"method {method.name} edits the weights themselves: leave LoRA out")
    if sentences and method.name in ANSWERING:
        raise ConfigurationError(f"method {method.name} gives each question another answer: leave sentences out")
    for split, needed in (("forget", True), ("retain", recipe.needs_retain(method))):
        if needed and not any(fact.split == split for fact in facts):
            without = ", or keep nothing: alpha=0" if split == "retain" and not recipe.localizes else ""
            raise ConfigurationError(f"method {method.name} needs facts of the split {split}: add some{without}")


def _settings(method: Method) -> dict[str, Any]:
    """Those that the method reads; the fields of others say nothing about it."""
    read = ("steps", "lr", "batch_size", "seed", *METHODS[method.name].settings)
    return {key: getattr(method, key) for key in read}


def _sampling(alternates: Alternates | None) -> dict[str, Any] | None:
    if alternates is None:
        return None
    temperatures = {str(temperature): count for temperature, count in sorted(alternates.temperatures.items())}
    return {"answers": alternates.answers, "temperatures": temperatures, "rejected": dict(alternates.rejected)}


def _cost(cost: TokenCost, data: Data, method: Method, epochs: int, seconds: float) -> dict[str, Any]:
    anew = retraining(data.retain, epochs)
    steps = steps_per(len(data.retain), method.batch_size, epochs)
    return {
        "seconds": round(seconds, 3),
        "steps": method.steps,
        "tokens_trained": cost.trained,
        "tokens_read": cost.read,
        "retraining": {"epochs": epochs, "steps": steps, "tokens_trained": anew.trained},
        "share_of_steps": method.steps / steps if steps else None,
        "share_of_passes": cost.passes / anew.passes if anew.passes else None,
    }


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
        write_json(draft / RECORD, record)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
