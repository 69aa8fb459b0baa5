"""Which rows go with a fact: every policy beside plain loops, and what an incomplete deletion leaves."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import get_args

import numpy as np
import pytest
from hashing import HashingEncoder
from hypothesis import assume, given
from hypothesis import strategies as st

from uds_bench.audits.lmlm.asking import deletion
from uds_bench.audits.lmlm.asking.deletion import RADIUS, Deletion, Policy
from uds_bench.audits.lmlm.asking.matching import gold_rows, incomplete, is_gold, names_of
from uds_bench.errors import ConfigurationError, FactError
from uds_bench.facts.lookup_prompts import LookupFact, LookupPrompts
from uds_bench.facts.topology import embedded
from uds_bench.facts.triplets import Triplet, TripletDatabase
from uds_bench.retrieval import encoder as encoders
from uds_bench.retrieval.encoder import Vectors
from uds_bench.retrieval.retriever import Retriever
from uds_bench.retrieval.settings import RetrieverSettings

FORMS = ("ant", "Ant", "bee", "cow", "dog.", "dog", "elk")
NAMES = st.sampled_from(FORMS)
ROWS = st.lists(st.builds(Triplet, NAMES, NAMES, NAMES), min_size=1, max_size=10)
OTHERS = st.lists(NAMES, max_size=2).map(tuple)
ALIASES = st.lists(st.tuples(OTHERS, OTHERS, OTHERS), min_size=10, max_size=10)
ENCODER = HashingEncoder()


def asked_of(
    rows: list[Triplet], aliases: list[tuple[tuple[str, ...], ...]], transitive: bool = False
) -> LookupPrompts:
    facts = [LookupFact(at, row, own) for at, (row, own) in enumerate(zip(rows, aliases, strict=False))]
    try:
        return LookupPrompts(TripletDatabase(rows), tuple(facts), (), transitive)
    except FactError:
        assume(False)
        raise


def plain(text: str) -> str:
    return text.lower().rstrip(".")


def groups(asked: LookupPrompts, at: int) -> list[set[str]]:
    """The names of one field that were declared alike; merged until none meet, where aliases are transitive."""
    found = [{plain(fact.triplet[at]), *map(plain, fact.aliases[at])} for fact in asked.facts]
    if not asked.transitive:
        return found
    merged = True
    while merged:
        merged = False
        for one in found:
            for other in found:
                if one is not other and one & other and one != other:
                    one |= other
                    other |= one
                    merged = True
    return found


def spellings(declared: list[set[str]], name: str) -> set[str]:
    found = {plain(name)}
    for group in declared:
        if plain(name) in group:
            found |= group
    return found


def closure(asked: LookupPrompts, fact: LookupFact, rows: Sequence[Triplet] | None = None) -> set[int]:
    gone = set()
    for at, row in enumerate(asked.database if rows is None else rows):
        meets = []
        for field in range(3):
            declared = groups(asked, field)
            own = spellings(declared, fact.triplet[field])
            for alias in fact.aliases[field]:
                own |= spellings(declared, alias)
            meets.append(bool(own & spellings(declared, row[field])))
        if all(meets):
            gone.add(at)
    return gone


@given(ROWS, ALIASES, st.booleans())
def test_alias_closure_is_the_loops(rows: list[Triplet], aliases: list, transitive: bool) -> None:
    asked = asked_of(rows, aliases, transitive)
    found = Deletion(asked).rows()
    assert found == {fact.id: closure(asked, fact) for fact in asked.facts}


@given(ROWS, ALIASES)
def test_a_closure_is_complete_and_done_once(rows: list[Triplet], aliases: list) -> None:
    """What is left holds nothing that matches, so deleting again deletes nothing; what is left was there before."""
    asked = asked_of(rows, aliases, transitive=True)
    for fact in asked.facts:
        gone = Deletion(asked).rows()[fact.id]
        assert rows.index(fact.triplet) in gone
        names = names_of(asked)[fact.id]
        assert gold_rows(asked, names_of(asked))[fact.id] == [at for at, row in enumerate(rows) if is_gold(row, names)]
        assert gone.issuperset(gold_rows(asked, names_of(asked))[fact.id])
        left = [row for at, row in enumerate(rows) if at not in gone]
        assert not any(is_gold(row, names) for row in left)
        assert closure(asked, fact, left) == set()


@given(ROWS, ALIASES, st.integers(0, 9), st.integers(0, 2), NAMES)
def test_more_aliases_never_keep_more(rows: list[Triplet], aliases: list, of: int, field: int, name: str) -> None:
    less = asked_of(rows, aliases, transitive=True)
    of %= len(rows)
    more = [list(own) for own in aliases]
    more[of][field] = (*more[of][field], name)
    wider = asked_of(rows, [tuple(own) for own in more], transitive=True)
    before, after = Deletion(less).rows(), Deletion(wider).rows()
    assert all(before[id] <= after[id] for id in before)


@given(ROWS, ALIASES, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows: list[Triplet], aliases: list, generator: random.Random) -> None:
    asked = asked_of(rows, aliases, transitive=True)
    order = list(range(len(rows)))
    generator.shuffle(order)
    moved = LookupPrompts(TripletDatabase([rows[at] for at in order]), asked.facts, (), True)
    before, after = Deletion(asked).rows(), Deletion(moved).rows()
    assert {id: {order[at] for at in gone} for id, gone in after.items()} == before


@pytest.mark.parametrize(
    ("row", "goes"),
    [
        (("Geri Halliwell", "famous for", "Spice Girls"), True),
        (("Ginger Spice", "known for", "the Spice Girls"), True),
        (("ginger spice", "Known For", "spice girls."), True),
        (("Mel B", "famous for", "Spice Girls"), False),
        (("Geri Halliwell", "born in", "Spice Girls"), False),
        (("Geri Halliwell", "famous for", "Watford"), False),
    ],
)
def test_only_rows_that_match_on_all_three_go(row: tuple[str, str, str], goes: bool) -> None:
    own = Triplet("Geri Halliwell", "famous for", "Spice Girls")
    fact = LookupFact(7, own, (("Ginger Spice",), ("known for",), ("the Spice Girls",)))
    asked = LookupPrompts(TripletDatabase([own, Triplet(*row)]), (fact,), ())
    assert Deletion(asked).rows() == {7: {0, 1} if goes else {0}}
    assert is_gold(Triplet(*row), names_of(asked)[7]) is goes


@pytest.mark.parametrize("domain", ["countries", "politicians", "sports"])
@pytest.mark.parametrize("topology", ["base", "alias", "collision", "noise"])
def test_an_incomplete_deletion_is_seen(domain: str, topology: str) -> None:
    """Rows equal to the fact alone leave every alias row; the independent look finds these and nothing else."""
    asked = embedded(domain, topology)
    closed, exact = Deletion(asked).rows(), Deletion(asked, "exact").rows()
    assert exact == {f.id: {at for at, row in enumerate(asked.database) if row == f.triplet} for f in asked.facts}
    assert all(exact[id] <= closed[id] for id in closed)
    assert incomplete(gold_rows(asked, names_of(asked)), closed) == {}
    left = incomplete(gold_rows(asked, names_of(asked)), exact)
    assert set(left) == {id for id in closed if closed[id] != exact[id]}
    assert all(set(rows) <= closed[id] - exact[id] for id, rows in left.items())
    assert (len(left) == len(asked.facts)) is (topology == "alias")


def test_aliases_beyond_the_rank_are_deleted() -> None:
    """Twenty forms, two candidates a lookup: a filter over what was found would leave eighteen."""
    own = Triplet("Mira", "born in", "Oslo")
    others = tuple(f"Mira {at}" for at in range(20))
    rows = [own, *(Triplet(name, "born in", "Oslo") for name in others), Triplet("Lena", "born in", "Faro")]
    fact = LookupFact(0, own, (others, (), ()))
    asked = LookupPrompts(TripletDatabase(rows), (fact,), ())
    gone = Deletion(asked).rows()[0]
    assert gone == set(range(21))
    retriever = Retriever(asked.database, RetrieverSettings(top_k=2), ENCODER)
    (lookup,) = retriever.look_up([("Mira", "born in")], [gone])
    assert [one.row for one in lookup.kept] == [21]
    assert lookup.chosen == 21


@given(ROWS, ALIASES, st.sampled_from([0.3, RADIUS, 0.95]))
def test_the_radius_closure_is_the_loops(rows: list[Triplet], aliases: list, radius: float) -> None:
    asked = asked_of(rows, aliases, transitive=True)
    found = Deletion(asked, "radius_closure", ENCODER, radius).rows()
    for fact in asked.facts:
        closed = closure(asked, fact)
        near = {at for at in range(len(rows)) if any(cosine(rows[at], rows[of]) >= radius for of in closed)}
        assert found[fact.id] == closed | near


@given(ROWS, ALIASES, st.sampled_from([0.3, RADIUS, 0.95]))
def test_the_canonical_policy_is_the_loops(rows: list[Triplet], aliases: list, radius: float) -> None:
    """Each row is written into the record of the first earlier row that has its object and is an alias or near."""
    asked = asked_of(rows, aliases, transitive=True)
    record: list[int] = []
    for at, row in enumerate(rows):
        home = at
        for earlier in range(at):
            alike = []
            for field in range(3):
                declared = groups(asked, field)
                alike.append(bool(spellings(declared, row[field]) & spellings(declared, rows[earlier][field])))
            near = cosine(row, rows[earlier]) >= radius
            if alike[2] and ((alike[0] and alike[1]) or near):
                home = record[earlier]
                break
        record.append(home)
    found = Deletion(asked, "canonical", ENCODER, radius).rows()
    for fact in asked.facts:
        homes = {record[at] for at in closure(asked, fact)}
        assert found[fact.id] == {at for at in range(len(rows)) if record[at] in homes}


def cosine(one: Triplet, other: Triplet) -> float:
    first, second = (ENCODER.embed([f"{row.subject} {row.relation}"])[0].astype(float) for row in (one, other))
    value = float(np.dot(first, second))
    assume(all(abs(value - radius) > 1e-6 for radius in (0.3, RADIUS, 0.95)))
    return value


@pytest.mark.parametrize("policy", ["radius_closure", "canonical"])
def test_wider_policies_delete_no_less(policy: Policy) -> None:
    for topology in ("alias", "noise"):
        asked = embedded("countries", topology)
        closed, wider = Deletion(asked).rows(), Deletion(asked, policy, ENCODER).rows()
        assert all(closed[id] <= wider[id] for id in closed)


@pytest.mark.parametrize("policy", ["radius_closure", "canonical"])
def test_a_policy_over_embeddings_needs_an_encoder(policy: Policy) -> None:
    with pytest.raises(ConfigurationError) as error:
        Deletion(embedded("sports", "base"), policy)
    assert str(error.value) == f"deletion policy {policy} needs an encoder: name one under retriever"


def test_an_unknown_policy_is_an_error_that_names_the_others() -> None:
    with pytest.raises(ConfigurationError) as error:
        Deletion(embedded("sports", "base"), "most")
    assert str(error.value) == f"deletion policy 'most' is unknown: choose from {', '.join(get_args(Policy))}"


@pytest.mark.parametrize(
    ("known", "left"),
    [
        ("C\u00f4te d'Ivoire", "Co\u0302te d\u2019Ivoire"),
        ("United States", "United_States"),
        ("Geri Halliwell", "Geri Hal\u00adliwell"),
        ("Z\u00fcrich", "Zu\u0308rich"),
    ],
)
def test_the_same_name_written_otherwise_goes_too(known: str, left: str) -> None:
    rows = [Triplet(known, "is", "here"), Triplet(left, "is", "here"), Triplet("else", "is", "here")]
    asked = LookupPrompts(TripletDatabase(rows), (LookupFact(0, rows[0]),), ())
    assert Deletion(asked).rows() == {0: {0, 1}}


@pytest.mark.parametrize(("known", "left"), [("US", "U.S."), ("Zurich", "Z\u00fcrich"), ("co-op", "Co op")])
def test_the_matcher_sees_spellings_that_closure_does_not(known: str, left: str) -> None:
    rows = [Triplet(known, "is", "here"), Triplet(left, "is", "here"), Triplet("else", "is", "here")]
    asked = LookupPrompts(TripletDatabase(rows), (LookupFact(0, rows[0]),), ())
    assert incomplete(gold_rows(asked, names_of(asked)), Deletion(asked).rows()) == {0: [1]}


def test_the_matcher_walks_over_aliases_itself() -> None:
    """A and B are declared alike, B and C by another fact, C and D by a third: nobody says of A that it is D."""
    rows = [Triplet("A", "is", "here"), Triplet("B", "is", "there"), Triplet("D", "is", "here")]
    facts = (
        LookupFact(0, rows[0], (("B",), (), ())),
        LookupFact(1, rows[1], (("C",), (), ())),
        LookupFact(2, rows[2], (("C",), (), ())),
    )
    asked = LookupPrompts(TripletDatabase(rows), facts, (), True)
    assert incomplete(gold_rows(asked, names_of(asked)), {fact.id: {fact.id} for fact in facts})[0] == [2]
    assert Deletion(asked).rows()[0] == {0, 2}


CIRCLE = {"a": (1.0, 0.0), "b": (0.6, 0.8), "c": (0.8, 0.6), "d": (0.0, 1.0), "e": (-0.6, 0.8), "f": (0.6, -0.8)}
"""Directions whose cosines are 0.6 and 0.96 to the last digit that a retriever reads, or well apart from them."""


class Exactly(HashingEncoder):
    """A text lies where its first letter does: keys have twins, and neighbours that lie on the radius."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.array([CIRCLE[text[0]] for text in texts], np.float32)


LETTERS = st.sampled_from([f"{letter}{at}" for letter in CIRCLE for at in (1, 2)])
FEW = st.sampled_from(["x", "y"])
SAME = st.lists(st.builds(Triplet, LETTERS, FEW, FEW), min_size=1, max_size=14)


@pytest.mark.parametrize("policy", ["radius_closure", "canonical"])
@given(SAME, ALIASES, st.sampled_from([RADIUS, 0.8, 0.96, 1.0]), st.integers(1, 5))
def test_neighbours_are_those_of_all_pairs(
    policy: Policy, rows: list[Triplet], aliases: list, radius: float, block: int
) -> None:
    """The product of every two rows beside a search for each fact by blocks, with twins and ties at the radius."""
    asked = asked_of(rows, aliases, transitive=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoders, "BLOCK", block)
        patch.setattr(deletion, "BLOCK", block)
        patch.setattr(deletion, "AT_ONCE", block)
        found = Deletion(asked, policy, Exactly(), radius).rows()
    vectors = Exactly().embed([row.key for row in rows])
    near = np.round(vectors @ vectors.T, 6) >= radius
    if policy == "radius_closure":
        assert found == {
            id: own | set(np.flatnonzero(near[sorted(own)].any(axis=0)).tolist()) for id, own in asked.matching.items()
        }
        return
    home = list(range(len(rows)))
    meet = [
        [
            [
                bool(spellings(groups(asked, field), row[field]) & spellings(groups(asked, field), other[field]))
                for other in rows
            ]
            for row in rows
        ]
        for field in range(3)
    ]
    for at in range(len(rows)):
        for earlier in range(at):
            if meet[2][at][earlier] and (near[at, earlier] or (meet[0][at][earlier] and meet[1][at][earlier])):
                home[at] = home[earlier]
                break
    assert found == {
        id: {at for at in range(len(rows)) if home[at] in {home[one] for one in own}}
        for id, own in asked.matching.items()
    }
