"""From what a model was seen to hold of people to the facts that it is to forget (WikiMem, sections 1 and 8)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from uds_bench.audits.association.probe_items import ProbeItem
from uds_bench.audits.association.ranking import Ranked
from uds_bench.facts.fact import Fact, Split
from uds_bench.facts.subjects import stated
from uds_bench.statistics import finite_or_none, mean


@dataclass(frozen=True)
class TrueValue:
    """One value that is true of a person. `strict`, `lenient`: the templates under which it ranks before all that is
    untrue, ties counted against it and for it."""

    item: ProbeItem
    value: str
    strict: tuple[int, ...]
    lenient: tuple[int, ...]
    strength: float
    lead: float
    chance: float

    def to_json(self) -> dict[str, Any]:
        """Shares of templates (M), whether all or any show it, mean z* and lead (nats), and what luck gives."""
        count = len(self.item.templates)
        return {
            "property": self.item.topic.id,
            "label": self.item.topic.label,
            "templates": count,
            "strict": {"M": len(self.strict) / count, "all": len(self.strict) == count},
            "lenient": {"M": len(self.lenient) / count, "all": len(self.lenient) == count},
            "z": finite_or_none(self.strength),
            "lead": self.lead,
            "chance": self.chance,
        }


def evidence(one: ProbeItem, ranks: Sequence[Ranked]) -> Iterator[TrueValue]:
    """Every true value of one property of a person, held or not."""
    for at, value in enumerate(one.candidates.truths):
        leads = [rank.leads[at] for rank in ranks]
        yield TrueValue(
            one,
            value,
            tuple(place for place, lead in enumerate(leads) if lead > 0),
            tuple(place for place, lead in enumerate(leads) if lead >= 0),
            mean(rank.strength for rank in ranks),
            mean(leads),
            # One true value among the untrue ones: the others are no rivals.
            1 / (1 + len(one.candidates.others)),
        )


def held_values(
    items: Sequence[ProbeItem], ranks: Mapping[str, Sequence[Ranked]], lenient: bool = False, every: bool = False
) -> list[TrueValue]:
    """What is held of some people: under any template, or, with `every`, under all of them."""
    found = []
    for one in items:
        for row in evidence(one, ranks[one.id]):
            shown = row.lenient if lenient else row.strict
            if len(shown) == len(one.templates) if every else shown:
                found.append(row)
    return found


def forget_set(
    found: Sequence[TrueValue], people: Collection[str], phrasings: int = 1, lenient: bool = False
) -> list[tuple[Fact, TrueValue]]:
    """Facts with their evidence: those of `people` (ids) to be forgotten, those of all others to be kept.

    Each in up to `phrasings` of the templates that show it, in their order.
    """
    rows = []
    for one in found:
        split: Split = "forget" if one.item.subject.id in people else "retain"
        for place in (one.lenient if lenient else one.strict)[:phrasings]:
            rows.append((stated(one.item.subject, one.item.topic, one.value, split, place), one))
    return rows
