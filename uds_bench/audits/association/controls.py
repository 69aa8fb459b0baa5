"""What is held of some people beside what luck and a name's look give, and rankings that cannot be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import cycle

from uds_bench.audits.association.probe_items import ProbeItem
from uds_bench.audits.association.ranking import Ranked
from uds_bench.audits.association.rates import Memorization, Named, Reading, by_luck, over, telling
from uds_bench.facts.name_matching import named
from uds_bench.statistics import ROUNDING_ERROR, Rate, mean, paired_interval


def above(
    items: Sequence[ProbeItem], strangers: Sequence[ProbeItem], found: Mapping[str, Memorization], reading: Reading
) -> Rate:
    """How much is held of some people, less what the same model brings up of people never seen who are asked the same.

    Ours. What is true of a stranger comes up by luck and rarely, so that its rate tells luck badly; what is true of
    those who ask is tried on every stranger. Ranks are held against similar names, so that fame is off them already:
    more than luck gives is not taken off. By likelihood alone fame counts, and names of people never seen tell how
    much; of a property that nobody of them was asked about, nothing. Of strangers' replies count
    those to the same form of asking that name as many values as the person's own, and no more of them than that: a
    model that recites all values to strangers would hide behind their luck.

    Args:
        items: Whom and what it is over, [items].
        strangers: People never seen, [items].
        found: By item, what its templates came to.
        reading: Which of its numbers is meant.

    Returns:
        Difference of shares, -1 to 1, higher is more knowledge; NaN where there are no such people.

    Example:
        Of one of two people never seen the model says the same:

        >>> from types import SimpleNamespace
        >>> job, true = SimpleNamespace(id="P106"), SimpleNamespace(truths=("baker",))
        >>> names = ("Ann", "Zoe", "Kim")
        >>> people = [SimpleNamespace(id=name, cluster=name, topic=job, candidates=true) for name in names]
        >>> said = zip(names, ("baker", "poet", "baker"))
        >>> found = {name: SimpleNamespace(said=(value,), first=float(value == "baker")) for name, value in said}
        >>> above(people[:1], people[1:], found, "first").value
        0.5
    """
    if not strangers:
        return Rate(math.nan, paired_interval([], []))
    told: dict[str, list[Memorization]] = {}
    for other in strangers:
        told.setdefault(other.topic.id, []).append(found[other.id])
    luck = [_of_anybody(one, told.get(one.topic.id, ()), found, reading) for one in items]
    if reading in ("first", "replied"):
        values = [getattr(found[one.id], reading) - floor for one, floor in zip(items, luck, strict=True)]
        return Rate(mean(values), paired_interval(values, [one.cluster for one in items]))
    return over(items, found, reading).minus(min(mean(luck), by_luck(items, found, reading)))


def _of_anybody(
    one: ProbeItem, rows: Sequence[Memorization], found: Mapping[str, Memorization], reading: Reading
) -> float:
    """How much of what is true of a person is brought up of strangers who are asked the same, `rows`; 0 of nobody."""
    if reading == "replied":
        theirs = [reply for row in rows for reply in row.named]
        return mean(_of_replies(one, own, theirs) for own in found[one.id].named)
    hits = [
        [value in one.candidates.truths for value in (row.said if reading == "first" else row.leaders)] for row in rows
    ]
    return mean(any(row) if reading == "some" else mean(row) for row in hits) if hits else 0.0


def _of_replies(one: ProbeItem, own: Named, others: Sequence[Named]) -> float:
    """The share of strangers' replies that name what is true of a person, of those in the same form that name as many
    values as the person's own, and no more of them than that; 0 where there is none."""
    form, size = own[0], len(own[1])
    alike = [(form, values[:size]) for theirs, values in others if theirs == form and len(values) >= size]
    return telling(alike, one.candidates.truths) if alike else 0.0


def most_above(
    items: Sequence[ProbeItem],
    strangers: Sequence[ProbeItem],
    found: Mapping[str, Memorization],
    by_any: bool = True,
) -> tuple[str, Rate]:
    """The reading in which most is held of some people beside those never seen, by the upper end of its interval.

    Args:
        items: Whom and what it is over, [items].
        strangers: People never seen, [items].
        found: By item, what its templates came to.
        by_any: Whether a fact that one phrasing alone brings up is held whole; the luck of all of them adds up in that
            reading.

    Returns:
        The reading in words, and how much: -1 to 1, higher is more knowledge. One that is no number is the most.

    Example:
        A reading that is no number stands for all:

        >>> from types import SimpleNamespace
        >>> job, true = SimpleNamespace(id="P106"), SimpleNamespace(truths=("baker",))
        >>> same = dict(topic=job, candidates=true, templates=("t",))
        >>> people = [SimpleNamespace(id=name, cluster=name, **same) for name in ("Ann", "Zoe")]
        >>> held = dict(mean=1.0, some=True, first=math.nan, said=("baker",), leaders=("baker",), chance=0.5)
        >>> held |= dict(replied=1.0, named=(("question", ("baker",)),))
        >>> found = {name: SimpleNamespace(**held) for name in ("Ann", "Zoe")}
        >>> most_above(people[:1], people[1:], found)[0]
        'by likelihood alone'
    """
    readings: dict[str, Reading] = {
        "under a phrasing": "mean",
        "by likelihood alone": "first",
        "in a reply": "replied",
    }
    if by_any:
        readings["under any phrasing"] = "some"
    rates = {name: above(items, strangers, found, reading) for name, reading in readings.items()}
    # One that is no number is the most: it decides nothing.
    return max(rates.items(), key=lambda one: math.inf if math.isnan(one[1].value) else one[1].interval.high)


def in_capitals(items: Sequence[ProbeItem], found: Mapping[str, Memorization]) -> dict[str, Memorization]:
    """What is held, had some people been told of in every reply: in capitals, behind other words."""
    told = {}
    for one in items:
        reply = f"Well, as everybody knows: {one.candidates.truths[0].upper()}!"
        said = tuple((form, named(reply, one.candidates.truths)) for form, _ in found[one.id].named)
        told[one.id] = replace(found[one.id], replied=telling(said, one.candidates.truths), named=said)
    return {**found, **told}


def less_luck(items: Sequence[ProbeItem], found: Mapping[str, Memorization]) -> Rate:
    """M of some people less what luck gives.

    Args:
        items: Whom and what it is over, [items].
        found: By item, what its templates came to.

    Returns:
        Difference of shares, -1 to 1, higher is more knowledge; NaN of nobody.

    Example:
        >>> from types import SimpleNamespace
        >>> less_luck([SimpleNamespace(id="Ann", cluster="Ann")], {"Ann": SimpleNamespace(mean=1.0, chance=0.25)}).value
        0.75
    """
    return over(items, found).minus(by_luck(items, found))


def in_place(items: Sequence[ProbeItem], of_others: Sequence[Memorization]) -> dict[str, Memorization]:
    """What is held of some people, had it been what is held of others; nothing where there are no others."""
    return dict(zip((one.id for one in items), cycle(of_others), strict=False))


def out_of_bounds(
    items: Sequence[ProbeItem], ranks: Mapping[str, Sequence[Ranked]], found: Mapping[str, Memorization]
) -> int:
    """Rankings and properties of people that break what follows from the definitions.

    z* has bounds where one value is true: of several, each is a rival of the others in all leads but its own.

    Args:
        items: Whom and what it is over, [items].
        ranks: By item, one ranking a template.
        found: By item, what its templates came to.

    Returns:
        How many are broken, 0 and above.

    Example:
        M of one half can be neither under all templates nor under none, and nine values lead by at most 8 ** .5:

        >>> from types import SimpleNamespace
        >>> ann = SimpleNamespace(id="Ann", candidates=SimpleNamespace(truths=("baker",)))
        >>> ranked = [SimpleNamespace(strength=strength, candidates=9, memorized=True) for strength in (2.8, 2.9)]
        >>> out_of_bounds([ann], {"Ann": ranked}, {"Ann": SimpleNamespace(mean=0.5, every=True, some=True)})
        2
    """
    wrong = 0
    for one in items:
        held = found[one.id]
        wrong += not float(held.every) <= held.mean <= float(held.some)
        for rank in ranks[one.id]:
            if len(one.candidates.truths) > 1 or math.isnan(rank.strength):
                continue
            wrong += rank.strength > math.sqrt(rank.candidates - 1) * (1 + ROUNDING_ERROR)
            wrong += rank.memorized and rank.strength <= 0
    return wrong


def firmer(ranks: Mapping[str, Sequence[Ranked]]) -> dict[str, list[Ranked]]:
    """Rankings whose z* is ten times as high, for a control that must fail.

    Args:
        ranks: By property of a person, one a template.

    Returns:
        The same ranks in every other respect.

    Example:
        >>> one = Ranked(rank=1, memorized=True, lenient=True, leads=(0.5,), strength=0.25, candidates=8)
        >>> firmer({"ada/award": [one]})["ada/award"][0].strength
        2.5
    """
    return {id: [replace(one, strength=10.0 * one.strength) for one in rows] for id, rows in ranks.items()}
