"""An independent look at what is left of a fact: row by row, with spellings and a walk over aliases of its own.

Nothing here is shared with what deletes but a table of letters: two ways to the same answer that can disagree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product

from uds_bench.facts.letters import unmarked
from uds_bench.facts.lookup_prompts import LookupFact, LookupPrompts
from uds_bench.facts.name_matching import bare
from uds_bench.facts.triplets import Triplet

Names = tuple[frozenset[str], frozenset[str], frozenset[str]]
"""What a fact's subject, relation and object go by, each as its bare letters and digits."""


def names_of(source: LookupPrompts) -> dict[int, Names]:
    """By fact, its names: those that it declares, and with transitive aliases those that any fact declares of them.

    Args:
        source: The facts of a database.

    Returns:
        By fact, the bare letters of what its subject, relation and object go by.

    Example:
        >>> from uds_bench.facts.triplets import TripletDatabase
        >>> row = Triplet("Geri Halliwell", "famous for", "Spice Girls")
        >>> fact = LookupFact(1, row, (("Geri",), (), ()))
        >>> sorted(names_of(LookupPrompts(TripletDatabase([row]), (fact,), ()))[1][0])
        ['geri', 'gerihalliwell']
    """
    beside = [_graph(source.facts, at) for at in range(3)] if source.transitive else [{}, {}, {}]
    return {fact.id: _names(fact, beside) for fact in source.facts}


def is_gold(row: Triplet, names: Names) -> bool:
    """Whether a row says the same as the fact: each of its three fields is a name that the fact goes by.

    Example:
        >>> names = (frozenset({"geri"}), frozenset({"famousfor"}), frozenset({"spicegirls"}))
        >>> [is_gold(Triplet("Geri", "Famous For", said), names) for said in ("Spice-Girls", "Girls")]
        [True, False]
    """
    return all(_bare(text) in known for text, known in zip(row, names, strict=True))


def gold_rows(source: LookupPrompts, names: Mapping[int, Names]) -> dict[int, list[int]]:
    """By fact, the rows of its database that say the same.

    Args:
        source: The facts of a database.
        names: By fact, what it goes by, see `names_of`.

    Returns:
        By fact, places of rows, from 0, in order.

    Example:
        >>> from uds_bench.facts.triplets import TripletDatabase
        >>> row, other = Triplet("Geri", "famous for", "Spice Girls"), Triplet("Geri", "famous for", "Wannabe")
        >>> database = TripletDatabase([row, other, Triplet("GERI", "Famous For", "Spice-Girls")])
        >>> source = LookupPrompts(database, (LookupFact(1, row),), ())
        >>> gold_rows(source, names_of(source))
        {1: [0, 2]}
    """
    rows, about = source.database, defaultdict[tuple[str, str], list[int]](list)
    subjects = frozenset[str]().union(*(own[0] for own in names.values()))
    for at, row in enumerate(rows):
        if (subject := _bare(row.subject)) in subjects:
            about[subject, _bare(row.relation)].append(at)
    return {
        id: sorted(at for key in product(*own[:2]) for at in about.get(key, ()) if is_gold(rows[at], own))
        for id, own in names.items()
    }


def incomplete(gold: Mapping[int, Sequence[int]], deletions: Mapping[int, Collection[int]]) -> dict[int, list[int]]:
    """By fact, the rows that say the same and that its deletion left; only facts of which any is left.

    Args:
        gold: By fact, the rows that say the same, see `gold_rows`.
        deletions: By fact, the rows that went.

    Returns:
        By fact, places of rows, from 0, in order.

    Example:
        >>> incomplete({1: [0, 1]}, {1: [0]}), incomplete({1: [0, 1]}, {1: [0, 1]})
        ({1: [1]}, {})
    """
    left = {id: [at for at in rows if at not in deletions[id]] for id, rows in gold.items()}
    return {id: rows for id, rows in left.items() if rows}


def _bare(text: str) -> str:
    """Letters and digits alone; signs as they are where there are no others. What stands behind a name as a mark is no
    part of it: a row that says `Rome` with a raised 1 says Rome."""
    whole, words = bare(text), bare(unmarked(text))
    return words if 2 * len(words) > len(whole) else whole or text.strip()


def _names(fact: LookupFact, beside: Sequence[Mapping[str, set[str]]]) -> Names:
    subject, relation, object_ = (
        _reached(frozenset(map(_bare, [text, *others])), graph)
        for text, others, graph in zip(fact.triplet, fact.aliases, beside, strict=True)
    )
    return subject, relation, object_


def _graph(facts: Iterable[LookupFact], at: int) -> Mapping[str, set[str]]:
    """Which names stand in one declaration, by name."""
    beside: dict[str, set[str]] = defaultdict(set)
    for fact in facts:
        group = {_bare(name) for name in (fact.triplet[at], *fact.aliases[at])}
        for name in group:
            beside[name] |= group
    return beside


def _reached(start: frozenset[str], beside: Mapping[str, set[str]]) -> frozenset[str]:
    found, left = set(start), list(start)
    while left:
        new = beside.get(left.pop(), set()) - found
        found |= new
        left += new
    return frozenset(found)
