"""One database with all that is asked of it: a cell of the grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from uds_bench.audits.lmlm.asking.deletion import RADIUS, Deletion, Policy
from uds_bench.audits.lmlm.asking.matching import Names, gold_rows, names_of
from uds_bench.facts.lookup_prompts import LookupFact, LookupPrompt, LookupPrompts
from uds_bench.retrieval.encoder import Encoder
from uds_bench.storage import content_key


@dataclass(frozen=True)
class DatabaseCell:
    """A database of one domain and topology; `policy`: how facts are deleted from it."""

    domain: str
    topology: str
    source: LookupPrompts
    policy: Policy = "alias_closure"
    radius: float = RADIUS

    @property
    def name(self) -> str:
        """Domain and topology, as one name."""
        return f"{self.domain}/{self.topology}"

    @cached_property
    def facts(self) -> dict[int, LookupFact]:
        """By id."""
        return {fact.id: fact for fact in self.source.facts}

    @cached_property
    def gold(self) -> dict[int, Names]:
        """By fact, all that it goes by."""
        return names_of(self.source)

    @cached_property
    def gold_rows(self) -> Mapping[int, Sequence[int]]:
        """By fact, the rows that say the same, by the matcher."""
        return gold_rows(self.source, self.gold)

    def deletions(self, encoder: Encoder | None = None) -> Mapping[int, Set[int]]:
        """By fact, the rows that go with it."""
        return Deletion(self.source, self.policy, encoder, self.radius).rows()

    @property
    def digest(self) -> str:
        """Database, prompts and deletion, by content."""
        return content_key([self.domain, self.topology, self.source.digest, self.policy, self.radius])


@dataclass(frozen=True)
class CellPrompt:
    """A prompt of a cell: the unit of the audit. `cluster`: the fact in its domain, whatever the database and the names
    that it has there (topologies hold the same facts), as its prompts are not independent."""

    cell: str
    prompt: LookupPrompt
    cluster: str

    @property
    def id(self) -> str:
        """Database, fact and wording, as one id."""
        return f"{self.cell}/{self.prompt.fact}/{self.prompt.wording}"

    @property
    def kind(self) -> str:
        """The wording, by which scores can be grouped."""
        return self.prompt.wording


def every_prompt(cells: Sequence[DatabaseCell]) -> list[CellPrompt]:
    """All prompts of all cells, in order."""
    cluster = clusters(cells)
    return [CellPrompt(cell.name, p, cluster[cell.name, p.fact]) for cell in cells for p in cell.source.prompts]


def clusters(cells: Sequence[DatabaseCell]) -> dict[tuple[str, int], str]:
    """Which facts are resampled together: those of a domain that say the same by any of their names.

    Args:
        cells: Databases with their facts.

    Returns:
        By cell and fact, the name of all that say the same.

    Example:
        >>> from types import SimpleNamespace
        >>> bonn, italy = (("germany",), ("capital",), ("bonn", "berlin")), (("italy",), ("capital",), ("rome",))
        >>> cells = [SimpleNamespace(name=name, domain="c", gold={1: bonn, 2: italy}) for name in ("c/base", "c/alias")]
        >>> found = clusters(cells)
        >>> found["c/base", 1] == found["c/alias", 1], found["c/base", 1] == found["c/base", 2]
        (True, False)
    """
    known: dict[tuple[str, ...], tuple[str, ...]] = {}

    def first(key: tuple[str, ...]) -> tuple[str, ...]:
        while known[key] != key:
            key = known[key] = known[known[key]]
        return key

    for cell in cells:
        for names in cell.gold.values():
            keys = sorted((cell.domain, *said) for said in product(*names))
            for key in keys:
                known.setdefault(key, key)
            for key in keys[1:]:
                one, other = first(keys[0]), first(key)
                known[max(one, other)] = min(one, other)
    return {
        (cell.name, id): " | ".join(first(min((cell.domain, *said) for said in product(*names))))
        for cell in cells
        for id, names in cell.gold.items()
    }
