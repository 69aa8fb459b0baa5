"""Whole readings of trained models, from the facts' text to UDS, against the plain reference."""

from copy import copy, deepcopy
from functools import cache
from typing import Any, get_args

import numpy as np
import pytest
import torch
from families import FAMILIES, in_memory, tiny_tokenizer
from references import depth
from references.depth_cases import TOLERANCE, span_of
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from uds_bench.checkpoints import find_anatomy
from uds_bench.errors import CheckpointError
from uds_bench.facts import Fact, FactSet, Variant, encode
from uds_bench.inference import patching
from uds_bench.inference.states import Scope
from uds_bench.inference.target import PatchingTarget, Reading
from uds_bench.metrics.erasure import erasure

TEXTS = (
    ("Where was Mira Solheim born?", "Mira Solheim was born in ", "Tromsø", ", Norway."),
    ("What does Idris Kamau write?", "Idris Kamau writes ", "historical fiction", " and essays."),
    ("Which prize did Lena Duarte win?", "", "Silver Quill", " Award, in 1998."),
    ("Where does Lena Duarte live?", "She lives by the ", "sea", "."),
)
FACTS = FactSet(
    [
        Fact(str(index), str(index), "forget", question, prefix + entity + rest, prefix, entity)
        for index, (question, prefix, entity, rest) in enumerate(TEXTS)
    ]
)
TOKENIZER = tiny_tokenizer()
STEPS = 16


@cache
def taught(family: str, known: int, variant: Variant = "default") -> Any:
    """A model trained on the first `known` facts until it can say them."""
    model = FAMILIES[family](len(TOKENIZER), seed=known)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(STEPS):
        for fact in FACTS[:known]:
            ids = torch.tensor([encode(fact, TOKENIZER, variant).ids])
            model(input_ids=ids, labels=ids).loss.backward()
        optimiser.step()
        optimiser.zero_grad()
    return in_memory(model, TOKENIZER, f"{family}-{known}")


def reference(full: Any, source: Any, scope: Scope, variant: Variant) -> Reading:
    pair = (full.model, full.anatomy, source.model, source.anatomy)
    spans = [span_of(encode(fact, TOKENIZER, variant)) for fact in FACTS]
    drops = [depth.drops(*pair, *span, scope=scope, published=variant == "published") for span in spans]
    layers = range(len(full.anatomy.blocks))
    lens = [[np.mean(depth.lens_logprobs(*pair, *span, layer)) for layer in layers] for span in spans]
    correct = [float(depth.entity_correct(source.model, *span)) for span in spans]
    return Reading(np.array(drops), np.array(lens), np.zeros(len(FACTS)), np.array(correct))


@pytest.mark.parametrize(
    ("family", "scope", "variant"),
    [("llama", scope, "default") for scope in get_args(Scope)]
    + [("llama", "block", "published"), ("gpt2", "block", "default"), ("gpt2", "block", "published")],
)
def test_readings_and_scores_are_the_reference(family: str, scope: Scope, variant: Variant) -> None:
    full, retain, candidate = (taught(family, known) for known in (4, 2, 3))
    target = PatchingTarget(full, FACTS, batch_size=3, variant=variant)
    found = {known: target.read(source, scope) for known, source in ((2, retain), (3, candidate))}
    expected = {known: reference(full, source, scope, variant) for known, source in ((2, retain), (3, candidate))}
    assert target.path(scope) == ("streams" if scope == "block" else "hook")
    for known in found:
        np.testing.assert_allclose(found[known].drops, expected[known].drops, rtol=0, atol=5 * TOLERANCE)
        np.testing.assert_allclose(found[known].lens, expected[known].lens, rtol=0, atol=5 * TOLERANCE)
        assert found[known].correct.tolist() == expected[known].correct.tolist()
        assert target.said({2: retain, 3: candidate}[known]).tolist() == found[known].correct.tolist()
        if scope == "block" and variant == "default":
            assert found[known].last_gap.max() <= 5 * TOLERANCE
            assert found[known].correct.tolist() == [1.0] * known + [0.0] * (4 - known)

    scores = erasure(found[2].drops, found[3].drops).score
    rows = list(zip(expected[2].drops.tolist(), expected[3].drops.tolist(), strict=True))
    wanted = [depth.erasure(*row) for row in rows]
    assert scores.tolist() == pytest.approx([np.nan if w is None else w for w in wanted], abs=1e-4, nan_ok=True)
    mean, scored = depth.score(rows)
    assert float(np.nanmean(scores)) == pytest.approx(mean, abs=1e-4)
    assert int(np.isfinite(scores).sum()) == scored


def test_the_full_model_has_lost_nothing_and_knows_all() -> None:
    full = taught("llama", 4)
    reading = PatchingTarget(full, FACTS).read(full)
    assert np.abs(reading.drops).max() <= TOLERANCE
    assert reading.correct.tolist() == [1.0] * 4


def altered(checkpoint: Any, change: Any) -> Any:
    """A copy of a checkpoint whose model went through `change`."""
    twin = copy(checkpoint)
    twin.model = deepcopy(checkpoint.model)
    twin.model = change(twin.model) or twin.model
    twin.anatomy = find_anatomy(twin.model)
    return twin


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_a_source_of_fewer_bits_reads_as_the_same_weights_in_32(family: str, dtype: torch.dtype) -> None:
    full, source = taught(family, 4), altered(taught(family, 3), lambda model: model.to(dtype))
    target = PatchingTarget(full, FACTS)
    low = target.read(source)
    high = target.read(altered(source, lambda model: model.float()))
    assert target.path() == "streams"
    assert low.last_gap.max() <= TOLERANCE
    assert low.correct.tolist() == high.correct.tolist()
    spread = np.abs(high.drops).max()
    np.testing.assert_allclose(low.drops, high.drops, rtol=0, atol=0.05 * spread)


def test_a_model_on_which_the_fast_path_is_wrong_is_patched_by_hook() -> None:
    """An attention whose scale depends on how many tokens run at once: alone, the entity's give other numbers."""

    def by_length(module: Any, query: Any, key: Any, value: Any, mask: Any, **options: Any) -> Any:
        found, weights = sdpa_attention_forward(module, query, key, value, mask, **options)
        return found * (1 + 0.02 * query.shape[2]), weights

    AttentionInterface.register("by_length", by_length)
    AttentionMaskInterface.register("by_length", sdpa_mask)
    full = altered(taught("llama", 4), lambda model: model.set_attn_implementation("by_length"))
    target = PatchingTarget(full, FACTS)
    assert target.path() == "hook"
    assert "fast path differs from hooks by" in target.path_reason
    assert np.abs(target.read(full).drops).max() == 0.0


def test_hooks_that_stop_working_show_in_the_last_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast path needs no hook there: without the check its own last layer would be compared with itself."""
    target, source = PatchingTarget(taught("llama", 4), FACTS), taught("llama", 2)
    assert target.path() == "streams"
    assert target.read(source).last_gap.max() <= TOLERANCE
    monkeypatch.setattr(patching, "_put", lambda hidden, **_: hidden)
    assert target.read(source).last_gap.max() > 0.1


def ending(checkpoint: Any, *settings: int | None, tokenizer: str | None = None) -> Any:
    """A copy whose generation settings end answers at these tokens, and its tokenizer at another."""
    twin = altered(checkpoint, lambda _: None)
    twin.model.generation_config.eos_token_id = settings[0] if len(settings) == 1 else list(settings)
    if tokenizer is not None:
        twin.tokenizer = deepcopy(TOKENIZER)
        twin.tokenizer.eos_token = tokenizer
    return twin


END, OTHER = TOKENIZER.eos_token_id, TOKENIZER.convert_tokens_to_ids("a")


@pytest.mark.parametrize(
    ("full", "source"), [((END,), (END,)), ((END,), (OTHER, END)), ((OTHER, END), (END,)), ((None,), (OTHER,))]
)
def test_answers_that_end_where_the_full_models_do_are_read(full: tuple[int, ...], source: tuple[int, ...]) -> None:
    """Settings may name more ends than the tokenizer, or none in either model: what is read is what users read."""
    target = PatchingTarget(ending(taught("llama", 4), *full), FACTS)
    assert target.said(ending(taught("llama", 2), *source)).tolist() == [1.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("settings", [(OTHER,), (None,), ()])
def test_settings_that_go_on_where_answers_are_no_longer_read_are_refused(settings: tuple[int, ...]) -> None:
    target = PatchingTarget(ending(taught("llama", 4), END), FACTS)
    for read in (target.read, target.said):
        with pytest.raises(CheckpointError, match=rf"llama-2: eos_token_id .* does not name '{TOKENIZER.eos_token}' "):
            read(ending(taught("llama", 2), *settings))


def test_a_tokenizer_whose_answers_end_elsewhere_is_refused() -> None:
    target = PatchingTarget(ending(taught("llama", 4), END), FACTS)
    with pytest.raises(CheckpointError, match=rf"llama-2: its answers end at the tokens 'a' \({OTHER}\), its parent's"):
        target.said(ending(taught("llama", 2), END, tokenizer="a"))
