"""What is spared: the formula against a slow one, its facts, and what it is of models that know or never knew."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from families import FAMILIES
from forced_subjects import TOKENIZER
from hypothesis import given
from hypothesis import strategies as st
from layer_subjects import CANDIDATE, checkpoint, subject, wrapped

from uds_bench.errors import ConfigurationError
from uds_bench.facts import FactSet, embedded
from uds_bench.metrics import METRICS
from uds_bench.metrics import subject as subjects
from uds_bench.metrics.erasure import NO_LAYER, TAU, spared
from uds_bench.metrics.retain_facts import FEWEST, drawn_facts, fitted_facts, halves, kept_facts
from uds_bench.metrics.subject import KEPT, Subject
from uds_bench.metrics.uds import NOT_FINITE

DROPS = st.lists(st.lists(st.floats(-2, 9), min_size=3, max_size=3), min_size=1, max_size=4)


def slowly(retain: list[list[float]], drops: list[list[float]], tau: float) -> list[float]:
    found = []
    for row in drops:
        lost = total = 0.0
        for layer in range(3):
            usual = sum(one[layer] for one in retain) / len(retain)
            if usual > tau:
                total += usual
                lost += min(max(row[layer], 0.0), usual)
        found.append(1 - lost / total if total else float("nan"))
    return found


@given(DROPS, DROPS, st.sampled_from([0.0, 0.05, 1.0]))
def test_it_is_the_formula(retain: list[list[float]], drops: list[list[float]], tau: float) -> None:
    np.testing.assert_allclose(spared(np.array(retain), np.array(drops), tau), slowly(retain, drops, tau), atol=1e-9)


def test_ends() -> None:
    retain = np.array([[1.0, 2.0], [3.0, 2.0]])
    assert spared(retain, np.zeros((1, 2))).tolist() == [1.0]
    assert spared(retain, np.full((1, 2), 50.0)).tolist() == [0.0]
    assert np.isnan(spared(retain, np.array([[np.nan, 0.0]]))).all()
    for nothing in (0.0, np.nan):
        assert np.isnan(spared(np.full((2, 2), nothing), np.zeros((3, 2)))).tolist() == [True] * 3


def test_a_layer_at_the_threshold_does_not_count_and_facts_do_not_meet() -> None:
    retain = np.array([[0.5, 2.0], [0.5, 4.0]])
    assert spared(retain, np.array([[0.5, 0.0]]), tau=0.5).tolist() == [1.0]
    torn, half, whole = spared(retain, np.array([[np.nan, 1.0], [0.0, 1.5], [0.0, 0.0]]), tau=0.5)
    assert np.isnan(torn)
    assert (half, whole) == (0.5, 1.0)


def test_a_retain_fact_without_a_finite_drop_is_left_out_of_the_yardstick() -> None:
    retain = np.array([[1.0, 2.0], [np.nan, 7.0]])
    assert spared(retain, np.array([[0.5, 1.0]])).tolist() == [0.5]


@pytest.mark.parametrize(("forget", "retain"), list(product((1, 25), (2, 10, 40))))
def test_whole_people_are_kept_until_there_are_enough(forget: int, retain: int) -> None:
    facts = embedded(forget=forget, retain=retain, holdout=0)
    kept, all_kept = kept_facts(facts), facts.split("retain")
    enough = max(len(facts.split("forget")), FEWEST)
    assert len(kept) >= min(enough, len(all_kept))
    assert len(kept) - enough < 8, "no person more than it takes"
    of = {fact.cluster: sum(other.cluster == fact.cluster for other in all_kept) for fact in kept}
    assert sum(of.values()) == len(kept)
    assert kept == kept_facts(FactSet(facts))


def test_others_are_drawn_by_the_model_and_are_never_those_that_all_are_asked() -> None:
    facts = embedded(forget=1, retain=100, holdout=0)
    kept = set(kept_facts(facts).clusters)
    one, again, other = (drawn_facts(facts, key) for key in ("a", "a", "b"))
    assert one == again != other
    assert FEWEST <= len(one) < FEWEST + 8
    assert not kept & {*one.clusters, *other.clusters}
    assert len(drawn_facts(embedded(forget=1, retain=3, holdout=0), "a")) == 0


def test_a_map_is_fitted_on_what_is_kept_first_and_on_as_many_more_as_it_takes() -> None:
    facts = embedded(forget=1, retain=100, holdout=0)
    kept = kept_facts(facts)
    assert fitted_facts(facts, 1) == kept
    more = fitted_facts(facts, 2 * FEWEST)
    assert list(more)[: len(kept)] == list(kept)
    assert 2 * FEWEST <= len(more) < 2 * FEWEST + 8
    assert halves(more)[: len(kept)] == halves(kept)


def test_states_that_are_wide_have_more_text_to_be_mapped_by(monkeypatch: pytest.MonkeyPatch) -> None:
    one = subject(checkpoint("llama", CANDIDATE), facts=embedded(forget=1, retain=100, holdout=0))
    assert one.references.fitted is one.references.target(KEPT)
    few = METRICS["uds"].compute(one, "aligned")
    monkeypatch.setattr(subjects, "ROOM", 2000)
    wide = subject(checkpoint("llama", CANDIDATE), facts=embedded(forget=1, retain=100, holdout=0))
    many = METRICS["uds"].compute(wide, "aligned")
    assert many.notes["positions"] > few.notes["positions"]
    assert many.notes["people"] > few.notes["people"]
    assert METRICS["spared"].compute(wide, "default").values != []
    assert len(METRICS["spared"].compute(wide, "default").values) == len(wide.kept)


def test_halves_part_people() -> None:
    facts = kept_facts(embedded(forget=1, retain=5, holdout=0))
    sides = {fact.cluster: set() for fact in facts}
    for fact, half in zip(facts, halves(facts), strict=True):
        sides[fact.cluster].add(half)
    assert all(len(side) == 1 for side in sides.values())
    assert sorted(side.pop() for side in sides.values()) == [0, 0, 0, 1, 1]


def test_one_person_is_too_few() -> None:
    with pytest.raises(ConfigurationError, match=r"of 1 people: add facts with split .retain., of two people or more"):
        kept_facts(embedded(forget=2, retain=1, holdout=0))


def test_a_changed_model_of_the_same_digest_is_aligned_anew() -> None:
    """As a candidate before and after an attack: the map of one means nothing to the other."""
    people = embedded(forget=1, retain=2, holdout=0)
    one = subject(checkpoint("llama", CANDIDATE), facts=people)
    changed = wrapped(FAMILIES["llama"](len(TOKENIZER), seed=7), one.checkpoint.digest)
    first = METRICS["uds"].compute(one, "aligned")
    found = METRICS["uds"].compute(Subject(changed, one.references), "aligned")
    alone = METRICS["uds"].compute(subject(changed, facts=people), "aligned")
    assert found.notes["fit"] == alone.notes["fit"] != first.notes["fit"]
    assert [value.detail for value in found.values] == [value.detail for value in alone.values]


def test_what_is_recorded_of_each_fact_that_is_kept() -> None:
    """One is kept by half, one is not read whole; of a model that forgets nothing no layer counts."""
    own = SimpleNamespace(
        drops=np.array([[1.0, 0.0], [np.nan, 1.0]]), correct=np.array([1.0, 0.5]), fit=np.array([0.75])
    )
    found = []
    for drop in (1.0, 0.0):
        retain = SimpleNamespace(drops=np.full((3, 2), drop))
        subject = SimpleNamespace(
            kept=[SimpleNamespace(id="a"), SimpleNamespace(id="b")],
            drawn=lambda: [["c", 1.0, 1.0]],
            reading=lambda how, of="own", retain=retain: {("retain", "forget"): retain, ("own", "retain"): own}[
                of, how.split
            ],
        )
        found.append(METRICS["spared"].compute(subject, "default"))
    (half, torn), (none, _) = (one.values for one in found)
    assert (half.id, half.value, half.reason, half.detail) == ("a", 0.5, None, {"drops": [1.0, 0.0], "correct": 1.0})
    assert (torn.id, torn.value, torn.reason, torn.detail["correct"]) == ("b", None, NOT_FINITE, 0.5)
    assert (none.value, none.reason) == (None, NO_LAYER)
    assert found[0].notes == {"tau": TAU, "fit": [0.75], "said": 0.75, "drawn": [["c", 1.0, 1.0]]}
