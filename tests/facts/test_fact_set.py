"""A set of facts: a sequence with unique ids, splits, clusters and a digest."""

from dataclasses import replace

import pytest

from uds_bench.errors import FactError
from uds_bench.facts import SPLITS, Fact, FactSet, embedded

FACTS = embedded(2, 3, 1)


def test_a_fact_set_is_an_immutable_sequence() -> None:
    assert len(FACTS) == 48
    assert list(FACTS) == [FACTS[at] for at in range(48)]
    assert isinstance(FACTS[:3], FactSet)
    assert list(FACTS[:3]) == list(FACTS)[:3]
    assert FACTS[0] in FACTS
    assert FactSet(FACTS) == FACTS
    assert hash(FactSet(FACTS)) == hash(FACTS)
    assert repr(FACTS) == "FactSet(16 forget, 24 retain, 8 holdout)"
    assert repr(FactSet([])) == "FactSet(0 forget, 0 retain, 0 holdout)"


def test_splits_and_clusters_keep_their_order() -> None:
    assert [fact for name in SPLITS for fact in FACTS.split(name)] == list(FACTS)
    assert FACTS.clusters == ("forget00", "forget01", "retain00", "retain01", "retain02", "holdout00")
    with pytest.raises(FactError, match="split 'test' is unknown; use one of forget, retain, holdout"):
        FACTS.split("test")  # type: ignore[arg-type]


def test_two_facts_never_share_an_id() -> None:
    with pytest.raises(FactError, match="fact 'forget00/person_name': key 'id' occurs twice"):
        FactSet([FACTS[0], FACTS[0]])


@pytest.mark.parametrize("key", ["id", "cluster", "question", "paraphrased_answer", "kind"])
def test_the_digest_sees_every_field_and_the_order(key: str) -> None:
    changed = replace(FACTS[0], **{key: "changed"})
    assert FactSet([changed, *FACTS[1:]]).digest != FACTS.digest
    assert FactSet(reversed(FACTS)).digest != FACTS.digest
    assert FactSet(FACTS).digest == FACTS.digest


def test_the_entity_is_the_first_at_or_after_the_prefix() -> None:
    fact = Fact("a", "c", "forget", "Q", "Orvo knows Orvo and Orvo", "Orvo knows", "Orvo")
    assert fact.entity_start == 11
