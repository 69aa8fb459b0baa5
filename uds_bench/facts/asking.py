"""How facts are asked otherwise than by their own questions: in which words, and by how many replies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uds_bench.facts.name_matching import says

if TYPE_CHECKING:
    from uds_bench.facts.fact import Fact, FactSet, Split


@dataclass(frozen=True)
class Wording:
    """A question, and words that the answer is made to start with."""

    question: str
    opening: str = ""

    def tells(self, fact: Fact) -> bool:
        """Whether it says what is asked for, so that a reply that says it shows nothing."""
        return says(f"{self.question} {self.opening}", fact.entity)


Ways = Mapping[str, Sequence[Wording]]
"""By id of a fact, each way in which it is asked."""


@dataclass(frozen=True)
class Asking:
    """`ways(facts, split)` says how those of a split are asked, of all of a manifest's; a fact without any is not.

    `samples`: replies that are drawn of each way, at `temperature`, from `seed`; 0 is one greedy reply. `check(facts)`
    raises FactError where all of a manifest's facts are not those that it was written for.
    """

    ways: Callable[[FactSet, Split], Ways]
    samples: int = 0
    temperature: float = 1.0
    seed: int = 0
    check: Callable[[FactSet], None] | None = None
