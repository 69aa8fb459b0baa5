"""Maps into the full model's basis, against scipy, and against what they are to undo."""

from typing import Any

import numpy as np
import pytest
import torch
from families import FAMILIES, in_memory, tiny_tokenizer
from scipy.linalg import orthogonal_procrustes

from uds_bench.facts import Fact, FactSet, encode
from uds_bench.inference import basis_map
from uds_bench.inference.basis_map import Map, PairMoments, align, block_states, turn
from uds_bench.inference.batches import PaddingSide, entity_batches
from uds_bench.inference.hooks import reading

PEOPLE = ("Mira Solheim", "Idris Kamau", "Lena Duarte", "Ottoline Vey", "Bram Osei", "Ines Falk")
ASKED = [("Where does {} live?", "{} lives in ", "Tromsø by the sea"), ("What does {} write?", "{} writes ", "essays")]
FACTS = FactSet(
    Fact(f"{at}/{n}", name, "retain", asked.format(name), f"{start.format(name)}{said}.", start.format(name), said)
    for at, name in enumerate(PEOPLE)
    for n, (asked, start, said) in enumerate(ASKED)
)
TOKENIZER = tiny_tokenizer()
HALF_OF = [at % 2 for at in range(len(PEOPLE)) for _ in range(2)]


def model(seed: int) -> Any:
    return in_memory(FAMILIES["llama"](len(TOKENIZER), seed=seed), TOKENIZER)


FULL, SOURCE = model(0), model(1)


def batches(size: int, side: PaddingSide = "right") -> list[Any]:
    return entity_batches([encode(fact, TOKENIZER) for fact in FACTS], size, "cpu", side)


def aligned(source: Any, batches: list[Any], turned: bool = False) -> basis_map.Alignment:
    return align(source, batches, [block_states(FULL, batch) for batch in batches], HALF_OF, turned)


def states(checkpoint: Any, rows: list[int]) -> np.ndarray:
    """[layers, positions, width], one fact at a time, without padding."""
    found = []
    for row in rows:
        (batch,) = entity_batches([encode(FACTS[row], TOKENIZER)], 1)
        blocks = {str(i): block for i, block in enumerate(checkpoint.anatomy.blocks)}
        with torch.no_grad(), reading(blocks, lambda hidden: hidden) as kept:
            checkpoint.model(**batch.inputs())
        found.append(torch.stack([kept[name][0] for name in blocks]).double().numpy())
    return np.concatenate(found, axis=1)


def by_hand(x: np.ndarray, y: np.ndarray) -> Any:
    """One layer's map by scipy."""
    a, b = x - x.mean(0), y - y.mean(0)
    basis, _ = orthogonal_procrustes(a, b)
    factor = np.linalg.norm(b) / np.linalg.norm(a)
    return lambda z: (z - x.mean(0)) @ basis * factor + y.mean(0)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("size", [1, 5, 12])
def test_a_map_is_that_of_scipy_over_batch_sizes_and_padding(size: int, side: PaddingSide) -> None:
    found = aligned(SOURCE, batches(size, side))
    every = list(range(len(FACTS)))
    x, y = states(SOURCE, every), states(FULL, every)
    moved = found.whole(torch.tensor(x)[:, None])[:, 0].numpy()
    for layer in range(len(x)):
        np.testing.assert_allclose(moved[layer], by_hand(x[layer], y[layer])(x[layer]), atol=1e-5)


def test_the_fit_is_that_of_people_whom_a_map_was_not_fitted_on() -> None:
    found = aligned(SOURCE, batches(4))
    halves = [[row for row in range(len(FACTS)) if HALF_OF[row] == half] for half in (0, 1)]
    for layer in range(len(found.fit)):
        shares = []
        for own, other in (halves, halves[::-1]):
            fitted = by_hand(states(SOURCE, other)[layer], states(FULL, other)[layer])
            x, y = states(SOURCE, own)[layer], states(FULL, own)[layer]
            shares.append(1 - ((y - fitted(x)) ** 2).sum() / ((y - y.mean(0)) ** 2).sum())
        assert found.fit[layer] == pytest.approx(min(shares), abs=1e-6)


def test_a_fact_that_is_kept_is_mapped_by_the_people_of_the_other_half() -> None:
    found = aligned(SOURCE, batches(4))
    some = torch.randn(len(FULL.anatomy.blocks), 2, 3, FULL.model.config.hidden_size)
    moved = found.held_out(some, [0, 2])
    assert HALF_OF[0] != HALF_OF[2]
    torch.testing.assert_close(moved[:, 0], found.halves[HALF_OF[0]](some)[:, 0])
    torch.testing.assert_close(moved[:, 1], found.halves[HALF_OF[2]](some)[:, 1])
    # A half's map knows nothing of it: with that half's text changed it is the same.
    others = [batch for batch in batches(1) if HALF_OF[batch.rows[0]] == 1]
    x, y = (torch.tensor(states(one, [b.rows[0] for b in others])) for one in (SOURCE, FULL))
    torch.testing.assert_close(found.halves[0](some), Map.fit(PairMoments.of(x, y))(some), atol=1e-4, rtol=1e-3)


def test_a_model_is_its_own_image() -> None:
    found = aligned(FULL, batches(4))
    assert found.fit == pytest.approx(1.0, abs=1e-9)
    some = torch.tensor(states(FULL, [0, 1]))[:, None]
    torch.testing.assert_close(found.whole(some), some, atol=1e-6, rtol=0)


def test_a_turn_changes_the_states_and_the_map_takes_it_back() -> None:
    plain, turned = (aligned(SOURCE, batches(4), turned=one) for one in (False, True))
    some = torch.tensor(states(SOURCE, [0, 1])).float()[:, None]
    assert (turn(some) - some).abs().mean() > 0.1 * some.abs().mean()
    torch.testing.assert_close(turn(some).norm(dim=-1), some.double().norm(dim=-1))
    torch.testing.assert_close(turned.elsewhere(some, [0]).float(), plain.elsewhere(some, [0]), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(turned.held_out(some, [0]).float(), plain.held_out(some, [0]), atol=1e-5, rtol=1e-4)
    assert turned.fit == pytest.approx(plain.fit, abs=1e-6)


def test_moments_add_up() -> None:
    x, y = torch.randn(2, 3, 20, 5).double()
    whole, parts = PairMoments.of(x, y), PairMoments.of(x[:, :7], y[:, :7]) + PairMoments.of(x[:, 7:], y[:, 7:])
    for name in ("count", "x", "y", "xx", "yy", "xy"):
        torch.testing.assert_close(torch.as_tensor(getattr(whole, name)), torch.as_tensor(getattr(parts, name)))


def test_unrelated_states_do_not_fit() -> None:
    generator = torch.Generator().manual_seed(0)
    x, y, u, v = torch.randn(4, 1, 400, 8, generator=generator)
    assert Map.fit(PairMoments.of(x, y)).explained(PairMoments.of(u, v))[0] < 0.05


def test_states_that_are_not_finite_leave_nothing() -> None:
    x = torch.randn(2, 20, 4)
    x[1, 3, 2] = torch.nan
    found = Map.fit(PairMoments.of(x, torch.randn(2, 20, 4)))
    assert torch.isfinite(found.turn[0]).all()
    assert torch.isnan(found(x[:, :, None].transpose(1, 2))[1]).all()


@pytest.mark.parametrize("positions", [5, 9, 30])
def test_directions_that_positions_leave_open(positions: int) -> None:
    """One is lost with the mean; of repeated positions none is gained."""
    x, y = torch.randn(2, 1, positions, 8, generator=torch.Generator().manual_seed(0))
    found = Map.fit(PairMoments.of(torch.cat([x, x], 1), torch.cat([y, y], 1)))
    centred = [(one[0] - one[0].mean(0)).double().numpy() for one in (x, y)]
    assert found.open.tolist() == [8 - np.linalg.matrix_rank(centred[0].T @ centred[1])]
    assert found.open.tolist() == [max(0, 8 - (positions - 1))]


def test_without_the_map_a_turn_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What depth.basis must fail on: maps that leave states as they are."""
    monkeypatch.setattr(basis_map.Map, "__call__", lambda self, given: given)
    plain, turned = (aligned(SOURCE, batches(4), turned=one) for one in (False, True))
    some = torch.tensor(states(SOURCE, [0])).float()[:, None]
    assert (turned.elsewhere(some, [0]) - plain.elsewhere(some, [0])).abs().max() > 0.1
