"""The full model as the target of patching: every source is read against the same facts, batches and cached parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from uds_bench.checkpoints import Checkpoint
from uds_bench.code_digest import code_digest
from uds_bench.errors import CheckpointError
from uds_bench.facts import FactSet, Variant, encode, rendered_digest, tokenizer_key
from uds_bench.inference.basis_map import Align
from uds_bench.inference.batches import EntityBatch, entity_batches
from uds_bench.inference.logprobs import greedy_tokens, token_logprobs
from uds_bench.inference.parts import MAX_BYTES, part_bytes, read_part, write_part
from uds_bench.inference.patching import entity_logprobs, patched_last_layer, patched_logprobs
from uds_bench.inference.reply_rules import ReplyRules, require_same_spelling, require_served
from uds_bench.inference.states import Scope, published_states, source_states
from uds_bench.inference.streams import FullPart, UnsupportedBlocksError, full_part, streamed_logprobs
from uds_bench.storage import content_key

AGREEMENT = 1e-5
"""The fast path is used only where it differs from the hook path by no more than this, in nats, on the first batch,"""
ROUNDINGS = 4
"""or, in a dtype of fewer bits than float32, by no more than so many roundings of the largest logit (ours: 32 random
layers come to 2.9, trained ones of the zoo to 0.6; `tests/inference/test_inference_dtypes.py`),"""
MEAN_ROUNDINGS = 1
"""and by no more than so many in the root mean square: what is off everywhere is no rounding (these come to 0.5)."""
VERSION = 5
"""Rises when readings change."""
STACK = [VERSION, torch.__version__, transformers.__version__, code_digest()]
"""What intermediate results on disk depend on beside their content."""

PatchPath = Literal["streams", "hook"]


@dataclass(frozen=True)
class Reading:
    """What one source shows of each fact; arrays are [facts, layers] or [facts], in the order of the fact set.

    `drops`: fall of the entity's mean log-probability in the full model with that layer patched, nats;
    `lens`: the entity's mean log-probability read from the source's block output through the full model's norm and
    head, below the last layer only of states that were patched as they are, else NaN; `last_gap`: largest difference
    between patching the last layer and its lens (an identity: 0); `correct`: 1 where the source itself predicts every
    entity token greedily, else 0, NaN where it has none. `fit`: [layers], how well the source's states fit into the
    full model's basis, see `Alignment`; 1 of states that were patched as they are. `open`: [layers], directions in
    which the map is not known, see `Map`; 0 of these.
    """

    drops: NDArray[np.float64]
    lens: NDArray[np.float64]
    last_gap: NDArray[np.float64]
    correct: NDArray[np.float64]
    fit: NDArray[np.float64] = field(default_factory=lambda: np.ones(1))
    open: NDArray[np.float64] = field(default_factory=lambda: np.zeros(1))


class PatchingTarget:
    """Holds the full model, its encoded facts and its cached parts; `read` measures a source."""

    def __init__(
        self,
        full: Checkpoint,
        facts: FactSet,
        cache: Path | None = None,
        batch_size: int = 16,
        variant: Variant = "default",
    ) -> None:
        self.full = full
        self.variant: Variant = variant
        self.encoded = [encode(fact, full.tokenizer, variant) for fact in facts]
        self.rendered = rendered_digest(self.encoded)
        self.batches = entity_batches(self.encoded, batch_size, full.device)
        self.positions = sum(int(batch.mask.sum()) for batch in self.batches)
        self.policy = f"right padding, at most {batch_size} facts of like length"
        key = content_key([STACK, full.digest, self.rendered, batch_size, str(full.device)])
        self._folder = None if cache is None else cache / "full_parts" / key
        self._alike = {tokenizer_key(full.tokenizer)}
        self._path: PatchPath | None = None
        self.path_reason = ""

    @torch.inference_mode()
    def read(
        self,
        source: Checkpoint,
        scope: Scope = "block",
        align: Align | None = None,
    ) -> Reading:
        """One pass of the source, then the patched passes of the full model; see `Reading`.

        `align`: brings block outputs into the full model's basis before they are patched.
        """
        self._require_same_tokens(source)
        layers, path = len(self.full.anatomy.blocks), self.path(scope, source)
        drops, lens = np.full((2, len(self.encoded), layers), np.nan)
        last_gap, correct = np.full((2, len(self.encoded)), np.nan)
        for index, batch in enumerate(self.batches):
            rows = list(batch.rows)
            states = source_states(source, batch)
            own = states
            if scope != "block":
                own = source_states(source, batch, scope)
            elif self.variant == "published":
                own = published_states(source, states)
            elif align is not None:
                own = align(states, batch.rows)
            base, patched = self._patch(index, batch, own, path, scope)
            # The source's own words are read in its own dtype; what the full model reads is in the full model's.
            seen = (states if align is None else own[-1:]).to(self.full.model.dtype)
            read = token_logprobs(self.full.anatomy.readout, seen, batch.targets.expand(len(seen), -1, -1))
            drops[rows] = batch.mean_over_entity(base - patched).double().T.cpu().numpy()
            lens[rows, layers - len(seen) :] = batch.mean_over_entity(read).double().T.cpu().numpy()
            # As many positions at once as the hooks read, or 16 bits may come out otherwise.
            last = token_logprobs(self.full.anatomy.readout, seen[-1], batch.targets)
            gap = (patched[-1] - last).abs()
            if path == "streams" and self.full.model.dtype != torch.float32:
                gap = (gap - self.rounding).clamp(min=0)
            if index == 0 and scope == "block":
                # The fast path never runs a block above the last one: there the identity is put to the hooks.
                hooked = patched_last_layer(self.full, batch, own[-1])
                gap = torch.maximum(gap, (hooked - last).abs())
            last_gap[rows] = gap.masked_fill(~batch.valid, 0).amax(-1).double().cpu().numpy()
            correct[rows] = _said(source, batch, states)
        return Reading(drops, lens, last_gap, correct)

    @torch.inference_mode()
    def said(self, source: Checkpoint) -> NDArray[np.float64]:
        """`correct` of a reading alone, [facts]: one pass of the source, and none of the full model."""
        self._require_same_tokens(source)
        correct = np.full(len(self.encoded), np.nan)
        for batch in self.batches:
            correct[list(batch.rows)] = _said(source, batch, source_states(source, batch))
        return correct

    def path(self, scope: Scope = "block", source: Checkpoint | None = None) -> PatchPath:
        """Which way a source's states are patched: of block outputs decided once, by comparison on the first batch.

        In 16 bits the full model's own go by hook, where they change nothing to the bit.
        """
        if scope != "block":
            return "hook"
        if self._path is None:
            self._path = self._choose_path()
        own = source is not None and source.digest == self.full.digest
        return "hook" if own and self.full.model.dtype != torch.float32 else self._path

    def _patch(
        self, index: int, batch: EntityBatch, states: torch.Tensor, path: PatchPath, scope: Scope
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if path == "hook":
            return entity_logprobs(self.full, batch), patched_logprobs(self.full, batch, states, scope)
        part = self._part(index, batch)
        return part.base, streamed_logprobs(self.full, batch, part, states)

    def _part(self, index: int, batch: EntityBatch) -> FullPart:
        file = None if self._folder is None else self._folder / f"{index:05d}"
        part = None if file is None else read_part(file, self.full.device)
        if part is None:
            part = full_part(self.full, batch)
            # The first batch is the longest, so it bounds the size of all.
            if file is not None and part_bytes(part) * len(self.batches) <= MAX_BYTES:
                write_part(file, part)
        return part

    @cached_property
    @torch.inference_mode()
    def rounding(self) -> float:
        """What rounding alone may change in a log-probability, nats: by how much both paths may differ.

        Of 16 bits the largest logit is known to one rounding only. NaN where logits are.
        """
        one = torch.finfo(self.full.model.dtype).eps
        if one <= torch.finfo(torch.float32).eps:
            return AGREEMENT
        batch = self._some()
        logits = self.full.anatomy.readout(source_states(self.full, batch)[-1])
        return ROUNDINGS * one * float(logits[batch.valid].abs().max())

    def _some(self) -> EntityBatch:
        """The longest and the shortest fact of the first batch: with padding in it, the model builds a mask."""
        return self.batches[0].take(slice(0, None, max(1, len(self.batches[0].rows) - 1)))

    def _choose_path(self) -> PatchPath:
        if self.full.spec.quantization is not None:
            self.path_reason = "quantised weights: their layers compute otherwise where few tokens run"
            return "hook"
        batch = self._some()
        # The model's own states, each layer's put into the next: in their own place they would change nothing on
        # either path.
        states = source_states(self.full, batch).roll(1, dims=0) * 0.9
        try:
            fast = streamed_logprobs(self.full, batch, full_part(self.full, batch), states)
        except UnsupportedBlocksError as error:
            self.path_reason = f"family {self.full.anatomy.family}: {error}"
            return "hook"
        gap = (fast - patched_logprobs(self.full, batch, states))[:, batch.valid]
        most, mean, limit = gap.abs().max().item(), gap.square().mean().sqrt().item(), self.rounding
        self.path_reason = f"fast path differs from hooks by {most:.1e} on the first batch, limit {limit:.0e}"
        if limit != AGREEMENT:
            mean_limit = limit * MEAN_ROUNDINGS / ROUNDINGS
            self.path_reason += f", in the root mean square by {mean:.1e}, limit {mean_limit:.0e}"
            return "streams" if most <= limit and mean <= mean_limit else "hook"
        return "streams" if most <= limit else "hook"

    def _require_same_tokens(self, source: Checkpoint) -> None:
        name = source.spec.model
        own, full = (ReplyRules.of(one.tokenizer, one.model.generation_config) for one in (source, self.full))
        require_served(name, own, full)
        tokenizer = tokenizer_key(source.tokenizer)
        if tokenizer in self._alike:
            return
        if rendered_digest(encode(e.fact, source.tokenizer, self.variant) for e in self.encoded) != self.rendered:
            raise CheckpointError(
                f"{name}: its tokenizer splits the facts otherwise than the full model's: "
                "patching needs the same tokens; unlearn with the full model's tokenizer"
            )
        require_same_spelling(name, own, full)
        self._alike.add(tokenizer)


def _said(source: Checkpoint, batch: EntityBatch, states: torch.Tensor) -> NDArray[np.float64]:
    chosen = greedy_tokens(source.anatomy.readout, states[-1])
    right, known = ((chosen == batch.targets) | ~batch.valid), ((chosen >= 0) | ~batch.valid).all(-1)
    correct: NDArray[np.float64] = right.all(-1).double().where(known, torch.nan).cpu().numpy()
    return correct
