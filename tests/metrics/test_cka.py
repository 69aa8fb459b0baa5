"""CKA: the formula and its identities, the interval against stacking states again, and whole scores of models."""

from __future__ import annotations

import math
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from families import FAMILIES
from hypothesis import given, settings
from hypothesis import strategies as st
from layer_subjects import CANDIDATE, FORGET, FULL, RETAIN, TOKENIZER, checkpoint, subject, wrapped
from numpy.typing import NDArray
from references import layered

from uds_bench.errors import CheckpointError
from uds_bench.facts import FactSet, encode
from uds_bench.metrics.cka import METRIC, entity_states, weighted_cka
from uds_bench.metrics.metric import Measured
from uds_bench.metrics.resampling import cluster_draws

Array = NDArray[np.float64]
SEEDS = st.integers(0, 10_000)


def drawn(seed: int, tokens: int = 14, width: int = 5) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(width, width))
    x = rng.normal(size=(tokens, width)) + 3 * rng.normal(size=width)
    return x, x @ mixed + rng.normal(size=(tokens, width))


def cka(x: Array, y: Array) -> float:
    return float(weighted_cka(x, y, np.arange(len(x)), np.ones((1, len(x))))[0])


def measure(seed: int = CANDIDATE, family: str = "llama", **options: Any) -> Measured:
    return METRIC.compute(subject(checkpoint(family, seed), family, **options), "linear")


def value(measured: Measured) -> float:
    assert measured.summary is not None
    assert measured.summary.value is not None
    return measured.summary.value


# ---- the formula


@settings(max_examples=30)
@given(SEEDS)
def test_formula_is_the_reference(seed: int) -> None:
    x, y = drawn(seed)
    assert cka(x, y) == pytest.approx(layered.linear_cka(x.tolist(), y.tolist()), abs=1e-10)


@settings(max_examples=30)
@given(SEEDS, st.floats(0.01, 100))
def test_identities(seed: int, scale: float) -> None:
    x, y = drawn(seed)
    rotation, _ = np.linalg.qr(np.random.default_rng(seed + 1).normal(size=(5, 5)))
    assert cka(x, x) == pytest.approx(1, abs=1e-12)
    assert 0 <= cka(x, y) <= 1 + 1e-12
    assert cka(x, y) == pytest.approx(cka(y, x), abs=1e-12)
    assert cka(scale * x @ rotation + 7, y) == pytest.approx(cka(x, y), abs=1e-9)
    assert cka(x, scale * x @ rotation - 2) == pytest.approx(1, abs=1e-9)
    assert cka(x @ np.diag([9.0, 1, 1, 1, 1]), y) != pytest.approx(cka(x, y), abs=1e-6), "not every linear map is free"


@pytest.mark.parametrize("groups", [3, 5, 14], ids=["tensor by group", "sum by token", "one token a group"])
@pytest.mark.parametrize("seed", range(5))
def test_weights_stand_for_copies_of_tokens(seed: int, groups: int) -> None:
    """Both orders of multiplication: 3 * 3 < 14 <= 5 * 5."""
    rng = np.random.default_rng(seed)
    x, y = drawn(seed)
    of = rng.permutation(np.concatenate([np.arange(groups), rng.integers(0, groups, size=14 - groups)]))
    weights = rng.integers(0, 4, size=(6, groups)).astype(float)
    weights[:, :2] += 1
    found = weighted_cka(x, y, of, weights)
    for row, counts in enumerate(weights):
        copies = np.repeat(np.arange(14), counts[of].astype(int))
        assert found[row] == pytest.approx(layered.linear_cka(x[copies].tolist(), y[copies].tolist()), abs=1e-9)


@pytest.mark.parametrize("constant", [0.0, 1e-3, 1234.567])
def test_states_that_do_not_vary_have_no_cka(constant: float) -> None:
    x, _ = drawn(0)
    flat = np.full((14, 5), constant) * (1 + 1e-8 * x)
    assert math.isnan(cka(flat, x))
    assert math.isnan(cka(x, flat))


# ---- whole scores


def spans(facts: FactSet = FORGET) -> list[tuple[Any, int, int]]:
    return [(e.ids, e.start, e.end) for e in (encode(fact, TOKENIZER) for fact in facts)]


def plain(model: Any, facts: FactSet = FORGET) -> list[list[list[float]]]:
    layers = range(len(model.anatomy.blocks))
    return [layered.states(model.model, model.anatomy, spans(facts), layer) for layer in layers]


def plain_score(candidate: Any, family: str, facts: FactSet = FORGET) -> float:
    own, full, retain = (plain(m, facts) for m in (candidate, checkpoint(family, FULL), checkpoint(family, RETAIN)))
    to_retain = [[layered.linear_cka(x, r) for x, r in zip(m, retain, strict=True)] for m in (own, full)]
    return layered.cka_erasure(*to_retain)


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma2", "qwen3_moe"])
def test_scores_are_the_reference(family: str) -> None:
    """A candidate between the references: the mean of the full and the retain model's weights."""
    model = FAMILIES[family](len(TOKENIZER), seed=FULL)
    own, other = model.state_dict(), checkpoint(family, RETAIN).model.state_dict()
    model.load_state_dict({name: (0.3 * w + 0.7 * other[name]) for name, w in own.items()})
    candidate = wrapped(model, "between")
    found = METRIC.compute(subject(candidate, family), "linear")
    assert value(found) == pytest.approx(plain_score(candidate, family), abs=1e-5)
    assert value(found) > 0.01
    left = FactSet(fact for fact in FORGET if fact.id != FORGET[3].id)
    assert found.values[3].value == pytest.approx(plain_score(candidate, family, left), abs=1e-5)
    weights = [layer["weight"] for layer in found.notes["layers"]]
    assert weights == pytest.approx([1 - c for c in found.notes["cka_full"]])
    assert math.fsum(layer["share"] for layer in found.notes["layers"]) == pytest.approx(1)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_ends_of_the_scale(family: str) -> None:
    assert value(measure(FULL, family)) == 0
    assert value(measure(RETAIN, family)) == 1
    assert 0 <= value(measure(CANDIDATE, family)) <= 1


def test_interval_is_that_of_stacking_states_again() -> None:
    states = [plain(checkpoint("llama", seed)) for seed in (CANDIDATE, FULL, RETAIN)]
    own, full, retain = (np.array(s) for s in states)
    encoded = spans()
    fact_of = np.repeat(np.arange(len(encoded)), [end - start for _, start, end in encoded])
    draws, cluster_of = cluster_draws([fact.cluster for fact in FORGET], resamples=12)
    token_of = cluster_of[fact_of]
    for layer in (0, len(own) - 1):
        for x in (own[layer], full[layer]):
            fast = weighted_cka(x, retain[layer], token_of, draws)
            for row, counts in enumerate(draws):
                parts = [np.flatnonzero(token_of == c) for c, n in enumerate(counts) for _ in range(int(n))]
                copies = np.concatenate(parts)
                again = layered.linear_cka(x[copies].tolist(), retain[layer][copies].tolist())
                assert fast[row] == pytest.approx(again, abs=1e-9)


@pytest.mark.parametrize("batch_size", [1, 2, 8])
def test_batch_size_changes_nothing(batch_size: int) -> None:
    one, other = measure(), measure(batch_size=batch_size)
    assert value(one) == pytest.approx(value(other), abs=1e-5)
    assert [v.value for v in one.values] == pytest.approx([v.value for v in other.values], abs=1e-5)


def test_states_stand_in_the_order_of_facts() -> None:
    model = checkpoint("gpt2", CANDIDATE)
    encoded = [encode(fact, TOKENIZER) for fact in FORGET]
    np.testing.assert_allclose(entity_states(model, encoded, 3), np.array(plain(model)), atol=1e-4)


def test_states_are_held_once_in_float32_and_widened_a_layer_at_a_time() -> None:
    full, retain = (checkpoint("llama", seed, layers=24, width=256) for seed in (FULL, RETAIN))
    encoded = [encode(fact, TOKENIZER) for fact in FORGET]
    tracemalloc.start()
    try:
        states, held = entity_states(full, encoded, 3), tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (states.dtype, states.flags.owndata) == (np.float32, True), "or they lie where no peak is seen"
    assert held[1] < states.nbytes + 2 * states[0].nbytes
    others, fact_of = entity_states(retain, encoded, 3), np.arange(states.shape[1])
    for x, y in zip(states, others, strict=True):
        found = weighted_cka(x, y, fact_of, np.ones((1, len(x))))
        assert found == weighted_cka(x.astype(float), y.astype(float), fact_of, np.ones((1, len(x))))


def test_references_that_are_alike_leave_it_undefined() -> None:
    found = METRIC.compute(subject(checkpoint("llama", CANDIDATE), retain=checkpoint("llama", FULL)), "linear")
    assert found.summary is not None
    assert found.summary.value is None
    assert found.notes["undefined"] == "no layer tells the full from the retain model"
    assert all(v.value is None and v.reason for v in found.values)


def test_a_broken_candidate_has_no_score() -> None:
    model = FAMILIES["llama"](len(TOKENIZER), seed=CANDIDATE)
    model.get_input_embeddings().weight.data.fill_(math.nan)
    found = METRIC.compute(subject(wrapped(model, "broken")), "linear")
    assert found.summary is not None
    assert found.summary.value is None
    assert all(v.value is None for v in found.values)


def test_other_tokens_are_refused() -> None:
    from families import tiny_tokenizer

    model = wrapped(FAMILIES["llama"](len(TOKENIZER)), "other tokens", tiny_tokenizer(bos=False))
    model.tokenizer.bos_token = None
    with pytest.raises(CheckpointError, match="other tokens: its tokenizer splits the facts otherwise"):
        METRIC.compute(subject(model), "linear")


def test_what_references_give_is_kept_on_disk(tmp_path: Path) -> None:
    first = measure(cache=tmp_path)
    references = subject(cache=tmp_path).references
    loads: list[str] = []
    load = references._load
    references._load = lambda which: (loads.append(which), load(which))[1]
    from uds_bench.metrics.subject import Subject

    again = METRIC.compute(Subject(checkpoint("llama", CANDIDATE), references), "linear")
    assert again == first
    assert "retain" not in loads
    assert len(list(tmp_path.rglob("arrays/*"))) == 1
    (kept,) = references._arrays.values()
    assert kept["retain"].dtype == np.float32
