"""Rates over judged prompts, with intervals over facts: a fact's prompts and databases are not independent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from uds_bench.audits.lmlm.attribution import Contingency, contingency
from uds_bench.audits.lmlm.claims import EXCUSED, INFORMATIVE
from uds_bench.audits.lmlm.judged import JudgedPrompt
from uds_bench.grouping import grouped
from uds_bench.statistics import Rate, cluster_interval, mcnemar, mean, paired_interval


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


def by_cell(judged: Iterable[JudgedPrompt]) -> dict[str, list[JudgedPrompt]]:
    """The prompts of each database."""
    return grouped(judged, lambda one: one.cell.name)


def _values(judged: Sequence[JudgedPrompt], number: Callable[[JudgedPrompt], float]) -> tuple[list[float], list[str]]:
    return [float(number(one)) for one in judged], [one.unit.cluster for one in judged]
