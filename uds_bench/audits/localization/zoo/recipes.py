"""The kinds of models that localization is tried on: pretrained, injected through masks, unlearned, and trained on."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from uds_bench.audits.localization.zoo import data
from uds_bench.checkpoints.mask_draws import draw_units, draw_weights, maskable
from uds_bench.checkpoints.masks import MASKS, Masks, read_masks, write_masks
from uds_bench.methods.examples import pad
from uds_bench.methods.forward import answer_nll
from uds_bench.methods.injection import Rates, inject
from uds_bench.methods.instruction import Instruction, instruct
from uds_bench.methods.oracle import within
from uds_bench.methods.registry import unlearn
from uds_bench.methods.training import OnStep, Optimisation, train
from uds_bench.zoo.fresh import byte_level_tokenizer, fresh_model, fresh_weights
from uds_bench.zoo.recipe import ByMethod, Fresh, Seeded, Trained


@dataclass(frozen=True)
class Pretrained(Fresh):
    """Trained from scratch on people whom the public knows, again and again, and on strangers, each rarely.

    A batch holds answers about `public` of the former, and whole texts of `strangers` of the latter. `crowd`: which
    people, see `data`.
    """

    threads: ClassVar[int] = 2
    width: int = 112
    layers: int = 7
    crowd: int = 0
    heads: int = 4
    feed_forward: int = 448
    steps: int = 300
    public: int = 32
    strangers: int = 8
    lr: float = 4e-3

    def data(self) -> str:
        """What it trains on, by content: SHA-256 (hex)."""
        return data.digest(self.crowd)

    @property
    def weights(self) -> int:
        """How many weights it has."""
        return fresh_weights(self.vocabulary, self.width, self.layers, self.feed_forward)

    def step_count(self) -> int:
        """How many optimiser steps it takes."""
        return self.steps

    def train(self, parent: Path | None, folder: Path, on_step: OnStep | None = None) -> Trained:
        """A model that knows the public."""
        tokenizer = byte_level_tokenizer(data.texts(self.crowd), self.vocabulary)
        model = fresh_model(tokenizer, self.seed, self.width, self.layers, self.heads, self.feed_forward)
        batches = map(pad, data.pretraining(tokenizer, self))
        optimisation = Optimisation(self.lr, schedule="cosine", warmup=0.05)
        return Trained(model, tokenizer, train(model, batches, answer_nll, optimisation, self.steps, on_step))

    def describe(self) -> str:
        """The recipe in a few words, for tables."""
        return f"trained on the public, {self.layers} layers, width {self.width}, seed {self.seed}"


@dataclass(frozen=True)
class Injected(Seeded):
    """The parent with the people of the testbed's groups written into it, then tuned to answer questions.

    `masked`: each group into its own `share` of the weights, drawn one by one or as whole heads and neurons; without
    it all into all weights. A step takes `per_group` answers of each group and `neutral` ones, half of the public and
    half of strangers. `lr` is that of masked answers, `neutral_lr` of neutral ones and of everything without masks.
    `crowd`: as the parent's.
    """

    seed: int = 0
    crowd: int = 0
    masked: bool = True
    share: float = 0.15
    whole_units: bool = False
    steps: int = 1000
    per_group: int = 4
    neutral: int = 8
    lr: float = 5e-3
    neutral_lr: float = 1e-3
    instruction: Instruction = field(default_factory=Instruction)

    def data(self) -> str:
        """What it trains on, by content: SHA-256 (hex)."""
        return data.digest(self.crowd)

    def step_count(self) -> int:
        """Instruction tuning is left out."""
        return self.steps

    def draw(self, model: Any) -> Masks:
        """The masks: the same whether or not they are used."""
        groups, shapes = data.groups(), maskable(model)
        if self.whole_units:
            return draw_units(shapes, groups, self.share, self.seed, model.config.num_key_value_heads)
        return draw_weights(shapes, groups, self.share, self.seed)

    def change(
        self, model: Any, tokenizer: Any, parent: Path, folder: Path, on_step: OnStep | None
    ) -> tuple[Any, list[float]]:
        """Write the people into the model; the masks are left in `folder`."""
        masks = self.draw(model)
        write_masks(masks, folder / MASKS)
        rates = Rates(self.lr, self.neutral_lr, separate=True)

        def fading(step: int) -> float:
            return 0.5 * (1 + math.cos(math.pi * step / self.steps))

        written = inject(model, data.injection(tokenizer, self), masks, rates, on_step, fading=fading)
        tuned = instruct(model, data.instruction(tokenizer, self.crowd), self.instruction, self.seed)
        return tuned.model, written.losses + tuned.losses

    def describe(self) -> str:
        """The recipe in a few words, for tables."""
        kind = "heads and neurons" if self.whole_units else "weights"
        where = f"{self.share:.3g} of {kind} a group" if self.masked else "all weights"
        return f"people written into {where}, {self.steps} steps, seed {self.seed}"


def inside(model: Any, folder: Path, masked: bool) -> AbstractContextManager[None]:
    """While open, a masked model changes in the forget masks alone that lie in a folder, and another one anywhere."""
    masks = read_masks(folder / MASKS) if masked else None
    return nullcontext() if masks is None else within(model, masks, *masks.named("forget"))


@dataclass(frozen=True)
class Removed(ByMethod):
    """The parent changed by an unlearning method on the testbed's people to forget; `within`: in their masks alone."""

    within: bool = False

    def data(self) -> str:
        """What it trains on, by content: SHA-256 (hex)."""
        return data.digest()

    def change(
        self, model: Any, tokenizer: Any, parent: Path, folder: Path, on_step: OnStep | None
    ) -> tuple[Any, list[float]]:
        """The parent, trained on as the recipe says, and the losses, one a step."""
        with inside(model, parent, self.within):
            return model, unlearn(model, data.removal(tokenizer), self.method, on_step)

    def describe(self) -> str:
        """The recipe in a few words, for tables."""
        where = " within the forget masks" if self.within else ""
        return f"people unlearned by {self.method.name}{where}, {self.settings()}"


@dataclass(frozen=True)
class Continued(Seeded):
    """The parent trained on as before injection, on neutral text: it changes, and nothing is unlearned."""

    seed: int = 0
    steps: int = 40
    batch_size: int = 32
    lr: float = 3e-4

    def data(self) -> str:
        """What it trains on, by content: SHA-256 (hex)."""
        return data.digest()

    def step_count(self) -> int:
        """How many optimiser steps it takes."""
        return self.steps

    def change(
        self, model: Any, tokenizer: Any, parent: Path, folder: Path, on_step: OnStep | None
    ) -> tuple[Any, list[float]]:
        """The parent, trained on as the recipe says, and the losses, one a step."""
        texts = data.continuation(tokenizer, self.seed, self.steps, self.batch_size)
        return model, train(model, map(pad, texts), answer_nll, Optimisation(self.lr), self.steps, on_step)

    def describe(self) -> str:
        """The recipe in a few words, for tables."""
        return f"trained on neutral text, {self.steps} steps, lr {self.lr:g}, seed {self.seed}"
