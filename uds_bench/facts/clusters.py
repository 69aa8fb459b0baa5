"""Which questions and answers are about one person: as a row says, or by the name that rows share."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from uds_bench.facts.letters import UNSPACED
from uds_bench.facts.person_names import Name, NamedSpan, beginning, first_words, is_part, names

QuestionAnswer = tuple[str, str]


@dataclass(frozen=True)
class NamedClusters:
    """`of`: each row's cluster. `named`: places of rows that have it by a name; `lost`: of rows that name nobody."""

    of: tuple[str, ...]
    named: tuple[int, ...]
    lost: tuple[int, ...]


def clusters_by_name(items: Sequence[QuestionAnswer], given: Mapping[int, str], nobody: str) -> NamedClusters:
    """The person that each row is about.

    It is the person whom a row's question names, else whom its answer names; of several, the one whom most questions
    name. A part of one name alone, or a declined form, is that name. In a script without capitals the name is what
    leads a question and stands in its answer. Two people whom this cannot tell apart are one cluster: intervals
    become wider by it, never narrower.

    Args:
        items: Questions and answers.
        given: By place, the cluster that a row gives; other rows that name the same person are of it.
        nobody: The cluster of all rows that name nobody.

    Returns:
        A cluster for each item.

    Example:
        >>> items = [("Where does Ada Lomvik live?", "In Ulm."), ("What is Lomvik's trade?", "Ada Lomvik is a smith.")]
        >>> clusters_by_name([*items, ("Who is it?", "A smith.")], {}, "nobody").of
        ('Ada Lomvik', 'Ada Lomvik', 'nobody')
    """
    first = first_words([question for question, _ in items], [answer for _, answer in items])
    asked, told = ([list(names(item[at], first)) for item in items] for at in (0, 1))
    people, leads = _People(asked, told), _leads(items)
    persons = [people.of(*row) or leads.get(at) for at, row in enumerate(zip(asked, told, strict=True))]
    known: dict[str | None, str] = {}
    for at, cluster in given.items():
        known.setdefault(persons[at], cluster)
    known[None] = nobody
    others = [at for at in range(len(items)) if at not in given]
    return NamedClusters(
        tuple(given.get(at) or known.get(person) or person or nobody for at, person in enumerate(persons)),
        tuple(at for at in others if persons[at] is not None),
        tuple(at for at in others if persons[at] is None),
    )


def split_people(items: Sequence[QuestionAnswer], clusters: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """People whom more than one cluster is about: most rows of each name them in full.

    Namesakes look the same, and so does what is no person and has a name of several words. So it is a sign, no proof.

    Args:
        items: Questions and answers, [rows].
        clusters: Of each row, [rows].

    Returns:
        By name the clusters, in the order of the rows.

    Example:
        >>> items = [("Where does Ada Lomvik live?", "In Ulm."), ("What is Ada Lomvik's trade?", "A smith.")]
        >>> split_people(items, ["a", "b"]), split_people(items, ["a", "a"])
        ({'Ada Lomvik': ('a', 'b')}, {})
    """
    sizes, nobody = Counter(clusters), ""
    rows = Counter(zip(clusters_by_name(items, {}, nobody).of, clusters, strict=True))
    found: defaultdict[str, list[str]] = defaultdict(list)
    for (person, cluster), count in rows.items():
        if " " in person and count > sizes[cluster] / 2:
            found[person].append(cluster)
    return {person: tuple(held) for person, held in found.items() if len(held) > 1}


class _People:
    """Whom questions name: names of several words, with their parts and forms, and single words that act."""

    def __init__(self, asked: Sequence[Sequence[NamedSpan]], told: Sequence[Sequence[NamedSpan]]) -> None:
        rows = Counter(name for row in asked for name in {span.name for span in row if span.firm})
        firm = Counter((span.name, span.firm) for row in (*asked, *told) for span in row)
        # What stands more often behind "in" or "the" than without is a place or a thing.
        may_be = [name for name in rows if firm[name, True] > firm[name, False]]
        full = [name for name in may_be if len(name) > 1]
        self._shown = _one_each(full, rows)
        self._full: defaultdict[str, list[Name]] = defaultdict(list)
        for name in full:
            for word in set(map(beginning, name)):
                self._full[word].append(name)
        acting = {span.name for row in asked for span in row if span.acts and len(span.name) == 1}
        self._shown |= {name: name[0] for name in may_be if name in acting and not self._akin(name)}
        self._rows = Counter(person for row in asked for person in set(self._named(row)))

    def of(self, asked: Sequence[NamedSpan], told: Sequence[NamedSpan]) -> str | None:
        """The person of a row, by name; None where it names nobody."""
        likely = [span for span in asked if span.firm]
        best = [max(found, key=self._weight) for row in (likely, told, asked) if (found := self._named(row))]
        # Whom one question alone names may be no person: an answer that names somebody known goes first.
        return next((person for person in best if self._rows[person] > 1), best[0] if best else None)

    def _weight(self, person: str) -> tuple[bool, bool, int]:
        """Whom several rows name goes first, of these names of several words, then whom more rows name."""
        rows = self._rows[person]
        return rows > 1, " " in person, rows

    def _named(self, row: Iterable[NamedSpan]) -> list[str]:
        found = [self._person(span) for span in row]
        return [person for person in found if person is not None]

    def _person(self, span: NamedSpan) -> str | None:
        if (known := self._shown.get(span.name)) or not (span.firm or len(span.name) > 1):
            return known
        akin = self._akin(span.name)
        return akin.pop() if len(akin) == 1 else None

    def _akin(self, name: Name) -> set[str]:
        """The people of whose name it is part, or whose name is part of it."""
        full = {full for word in name for full in self._full[beginning(word)]}
        return {self._shown[one] for one in full if is_part(name, one) or is_part(one, name)}


def _one_each(full: Sequence[Name], rows: Mapping[Name, int]) -> dict[Name, str]:
    """By name, the way in which most rows write it, itself or a name that it is a part of, or that is part of it."""
    group = {name: name for name in full}

    def root(name: Name) -> Name:
        while group[name] != name:
            name = group[name]
        return name

    longer: defaultdict[str, list[Name]] = defaultdict(list)
    for name in full:
        for word in set(map(beginning, name)):
            longer[word].append(name)
    for name in full:
        for other in longer[beginning(name[0])]:
            if is_part(name, other):
                group[root(name)] = root(other)
    alike: defaultdict[Name, list[Name]] = defaultdict(list)
    for name in full:
        alike[root(name)].append(name)
    shown = {first: max(forms, key=lambda form: (rows[form], len(form))) for first, forms in alike.items()}
    return {name: " ".join(shown[root(name)]) for name in full}


def _leads(items: Sequence[QuestionAnswer]) -> dict[int, str]:
    """By place, what leads a question without capitals and stands in its answer: two signs, or a word between spaces.

    No answer has the word that asks, so that a form of question leads none where that word comes first; where it comes
    last, the name leads. Of rows that begin alike, what they share is the person.
    """
    groups: defaultdict[tuple[str, ...], dict[int, list[str]]] = defaultdict(dict)
    for at, (question, answer) in enumerate(items):
        unspaced = UNSPACED.match(question.strip())
        units = re.findall(r"\S\s*" if unspaced else r"\S+\s*", question.strip())
        while units and "".join(units).strip() not in answer:
            units.pop()
        least = 2 if unspaced else 1
        if len(units) >= least and not any(map(str.isupper, question)):
            groups[tuple(map(str.strip, units[:least]))][at] = units
    found: dict[int, str] = {}
    for alike in groups.values():
        shared = takewhile(lambda signs: len(set(signs)) == 1, zip(*alike.values(), strict=False))
        found |= dict.fromkeys(alike, "".join(signs[0] for signs in shared).strip())
    return found
