"""One database with all that is asked of it: a cell of the grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from uds_bench.audits.lmlm.deletion import RADIUS, Deletion, Embed, Policy
from uds_bench.facts.lookup_prompts import LookupFact, LookupPrompt, LookupPrompts
from uds_bench.storage import content_key


@dataclass(frozen=True)
class Cell:
    """A database of one domain and topology; `policy`: how facts are deleted from it."""

    domain: str
    topology: str
    asked: LookupPrompts
    policy: Policy = "alias_closure"
    radius: float = RADIUS

    @property
    def name(self) -> str:
        return f"{self.domain}/{self.topology}"

    @cached_property
    def facts(self) -> dict[int, LookupFact]:
        """By id."""
        return {fact.id: fact for fact in self.asked.facts}

    def deletions(self, embed: Embed | None = None) -> dict[int, frozenset[int]]:
        """By fact, the rows that go with it."""
        return Deletion(self.asked, self.policy, embed, self.radius).rows()

    @property
    def digest(self) -> str:
        return content_key([self.domain, self.topology, self.asked.digest, self.policy, self.radius])


@dataclass(frozen=True)
class Asked:
    """A prompt of a cell: the unit of the audit. `cluster`: the fact in its domain, whatever the database (topologies
    hold the same rows), as its prompts are not independent."""

    cell: str
    prompt: LookupPrompt
    cluster: str

    @property
    def id(self) -> str:
        return f"{self.cell}/{self.prompt.fact}/{self.prompt.wording}"

    @property
    def kind(self) -> str:
        """The wording, by which scores can be grouped."""
        return self.prompt.wording


def every_prompt(cells: Sequence[Cell]) -> list[Asked]:
    """All prompts of all cells, in order."""
    return [
        Asked(cell.name, prompt, f"{cell.domain}/{' | '.join(cell.facts[prompt.fact].triplet)}")
        for cell in cells
        for prompt in cell.asked.prompts
    ]
