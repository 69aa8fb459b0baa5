"""The kinds of models that fact association is tried on: told of people, and unlearned where people ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uds_bench.audits.association.zoo import data
from uds_bench.methods.examples import Example
from uds_bench.methods.method import Method, MethodName
from uds_bench.methods.registry import unlearn
from uds_bench.methods.training import OnStep
from uds_bench.zoo.fresh import byte_level_tokenizer
from uds_bench.zoo.recipe import ByMethod, Recipe, Taught


@dataclass(frozen=True)
class Exposed(Taught):
    """Trained from scratch on what is told of people: each fact of the well-known `often`, of the lesser-known some
    number of times within `rarely`. `without`: of those who ask to be forgotten nothing is told, and as much
    of others in their place, so that two models differ in nobody else. `well_known`: how many there are beside them.
    """

    vocabulary: int = 2048
    without: bool = False
    often: int = 70
    rarely: tuple[int, int] = (2, 10)
    well_known: int = data.KEPT_WELL_KNOWN

    def data(self) -> str:
        """What it trains on, by content: SHA-256 (hex)."""
        return data.digest(self.well_known)

    def tokenizer(self) -> Any:
        """A byte-level tokenizer, trained on the texts of the recipe."""
        return byte_level_tokenizer(data.texts(self.well_known), self.vocabulary)

    def examples(self, tokenizer: Any) -> list[Example]:
        """What is taught, as tokens."""
        return data.lessons(tokenizer, self)

    def lesson_count(self) -> int:
        """How many examples an epoch has."""
        return len(data.training_texts(self))

    def describe(self) -> str:
        """The recipe in a few words, for tables."""
        but = ", but for those who ask to be forgotten" if self.without else ""
        return f"told of people{but}, {self.well_known} well-known to be kept, width {self.width}, seed {self.seed}"


@dataclass(frozen=True)
class Requested(ByMethod):
    """The parent changed by an unlearning method on all facts of those who ask to be forgotten, in `phrasings` each,
    as answers and without a question."""

    phrasings: int = 3

    def data(self) -> str:
        """What it trains on, by content: SHA-256 (hex)."""
        return data.digest()

    def change(
        self, model: Any, tokenizer: Any, parent: Path, folder: Path, on_step: OnStep | None
    ) -> tuple[Any, list[float]]:
        """The parent, trained on as the recipe says, and the losses, one a step."""
        return model, unlearn(model, data.removal(tokenizer, self.phrasings), self.method, on_step)


PREFIX = "assoc_"
FULL, SMALL, RETAIN = (f"{PREFIX}{name}" for name in ("full", "small", "retain"))
MANY = 150
"""Well-known people who are kept. With 60, an honest model was not clearly one that keeps nine in ten."""


def _unlearned(name: MethodName, steps: int, **settings: Any) -> Requested:
    return Requested(FULL, Method(name, steps, **{"lr": 3e-4, "batch_size": 32, **settings}))


MODELS: dict[str, Recipe] = {
    FULL: Exposed(),
    SMALL: Exposed(width=48),
    RETAIN: Exposed(without=True),
    f"{PREFIX}npo": _unlearned("npo", 500, lr=5e-4, alpha=8.0),
    f"{PREFIX}grad_diff": _unlearned("grad_diff", 60, alpha=3.0),
    f"{PREFIX}simnpo_shallow": _unlearned("simnpo", 10, beta=4.5, alpha=1.0),
}
"""The zoo profile's; `@1` and on are further draws."""
FURTHER: dict[str, Recipe] = {
    f"{FULL}_of_many": Exposed(well_known=MANY),
    f"{RETAIN}_of_many": Exposed(well_known=MANY, without=True),
}
"""Those that false alarms are counted on."""
