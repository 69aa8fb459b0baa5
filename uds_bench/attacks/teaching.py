"""What an attack teaches, and what is judged after it: no answer that is judged is taught, or all of them are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import torch

from uds_bench.errors import ConfigurationError, did_you_mean
from uds_bench.facts import FactSet, Split
from uds_bench.facts.name_matching import says

Data = Literal["forget", "retain", "unrelated"]
SPLITS: dict[Data, Split] = {"forget": "forget", "retain": "retain", "unrelated": "holdout"}
"""What was to be forgotten; what was to be kept; what is of people of whom no model was taught."""


@dataclass(frozen=True)
class Teaching:
    """Facts of `share` of the people of a split, drawn from `seed`, are taught.

    Facts that say the entity of a judged one are left out. Where all people to be forgotten are taught, what is judged
    is what was taught. Raises ConfigurationError for data that there is not, and a share that is not above 0 to 1.
    """

    data: Data = "forget"
    share: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.data not in SPLITS:
            near = did_you_mean(self.data, get_args(Data))
            raise ConfigurationError(f"relearning: data = {self.data!r} is unknown: {near}")
        if not 0 < self.share <= 1:
            raise ConfigurationError(f"relearning: share = {self.share:g} must be above 0 and at most 1")

    def taught(self, facts: FactSet) -> FactSet:
        """What is trained on, of a manifest's facts.

        Raises ConfigurationError where the split is empty, of one person that cannot be parted, or nothing is left.
        """
        pool, chosen = facts.split(SPLITS[self.data]), self._people(facts)
        if not pool:
            raise ConfigurationError(
                f"relearning on {self.data} facts: the facts have no split {SPLITS[self.data]}: add some"
            )
        judged = self.judged(facts)
        if self.data == "forget" and len(judged) == len(pool):
            return pool
        secret = {fact.entity for fact in judged}
        kept = pool.where(
            lambda fact: (
                fact.cluster in chosen and not any(says(f"{fact.question} {fact.answer}", name) for name in secret)
            )
        )
        if not kept:
            raise ConfigurationError(f"relearning on {self.data} facts: each says an entity that is judged: add others")
        return kept

    def judged(self, facts: FactSet) -> FactSet:
        """Facts to be forgotten of people who are not taught; all of them where everybody is."""
        forget = facts.split("forget")
        if self.data != "forget" or self.share == 1:
            return forget
        chosen = self._people(facts)
        return forget.where(lambda fact: fact.cluster not in chosen)

    def _people(self, facts: FactSet) -> frozenset[str]:
        """Those who are taught: at least one, and where a part is, not the last one."""
        people = facts.split(SPLITS[self.data]).clusters
        if self.share == 1:
            return frozenset(people)
        if len(people) < 2:
            raise ConfigurationError(
                f"relearning on a share of the {self.data} facts: they are of {len(people)} people: two are needed"
            )
        order = torch.randperm(len(people), generator=torch.Generator().manual_seed(self.seed)).tolist()
        return frozenset(people[at] for at in order[: min(max(round(self.share * len(people)), 1), len(people) - 1)])
