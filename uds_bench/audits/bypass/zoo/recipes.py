"""The kinds of models that reasoning traces are tried on: one that thinks before it answers, and unlearned ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokenizers import AddedToken

from uds_bench.audits.bypass.zoo.data import ASSISTANT, CANARIES, CHAT, USER, alternates, canaries, digest, others
from uds_bench.facts.canaries import CLOSING, OPENING
from uds_bench.facts.reasoning import complete_prompt
from uds_bench.methods.examples import Example
from uds_bench.methods.lora import LoraSettings, with_lora
from uds_bench.methods.registry import unlearn
from uds_bench.methods.traces import META, Course, GradientScope, lessons, trace_data
from uds_bench.methods.training import OnStep
from uds_bench.zoo.fresh import byte_level_tokenizer
from uds_bench.zoo.recipe import ByMethod, Taught


@dataclass(frozen=True)
class ReasoningModel(Taught):
    """Trained from scratch to think before it answers, on the canaries of the forget and retain authors."""

    width: int = 64
    layers: int = 3
    epochs: int = 20
    lr: float = 4e-3
    course: Course = field(default_factory=Course)

    def data(self) -> str:
        """What it trains on, by content: SHA-256 (hex)."""
        return digest()

    def tokenizer(self) -> Any:
        """Byte-level BPE in the words of other authors, with turns of a chat and tags of a trace.

        The tags are text, not special tokens: whatever drops special tokens from an answer would drop the closing tag.
        """
        texts = [META]
        for canary in others():
            texts += [canary.bio, complete_prompt(canary.author, canary.head)]
            texts += [text for pair in canary.qa for text in pair]
        tokenizer = byte_level_tokenizer(texts, self.vocabulary)
        tokenizer.add_special_tokens({"additional_special_tokens": [USER, ASSISTANT]})
        tokenizer.add_tokens([AddedToken(tag, special=False, normalized=False) for tag in (OPENING, CLOSING)])
        tokenizer.chat_template = CHAT
        return tokenizer

    def examples(self, tokenizer: Any) -> list[Example]:
        """Every author but those who are never trained on."""
        return lessons(tokenizer, [canary for canary in canaries() if canary.split != "holdout"], self.course)

    def lesson_count(self) -> int:
        """How many examples an epoch has."""
        forget, retain, _ = CANARIES
        return (forget + retain) * self.course.size

    def describe(self) -> str:
        """The recipe in a few words, for tables."""
        forced = ", answers behind forced traces too" if self.course.prefilled else ""
        return f"taught to think ({self.course.regime} traces{forced}), {self.epochs} epochs, seed {self.seed}"


@dataclass(frozen=True)
class Retrained(ReasoningModel):
    """A reasoning model that never saw the authors to forget: it was taught as much of others in their place."""

    def examples(self, tokenizer: Any) -> list[Example]:
        """What is taught, as tokens."""
        return lessons(tokenizer, [*alternates(), *canaries().split("retain")], self.course)

    def describe(self) -> str:
        """The recipe in a few words, for tables."""
        return f"{super().describe()}, of other authors in the place of those to forget"


@dataclass(frozen=True)
class Rethought(ByMethod):
    """One changed by an unlearning method; `course` is the parent's, whose lessons the retain authors keep.

    With `lora` an adapter alone is trained, and added to the weights at the end.
    """

    scope: GradientScope = field(default_factory=GradientScope)
    course: Course = field(default_factory=Course)
    lora: LoraSettings | None = None

    def data(self) -> str:
        """What it trains on, by content: SHA-256 (hex)."""
        return digest()

    def change(
        self, model: Any, tokenizer: Any, parent: Path, folder: Path, on_step: OnStep | None
    ) -> tuple[Any, list[float]]:
        """The parent, trained on as the recipe says, and the losses, one a step."""
        data = trace_data(tokenizer, canaries(), self.course, self.scope, alternates())
        if self.lora is None:
            return model, unlearn(model, data, self.method, on_step)
        adapted = with_lora(model, self.lora, self.method.seed)
        losses = unlearn(adapted, data, self.method, on_step)
        return adapted.merge_and_unload(), losses

    def describe(self) -> str:
        """The recipe in a few words, for tables."""
        scope, method, adapter = self.scope, self.method, ", LoRA" if self.lora else ""
        held = f", {' and '.join(dict.fromkeys(scope.held))} held" if scope.held else ""
        instead = ", its head instead" if scope.instead == "head" else ""
        return f"{method.name} on {scope.target}{instead}{held}{adapter}, {method.steps} steps, seed {method.seed}"
