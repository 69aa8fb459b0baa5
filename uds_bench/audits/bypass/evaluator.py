"""The bypass audit's part that needs a model: probe every author, and keep everything that was said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from typing import ClassVar

from uds_bench.audits.bypass import drawn_contexts, rates
from uds_bench.audits.bypass.asking import ASKING, ReplySettings
from uds_bench.audits.bypass.probe import probe
from uds_bench.audits.bypass.prompts import QA_ARMS, QUESTIONS
from uds_bench.audits.bypass.record import ARMS, Probed
from uds_bench.audits.bypass.replies import Recorded, Surface, asked_by
from uds_bench.checkpoints import Checkpoint, CheckpointSpec
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
    asking: ReplySettings = ASKING
    batch_size: int = 16
    recorded: Mapping[str, Recorded] = field(default_factory=dict)
    """Replies of other engines by what the checkpoint's prompts are drawn by."""

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
        return content_key(
            [self.canaries.digest, self.asking.to_json(), QUESTIONS, ARMS, QA_ARMS, drawn_contexts.TEXTS]
        )

    def references(self, checkpoint: CheckpointSpec, device: str, /) -> tuple[str, ...]:
        """The replies that were read in, by content; nothing where the model answers here."""
        found = self._recorded(checkpoint)
        return () if found is None else (content_key(sorted((at, asdict(one)) for at, one in found.told.items())),)

    def _recorded(self, spec: CheckpointSpec) -> Recorded | None:
        return self.recorded.get(asked_by(spec)) if self.recorded else None

    def evaluate(self, checkpoint: Checkpoint | Surface) -> Measured:
        """Per forget author leak - out, with everything that was said and held as detail; the authors of the other
        splits are in the notes under their names."""
        recorded = self._recorded(checkpoint.spec) if self.recorded else None
        probed = probe(checkpoint, self.canaries, self.asking, self.batch_size, recorded)
        by_split: dict[str, list[dict[str, object]]] = {"retain": [], "holdout": []}
        values = []
        for canary, found in zip(self.canaries, probed, strict=True):
            if canary.split != "forget":
                by_split[canary.split].append(found.to_json())
                continue
            if not found.replies["auto"].asked:
                values.append(FactValue(canary.id, None, "not asked: no trace is closed", found.to_json()))
                continue
            gap = float(rates.in_trace()(canary, found)) - float(rates.in_answer()(canary, found))
            values.append(FactValue(canary.id, gap, detail=found.to_json()))
        form = self.asking.form
        turns = [open_turn(checkpoint.tokenizer, complete_prompt(c.author, c.head), form) for c in self.canaries]
        notes = {
            **by_split,
            "rendered": content_key([turn.ids for turn in turns]),
            "template": turns[0].template,
            "opened": turns[0].opened,
            "asking": self.asking.to_json() | {"tags": list(astuple(turns[0].tags))},
            "replies": _source(checkpoint, recorded),
        }
        return Measured(values, notes)


def _source(checkpoint: Checkpoint | Surface, recorded: Recorded | None) -> str:
    """Where replies come from, in words."""
    if recorded is None:
        return "generated"
    return f"{len(recorded.told)} read" + (
        ", nothing forced" if isinstance(checkpoint, Surface) else ", rest generated"
    )


def probed_of(score: Score) -> dict[str, list[Probed]]:
    """What a stored score says of each author, by split."""
    forget = [Probed.from_json(fact.detail) for fact in score.per_fact]
    return {"forget": forget} | {
        split: [Probed.from_json(row) for row in score.notes[split]] for split in ("retain", "holdout")
    }
