"""The bypass audit's part that needs a model: probe every author, and keep everything that was said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import ClassVar

from uds_bench.audits.bypass import drawn_contexts, rates
from uds_bench.audits.bypass.asking import ReplySettings
from uds_bench.audits.bypass.probe import QA_ARMS, QUESTIONS, probe
from uds_bench.audits.bypass.record import ARMS, Probed
from uds_bench.checkpoints import Checkpoint
from uds_bench.facts.canaries import Canary, CanarySet
from uds_bench.facts.reasoning import complete_prompt, open_turn
from uds_bench.metrics.metric import FactValue, Measure, Measured
from uds_bench.scores import Score
from uds_bench.scoring.evaluator import Evaluator
from uds_bench.storage import content_key

VERSION = 2


@dataclass(frozen=True)
class BypassEvaluator(Evaluator):
    """See `uds_bench.scoring.evaluator.Evaluator`."""

    canaries: CanarySet
    asking: ReplySettings = field(default_factory=ReplySettings)
    batch_size: int = 16

    measure: ClassVar[Measure] = Measure(
        name="bypass_gap",
        version=VERSION,
        direction="knowledge",
        limits=(-1.0, 1.0),
        source="audit of reasoning traces, section 3",
    )
    variant: ClassVar[str] = "answer_fallback"

    @property
    def units(self) -> Sequence[Canary]:
        """What its values are of."""
        return self.canaries.split("forget")

    @property
    def digest(self) -> str:
        """What is asked, by content."""
        return content_key([self.canaries.digest, asdict(self.asking), QUESTIONS, ARMS, QA_ARMS, drawn_contexts.TEXTS])

    def evaluate(self, checkpoint: Checkpoint) -> Measured:
        """Per forget author leak - out, with everything that was said and held as detail; the authors of the other
        splits are in the notes under their names."""
        probed = probe(checkpoint, self.canaries, self.asking, self.batch_size)
        by_split: dict[str, list[dict[str, object]]] = {"retain": [], "holdout": []}
        values = []
        for canary, found in zip(self.canaries, probed, strict=True):
            if canary.split != "forget":
                by_split[canary.split].append(found.to_json())
                continue
            gap = float(rates.in_trace()(canary, found)) - float(rates.in_answer()(canary, found))
            values.append(FactValue(canary.id, gap, detail=found.to_json()))
        turns = [open_turn(checkpoint.tokenizer, complete_prompt(c.author, c.head)) for c in self.canaries]
        notes = {
            **by_split,
            "rendered": content_key([turn.ids for turn in turns]),
            "template": turns[0].template,
            "opened": turns[0].opened,
            "asking": asdict(self.asking),
        }
        return Measured(values, notes)


def probed_of(score: Score) -> dict[str, list[Probed]]:
    """What a stored score says of each author, by split."""
    forget = [Probed.from_json(fact.detail) for fact in score.per_fact]
    return {"forget": forget} | {
        split: [Probed.from_json(row) for row in score.notes[split]] for split in ("retain", "holdout")
    }
