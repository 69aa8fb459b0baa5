"""What is done to a loaded model: it goes on with passages, answers questions, and reads texts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from uds_bench.checkpoints import Checkpoint, CheckpointSpec
from uds_bench.facts.dialogue import EncodedAnswer
from uds_bench.inference.answers import score_answers
from uds_bench.inference.generation import continue_greedily
from uds_bench.metrics.metric import FactValue, Measure, Measured, MetricSummary
from uds_bench.metrics.mia import SplitScores, min_k
from uds_bench.storage import content_key
from uds_muse.corpus import Corpus, Item
from uds_muse.rates import answer_of, rouge_l_f1

ASKED = {"verbmem_f": 128, "knowmem_f": 32, "knowmem_r": 32}
"""New tokens, as MUSE's evaluators have them."""
SHARE = 0.4
"""k of min-k in MUSE's PrivLeak."""
BATCH = 8
"""Passages are long: a cache for many of them would not fit beside a model of 7B."""
MEASURES: Mapping[str, Measure] = {
    "verbmem_f": Measure("verbmem_f", "knowledge", "MUSE, section 3.1 (C1)"),
    "knowmem_f": Measure("knowmem_f", "knowledge", "MUSE, section 3.1 (C2)"),
    "knowmem_r": Measure("knowmem_r", "utility", "MUSE, section 3.1 (C4)"),
    "privleak_auc": Measure("privleak_auc", "knowledge", "MUSE, section 3.1 (C3)"),
}


@dataclass(frozen=True)
class MuseEvaluator:
    """One metric of MUSE, by the name that MUSE has for it; of PrivLeak the AUC of one model."""

    corpus: Corpus
    metric: str

    variant: ClassVar[str] = "muse"

    @property
    def measure(self) -> Measure:
        return MEASURES[self.metric]

    @property
    def units(self) -> Sequence[Item]:
        return self.corpus[self.metric]

    @property
    def digest(self) -> str:
        return content_key([self.metric, [asdict(one) for one in self.units]])

    def references(self, checkpoint: CheckpointSpec, device: str) -> tuple[str, ...]:
        return ()

    def evaluate(self, checkpoint: Checkpoint) -> Measured:
        """Per item ROUGE-L F1, 0 to 1, of what is said, or min-k in nats of a text that is read."""
        return self._read(checkpoint) if self.metric == "privleak_auc" else self._said(checkpoint)

    def _said(self, checkpoint: Checkpoint) -> Measured:
        tokenizer, limit = checkpoint.tokenizer, ASKED[self.metric]
        prompts = [tokenizer(one.shown)["input_ids"] for one in self.units]
        found = [_words(tokenizer, one.ids) for one in continue_greedily(checkpoint, prompts, limit, BATCH)]
        true = [one.true for one in self.units]
        if self.metric == "verbmem_f":
            true = [_words(tokenizer, tokenizer(text)["input_ids"][:limit]) for text in true]
        else:
            found = [answer_of(text) for text in found]
        pairs = zip(self.units, true, found, strict=True)
        return Measured([FactValue(one.id, rouge_l_f1(text, said), detail={"said": said}) for one, text, said in pairs])

    def _read(self, checkpoint: Checkpoint) -> Measured:
        """Every token of a text counts but the first, which nothing stands before."""
        ids = [tuple(checkpoint.tokenizer(one.true)["input_ids"]) for one in self.units]
        read = [EncodedAnswer(each, 1, False, one.true) for each, one in zip(ids, self.units, strict=True)]
        values = []
        for one, scores in zip(self.units, score_answers(checkpoint, read, BATCH), strict=True):
            if int(SHARE * len(scores.logp)) == 0:
                values.append(FactValue(one.id, None, "has fewer than four tokens", label=one.label))
            else:
                values.append(FactValue(one.id, min_k(scores, SHARE), label=one.label))
        sides = SplitScores.of(values, {one.id: one.cluster for one in self.units})
        known = math.isfinite(sides.auc)
        return Measured(
            values, summary=MetricSummary(sides.auc, sides.interval()) if known else MetricSummary(None, None)
        )


def _words(tokenizer: Any, ids: Sequence[int]) -> str:
    """Text as MUSE decodes it. Transformers 5 no longer cleans up spaces for tokenizers of byte pairs if asked."""
    text = tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)
    cleaned: str = tokenizer.clean_up_tokenization(text)
    return cleaned
