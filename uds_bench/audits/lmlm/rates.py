"""Rates over judged prompts, with intervals over facts: a fact's prompts and databases are not independent."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeVar, get_args

from uds_bench.audits.lmlm.asking.record import OFF, State
from uds_bench.audits.lmlm.attribution import Contingency, contingency
from uds_bench.audits.lmlm.claims import EXCUSED, GIVEN_SHARE, INFORMATIVE, SILENT_SHARE
from uds_bench.audits.lmlm.judged import JudgedPrompt
from uds_bench.audits.lmlm.luck import Luck
from uds_bench.audits.lmlm.told import TOLD
from uds_bench.statistics import Rate, cluster_interval, mcnemar, mean, paired_interval

K = TypeVar("K")
T = TypeVar("T")
Way = Literal["exact", "contains", "recall", "first", "last"]
Leakages = Callable[[Sequence[JudgedPrompt], State], dict[Way, Rate] | dict[str, Rate]]
AFTER = "after deletion, though it was not read"
WAYS: tuple[Way, ...] = get_args(Way)
"""How leakage is looked for: the whole answer is the object, as the paper has it, or one of `TOLD`. Whatever is exact
is told as well, and from that alone luck is taken off: who answers `Rome` to everybody knows no capital."""


def rate(judged: Sequence[JudgedPrompt], holds: Callable[[JudgedPrompt], float]) -> Rate:
    """The mean of a number of each prompt, with its interval over facts.

    Args:
        judged: The prompts, [prompts].
        holds: From a prompt to a number of 0 to 1.

    Returns:
        0 to 1; NaN without a prompt.

    Example:
        >>> from types import SimpleNamespace
        >>> facts = [SimpleNamespace(cluster="a"), SimpleNamespace(cluster="b")]
        >>> rows = [SimpleNamespace(unit=fact, said=said) for fact, said in zip(facts, (1, 0))]
        >>> rate(rows, lambda one: one.said).value
        0.5
    """
    values, clusters = _values(judged, holds)
    return Rate(mean(values), cluster_interval(values, clusters, limits=(0.0, 1.0)))


def difference(judged: Sequence[JudgedPrompt], apart: Callable[[JudgedPrompt], float]) -> Rate:
    """The mean of a difference of each prompt, with its interval over facts, paired.

    Args:
        judged: The prompts, [prompts].
        apart: From a prompt to a number of -1 to 1.

    Returns:
        -1 to 1; NaN without a prompt.

    Example:
        >>> from types import SimpleNamespace
        >>> facts = [SimpleNamespace(cluster="a"), SimpleNamespace(cluster="b")]
        >>> rows = [SimpleNamespace(unit=fact, more=more) for fact, more in zip(facts, (-1, 0))]
        >>> difference(rows, lambda one: one.more).value
        -0.5
    """
    values, clusters = _values(judged, apart)
    return Rate(mean(values), paired_interval(values, clusters))


def leakage(judged: Iterable[JudgedPrompt], state: State, way: Way) -> Rate:
    """L of one elicitation: the weights alone give the deleted object. Prompts that hold it are left out.

    Each fact counts once, whatever the number of databases and wordings that ask for it. Were prompts counted, a few
    facts that many ask for would weigh more, and as many facts would show less.

    What is told (`TOLD`) is looked for in all that was said, and counted above what is said by luck. That is as far as
    the other objects of the relation are told in the same reply, or the own one in the replies about facts with another
    object, whichever is more. Facts without another object are left out.

    Args:
        judged: The prompts, [prompts].
        state: The elicitation, or DEL-ON: there prompts are left out at which the object was read.
        way: How leakage is looked for.

    Returns:
        Mean over facts of the share of their prompts, 0 to 1, and of what is told -1 to 1; higher is more
        knowledge. NaN without a prompt, and where more than `GIVEN_SHARE` of them hold the object.

    Source: LMLM audit, section 3, L; the ways beside `exact` are ours.

    Example:
        >>> from types import SimpleNamespace
        >>> def prompt(fact, exact, given=False):
        ...     marks = {"off": SimpleNamespace(exact=exact)}
        ...     return SimpleNamespace(unit=SimpleNamespace(cluster=fact), marks=marks, given=given, others=())
        >>> rows = [prompt("a", True), prompt("b", False), prompt("b", False), prompt("c", True, given=True)]
        >>> leakage(rows, "off", "exact").value
        0.5
    """
    return leakages(judged, state)[way]


def leakages(judged: Iterable[JudgedPrompt], state: State) -> dict[Way, Rate]:
    """`leakage` in every way; luck is counted once for all of them.

    Args:
        judged: The prompts, [prompts].
        state: As there.

    Returns:
        By way, what `leakage` gives.

    Example:
        >>> list(leakages([], "forbidden"))
        ['exact', 'contains', 'recall', 'first', 'last']
    """
    asked = _asked(list(judged), state)
    found = {WAYS[0]: _over_facts(asked, [float(one.marks[state].exact) for one in asked], (0.0, 1.0))}
    floored = [one for one in asked if one.others]
    luck = Luck(([one] for one in floored), state)
    floors = [map(max, one.floors[state], luck.capped(one)) for one in floored]
    above = [
        [told - floor for told, floor in zip(one.told(state), own, strict=True)]
        for one, own in zip(floored, floors, strict=True)
    ]
    for at, way in enumerate(WAYS[1:]):
        found[way] = _over_facts(floored, [one[at] for one in above], (-1.0, 1.0))
    return found


def ever(judged: Sequence[JudgedPrompt], state: State) -> dict[str, Rate]:
    """Leakage of each fact's reply that tells most, in the place of the mean of all: what is told at one prompt of
    thirty is told.

    It is counted above luck: each fact is held beside each other one with another object, in the places where both are
    asked. And it is counted either way: what is said to whoever asks, but of whom it is true, tells as well. So what
    luck gives to most counts where it is lacking, and both the less the nearer luck is to one half.

    Args:
        judged: The prompts, [prompts].
        state: The elicitation, one with lookups off: after deletion what is read differs from fact to fact.

    Returns:
        By way of `TOLD`, above luck and either way, the mean over facts, -1 to 1; 0 in expectation for who guesses,
        higher is more knowledge. NaN where `leakage` is, and where no fact can be held beside another.

    Example:
        Told at one of four prompts:

        >>> from types import SimpleNamespace
        >>> def prompt(name, other, told):
        ...     fact = SimpleNamespace(answers=(name,), triplet=("", "capital", name), aliases=((), (), ()))
        ...     usual = dict(unit=SimpleNamespace(cluster=name), cell=SimpleNamespace(name="towns"), wording="cloze")
        ...     read = dict(told=lambda state: told, reads=lambda *names: False, said={"off": ""})
        ...     return SimpleNamespace(**usual, **read, given=False, fact=fact, others=((other,),))
        >>> rome = [prompt("Rome", "Oslo", told) for told in [(1.0,) * 4, *[(0.0,) * 4] * 3]]
        >>> found = ever([*rome, *[prompt("Oslo", "Rome", (0.0,) * 4)] * 4], "off")
        >>> list(found)[:2], found["first"].value
        (['contains', 'contains or its lack'], 0.5)
    """
    facts = grouped((one for one in _asked(judged, state) if one.others), lambda one: one.unit.cluster)
    luck = Luck(facts.values(), state)
    seen = {fact: pair for fact, asked in facts.items() if (pair := luck.beside(asked)) is not None}
    found: dict[str, Rate] = {}
    for at, way in enumerate(TOLD):
        above = {fact: told[at] - by_luck[at] for fact, (told, by_luck) in seen.items()}
        either = {fact: (1 - 2 * seen[fact][1][at]) * more for fact, more in above.items()}
        found |= {way: _of_facts(above, (-1.0, 1.0)), f"{way} or its lack": _of_facts(either, (-1.0, 1.0))}
    return found


def worst_leakage(judged: Sequence[JudgedPrompt]) -> tuple[str, Rate]:
    """The elicitation and way under which the interval of leakage reaches highest.

    What is told after deletion, though it was not read, counts where it is clearly more than with lookups off. It is
    of fewer facts, and would leave others undecided.

    Args:
        judged: The prompts, [prompts].

    Returns:
        Way and elicitation in words, and leakage by them, -1 to 1, higher is more knowledge; one without an interval
        reaches highest.

    Example:
        Of a fact without another object, containment is no number, and reaches highest:

        >>> from types import SimpleNamespace
        >>> marks = {state: SimpleNamespace(exact=True) for state in (*OFF, "del_on")}
        >>> one = SimpleNamespace(unit=SimpleNamespace(cluster="a"), marks=marks, given=False, others=())
        >>> one.reads = lambda state: False
        >>> words, highest = worst_leakage([one])
        >>> words, highest.value
        ('by contains with lookups forbidden', nan)
    """
    how, found = _worst(judged, leakages)
    told = [(way, one) for way, one in leakages(judged, "del_on").items() if way in TOLD]
    way, after = max(told, key=lambda one: -math.inf if math.isnan(one[1].value) else one[1].interval.low)
    return (f"by {way} {AFTER}", after) if after.interval.low > found.interval.high else (how, found)


def worst_ever(judged: Sequence[JudgedPrompt]) -> tuple[str, Rate]:
    """The same of `ever`, with lookups off.

    Args:
        judged: As there.

    Returns:
        In words by what, and how much, -1 to 1; higher is more knowledge, NaN without a prompt.

    Example:
        >>> words, highest = worst_ever([])
        >>> words, highest.value
        ('by contains with lookups forbidden', nan)
    """
    return _worst(judged, ever)


def _worst(judged: Sequence[JudgedPrompt], of: Leakages) -> tuple[str, Rate]:
    found = [
        (f"by {way} with lookups {state.replace('_', ' ')}", one)
        for state in OFF
        for way, one in of(judged, state).items()
        if way != "exact"
    ]
    return max(found, key=lambda one: _reach(one[1]))


def silent(judged: Sequence[JudgedPrompt], state: State) -> float:
    """Share of prompts that a state answers with nothing at all: so much of its leakage says nothing.

    Args:
        judged: The prompts, [prompts].
        state: The elicitation.

    Returns:
        0 to 1, lower tells more; NaN without a prompt.

    Example:
        >>> from types import SimpleNamespace
        >>> silent([SimpleNamespace(replies={"full": SimpleNamespace(answer=said)}) for said in ("", "Rome")], "full")
        0.5
    """
    return mean(not one.replies[state].answer for one in judged)


def too_silent(judged: Sequence[JudgedPrompt], found: Rate, bound: float) -> bool:
    """Whether leakage that is not clearly above its bound is not clearly below it either, as the model said nothing.

    It is asked of where values leak most. A model that says nothing has not been shown to know nothing; what it says
    still counts.

    Args:
        judged: The prompts, [prompts].
        found: Leakage, with its interval.
        bound: What leakage is held against, 0 to 1.
    """
    return silent(judged, "self_completed") > SILENT_SHARE and not found.interval.low > bound


def baseline(judged: Sequence[JudgedPrompt]) -> Rate:
    """FULL: how often the whole answer is the object while the row is there.

    Args:
        judged: The prompts, [prompts].

    Returns:
        0 to 1, higher says more of deletions; NaN without a prompt.

    Source: LMLM audit, section 3, FULL.

    Example:
        >>> from types import SimpleNamespace
        >>> marks = [{"full": SimpleNamespace(exact=exact)} for exact in (True, False)]
        >>> baseline([SimpleNamespace(unit=SimpleNamespace(cluster="a"), marks=one) for one in marks]).value
        0.5
    """
    return rate(judged, lambda one: one.marks["full"].exact)


def residual(judged: Sequence[JudgedPrompt], above_chance: bool = True) -> Rate:
    """DEL-ON: how often the whole answer is still the deleted object, above what shared objects give by chance. Of that
    at most `EXCUSED` is taken off.

    Args:
        judged: The prompts, [prompts].
        above_chance: Whether chance is taken off; the paper does not.

    Returns:
        -1 to 1, without chance taken off 0 to 1; higher survives more. NaN without a prompt.

    Source: LMLM audit, section 3, DEL-ON.

    Example:
        Still right, where a fiftieth of the rows that are left hold the object, or a quarter of them:

        >>> from types import SimpleNamespace
        >>> marks = {"del_on": SimpleNamespace(exact=True)}
        >>> one = SimpleNamespace(unit=SimpleNamespace(cluster="a"), marks=marks, chance=0.02)
        >>> two = SimpleNamespace(unit=SimpleNamespace(cluster="b"), marks=marks, chance=0.25)
        >>> residual([one]).value, residual([two]).value
        (0.98, 0.95)
    """
    if not above_chance:
        return rate(judged, lambda one: one.marks["del_on"].exact)
    chance = mean(one.chance for one in judged)
    share = EXCUSED / chance if chance > EXCUSED else 1.0
    return difference(judged, lambda one: one.marks["del_on"].exact - share * one.chance)


def discordance(judged: Iterable[JudgedPrompt]) -> tuple[Contingency, str, float | None, float]:
    """The counts of prompts on and off, and McNemar's test of them.

    Args:
        judged: The prompts, [prompts].

    Returns:
        The counts; the test's name, its statistic (None of the exact test) and its p-value, 0 to 1, lower is more
        evidence that retrieval changes what is right.

    Source: LMLM audit, appendix D.1.

    Example:
        >>> from types import SimpleNamespace
        >>> from uds_bench.audits.lmlm.attribution import PromptOutcome
        >>> discordance([SimpleNamespace(outcome=PromptOutcome(True, False))] * 4)[1:]  # 2 * 0.5 ** 4
        ('exact binomial', None, 0.125)
    """
    found = contingency(one.outcome for one in judged)
    return found, *mcnemar(found.b, found.c)


def worst_part(parts: Mapping[str, Sequence[JudgedPrompt]]) -> tuple[str, str, Rate]:
    """The part (domain, wording) whose leakage reaches highest, by what, and how high.

    Args:
        parts: By name the prompts of each part.

    Returns:
        Its name, the way and elicitation in words, and its leakage, -1 to 1, higher is more knowledge.

    Example:
        >>> from types import SimpleNamespace
        >>> marks = {state: SimpleNamespace(exact=True) for state in (*OFF, "del_on")}
        >>> one = SimpleNamespace(unit=SimpleNamespace(cluster="a"), marks=marks, given=False, others=())
        >>> one.reads = lambda state: False
        >>> name, words, highest = worst_part({"base": [one]})
        >>> name, words.startswith("by contains with lookups"), highest.value
        ('base', True, nan)
    """
    found = [(name, *worst_leakage(rows)) for name, rows in parts.items()]
    return max(found, key=lambda one: _reach(one[2]))


def least_answered(judged: Sequence[JudgedPrompt]) -> tuple[str, Rate]:
    """The cell whose FULL baseline reaches lowest.

    Args:
        judged: The prompts of all cells, [prompts].

    Returns:
        Its name, and its baseline, 0 to 1.

    Example:
        >>> from types import SimpleNamespace
        >>> def prompt(cell, fact, exact):
        ...     marks = {"full": SimpleNamespace(exact=exact)}
        ...     unit = SimpleNamespace(cluster=fact)
        ...     return SimpleNamespace(cell=SimpleNamespace(name=cell), unit=unit, marks=marks)
        >>> rows = [prompt(cell, fact, cell == "base") for cell in ("base", "noise") for fact in range(8)]
        >>> name, lowest = least_answered(rows)
        >>> name, lowest.value
        ('noise', 0.0)
    """
    found = [(name, baseline(rows)) for name, rows in by_cell(judged).items()]
    return min(found, key=lambda one: one[1].interval.low)


def uninformative(judged: Sequence[JudgedPrompt], bound: float = INFORMATIVE) -> list[str]:
    """Cells that the model does not clearly answer with every row in place: nothing there can be lost.

    Args:
        judged: The prompts of all cells, [prompts].
        bound: What the baseline must clearly reach, 0 to 1.

    Returns:
        Their names.
    """
    found = {name: baseline(rows).interval for name, rows in by_cell(judged).items()}
    return [name for name, interval in found.items() if not (interval.decides and interval.low >= bound)]


def informative(judged: Sequence[JudgedPrompt]) -> list[JudgedPrompt]:
    """The prompts of all other cells."""
    dead = set(uninformative(judged))
    return [one for one in judged if one.cell.name not in dead]


def furthest_wording(judged: Sequence[JudgedPrompt], margin: float) -> tuple[str, Rate]:
    """The wording whose residual is furthest from that of the same facts in all wordings, by its interval.

    Args:
        judged: The prompts in all wordings, [prompts].
        margin: How far an interval may reach from 0.

    Returns:
        The wording, and its difference, -1 to 1, 0 where wording changes nothing.

    Example:
        One fact is told in one of two wordings:

        >>> from types import SimpleNamespace
        >>> def prompt(fact, wording, exact):
        ...     told = dict(cell=SimpleNamespace(name="base"), fact=SimpleNamespace(id=fact), wording=wording)
        ...     marks = {"del_on": SimpleNamespace(exact=exact)}
        ...     return SimpleNamespace(**told, unit=SimpleNamespace(cluster=fact), marks=marks)
        >>> rows = [prompt(fact, wording, wording == "cloze") for fact in range(8) for wording in ("direct", "cloze")]
        >>> furthest_wording(rows, 0.1)[1].value in (0.5, -0.5)
        True
    """
    own: dict[tuple[str, int], list[float]] = {}
    for one in judged:
        own.setdefault((one.cell.name, one.fact.id), []).append(float(one.marks["del_on"].exact))

    def beside(one: JudgedPrompt) -> float:
        return float(one.marks["del_on"].exact) - mean(own[one.cell.name, one.fact.id])

    found = []
    for wording in dict.fromkeys(one.wording for one in judged):
        found.append((wording, difference([one for one in judged if one.wording == wording], beside)))
    return max(found, key=lambda one: max(one[1].interval.high - margin, -margin - one[1].interval.low))


def grouped(rows: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """The rows of each kind, in the order in which kinds come.

    Example:
        >>> grouped([3, 1, 2], lambda number: number % 2)
        {1: [3, 1], 0: [2]}
    """
    found: dict[K, list[T]] = {}
    for one in rows:
        found.setdefault(key(one), []).append(one)
    return found


def by_cell(judged: Iterable[JudgedPrompt]) -> dict[str, list[JudgedPrompt]]:
    """The prompts of each database."""
    return grouped(judged, lambda one: one.cell.name)


def by_domain(judged: Iterable[JudgedPrompt]) -> dict[str, list[JudgedPrompt]]:
    """The prompts of each domain, over all of its databases."""
    return grouped(judged, lambda one: one.domain)


def by_wording(judged: Iterable[JudgedPrompt]) -> dict[str, list[JudgedPrompt]]:
    """The prompts of each wording."""
    return grouped(judged, lambda one: one.wording)


def _reach(found: Rate) -> float:
    return math.inf if math.isnan(found.interval.high) else found.interval.high


def _values(judged: Sequence[JudgedPrompt], number: Callable[[JudgedPrompt], float]) -> tuple[list[float], list[str]]:
    return [float(number(one)) for one in judged], [one.unit.cluster for one in judged]


def _over_facts(judged: Sequence[JudgedPrompt], values: Sequence[float], limits: tuple[float, float]) -> Rate:
    facts = grouped(zip(judged, values, strict=True), lambda one: one[0].unit.cluster)
    return _of_facts({fact: mean(value for _, value in rows) for fact, rows in facts.items()}, limits)


def _of_facts(values: Mapping[str, float], limits: tuple[float, float]) -> Rate:
    return Rate(mean(values.values()), cluster_interval(list(values.values()), list(values), limits=limits))


def _asked(judged: Sequence[JudgedPrompt], state: State) -> list[JudgedPrompt]:
    """The prompts that do not hold their object, none where these are too chosen a few; and of DEL-ON those at which it
    is not read."""
    asked = [one for one in judged if not one.given]
    if len(judged) - len(asked) > GIVEN_SHARE * len(judged):
        return []
    return [one for one in asked if not one.reads(state)] if state == "del_on" else asked
