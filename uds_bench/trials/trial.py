"""One trial: a method run on a shipped model with one seed, and what is seen of it before anything is judged."""

from __future__ import annotations

import copy
import random
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from uds_bench.errors import ConfigurationError, UdsError, counted
from uds_bench.methods.cost import TokenCost, counting, retraining
from uds_bench.methods.examples import IGNORED, Example
from uds_bench.storage import canonical, write_atomic
from uds_bench.trials.method import CALLED, Lessons, UserMethod
from uds_bench.zoo.recipe import Bed

RECORD = "trial.json"


class UnusableError(UdsError):
    """A method that made no model to judge."""


@dataclass(frozen=True)
class Trial:
    """`seconds` of processor time and `share` are what it cost: the latter as a share of the passes of training the
    retain set anew.
    `reads_retain`: whether it looked at what is to be kept. `moved`: length of the change as a share of the weights'.
    """

    seconds: float
    share: float | None
    reads_retain: bool
    moved: float


def lesson(tokenizer: Any, example: Example) -> dict[str, Any]:
    """An example as trainers take it: `prompt` and `completion` as texts, `input_ids`, and `labels`, which are -100
    where nothing is to be learned."""
    labels = [IGNORED] * example.prompt_length + [*example.ids[example.prompt_length :]]
    first, last = example.unscored
    labels[first:last] = [IGNORED] * (last - first)
    said = tokenizer.decode(example.ids[example.prompt_length :], skip_special_tokens=True)
    prompt = tokenizer.decode(example.ids[: example.prompt_length])
    return {"prompt": prompt, "completion": said, "input_ids": [*example.ids], "labels": labels}


def run_trial(method: UserMethod, bed: Bed, parent: Path, seed: int, folder: Path) -> None:
    """Run a method on a bed's model and save what it gives back into `folder`, with the trial beside it.

    Raises UnusableError for a method that fails, or whose model has another shape or weights that are no numbers;
    ConfigurationError for one that gives back no model.
    """
    tokenizer = AutoTokenizer.from_pretrained(parent)
    model = AutoModelForCausalLM.from_pretrained(parent, dtype=torch.float32)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    data = bed.data(tokenizer)
    forget, retain = (Lessons([lesson(tokenizer, one) for one in part]) for part in (data.forget, data.retain))
    for seeded in (random.seed, np.random.seed, torch.manual_seed):
        seeded(seed)
    cost, started = TokenCost(), time.process_time()
    with counting(model, cost):
        made = _made(method, model, tokenizer, forget, retain, seed)
    seconds = time.process_time() - started
    made = made.merge_and_unload() if hasattr(made, "merge_and_unload") else made
    moved = _moved(before, {name: tensor.detach() for name, tensor in made.state_dict().items()})
    anew = retraining(data.retain).passes
    trial = Trial(round(seconds, 2), cost.passes / anew if anew else None, retain.read, moved)
    made.save_pretrained(folder)
    # As it was given: a method changes a model, and nothing of how answers are read.
    AutoTokenizer.from_pretrained(parent).save_pretrained(folder)
    write_atomic(folder / RECORD, canonical(asdict(trial)))


def _made(method: UserMethod, model: Any, tokenizer: Any, forget: Lessons, retain: Lessons, seed: int) -> Any:
    more = {"reference": copy.deepcopy(model).eval().requires_grad_(False)} if method.takes_reference else {}
    given = {"model": model, "tokenizer": tokenizer, "forget": forget, "retain": retain, "seed": seed, **more}
    try:
        made = method.function(**given)
    except (Exception, SystemExit) as error:  # one that ends the process has made nothing
        told = " ".join(str(error).split())[:200]
        raise UnusableError(f"crashed ({type(error).__name__}: {told})") from error
    if not isinstance(made, torch.nn.Module) or not hasattr(made, "save_pretrained"):
        kind = "nothing" if made is None else f"a {type(made).__name__}"
        raise ConfigurationError(f"{method.name}: gives back {kind}, where the model is to be given back: {CALLED}")
    return made


def _moved(before: Mapping[str, torch.Tensor], after: Mapping[str, torch.Tensor]) -> float:
    """Length of the change over that of the weights before. Raises UnusableError for other shapes, and for NaN."""
    if {name: tensor.shape for name, tensor in before.items()} != {
        name: tensor.shape for name, tensor in after.items()
    }:
        wrong = sorted(name for name in {*before, *after} if _shape(before, name) != _shape(after, name))
        raise UnusableError(f"changed the model's shape ({wrong[0]} and {counted(len(wrong) - 1, 'other')})")
    change = sum(float((after[name].float() - before[name].float()).square().sum()) for name in before)
    if not np.isfinite(change):
        raise UnusableError("gave weights that are no numbers (NaN or infinite)")
    return float((change / sum(float(tensor.float().square().sum()) for tensor in before.values())) ** 0.5)


def _shape(tensors: Mapping[str, torch.Tensor], name: str) -> tuple[int, ...] | None:
    return tuple(tensors[name].shape) if name in tensors else None
