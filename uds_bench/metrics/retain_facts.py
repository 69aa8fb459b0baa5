"""The facts that unlearning is to keep: what alignment is fitted on, and what is spared is read from."""

from __future__ import annotations

import random
from collections import Counter
from itertools import accumulate

from uds_bench.errors import ConfigurationError
from uds_bench.facts import FactSet
from uds_bench.statistics import SEED

FEWEST = 160
"""Facts that are taken, where there are as many, however few are to be forgotten: a map has more entries than a state
has, and an interval is over people."""


def kept_facts(facts: FactSet) -> FactSet:
    """Facts to be retained, of whole people in a drawn order: as many as are to be forgotten, and `FEWEST` at least.

    Args:
        facts: Of all splits.

    Returns:
        Facts of the retain split, in their own order.

    Raises:
        ConfigurationError: They are of fewer than two people, so that a map cannot be tried on another half.
    """
    if (people := len(facts.split("retain").clusters)) < 2:
        raise ConfigurationError(
            f"depth reads what is kept, and the facts to be retained are of {people} people: "
            'add facts with split "retain", of two people or more'
        )
    return _of_whole_people(facts, SEED, max(len(facts.split("forget")), FEWEST))


def fitted_facts(facts: FactSet, count: int) -> FactSet:
    """Facts that a map is fitted on: those that are kept, and of further people as many as it takes.

    Args:
        facts: Of all splits.
        count: Facts that are wanted, where there are as many.

    Returns:
        Facts of the retain split, those of `kept_facts` first, each in their own order.
    """
    kept = kept_facts(facts)
    ids = {fact.id for fact in kept}
    more = _of_whole_people(facts, SEED, count).where(lambda fact: fact.id not in ids)
    return FactSet([*kept, *more])


def drawn_facts(facts: FactSet, key: str) -> FactSet:
    """Facts to be retained of people who are in no public draw: whoever makes a model cannot know which ones.

    Args:
        facts: Of all splits.
        key: Names the model, by its content.

    Returns:
        Up to `FEWEST` facts of whole people who are not among those of `kept_facts`; none where all are.
    """
    known = frozenset(kept_facts(facts).clusters)
    return _of_whole_people(facts.where(lambda fact: fact.cluster not in known), key, FEWEST)


def _of_whole_people(facts: FactSet, key: int | str, enough: int) -> FactSet:
    """Facts to be retained of people in an order that is drawn by a key, until there are enough."""
    retained = facts.split("retain")
    people = list(retained.clusters)
    random.Random(key).shuffle(people)
    sizes = Counter(fact.cluster for fact in retained)
    before = dict(zip(people, accumulate((sizes[one] for one in people), initial=0), strict=False))
    return retained.where(lambda fact: before[fact.cluster] < enough)


def reworded_facts(facts: FactSet) -> FactSet:
    """Facts to be retained that utility is of: those with another wording and wrong ones, of TOFU's 3,599 four hundred.

    Args:
        facts: Of all splits.

    Returns:
        Facts of the retain split, in their own order; all of them where none has both, so that each says what it lacks.
    """
    retained = facts.split("retain")
    return retained.where(lambda fact: bool(fact.paraphrased_answer and fact.perturbed_answers)) or retained


def halves(facts: FactSet) -> list[int]:
    """0 or 1 of each fact: every other person is in the other half.

    Args:
        facts: Of two people or more.

    Returns:
        One number a fact, in their order.

    Example:
        >>> from types import SimpleNamespace
        >>> facts = type("Facts", (list,), {"clusters": ("a", "b", "c")})
        >>> halves(facts(SimpleNamespace(cluster=name) for name in "aabcb"))
        [0, 0, 1, 0, 1]
    """
    place = {cluster: at % 2 for at, cluster in enumerate(facts.clusters)}
    return [place[fact.cluster] for fact in facts]
