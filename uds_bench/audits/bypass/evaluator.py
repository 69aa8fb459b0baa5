"""The bypass audit's part that needs a model: probe every author, and keep everything that was said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from functools import partial
from typing import ClassVar, Self

from uds_bench.audits.bypass import drawn_contexts, rates
from uds_bench.audits.bypass.probe import probe, say, stops_of
from uds_bench.audits.bypass.prompts import QA_ARMS, QUESTIONS, prompts
from uds_bench.audits.bypass.record import ARMS, Probed
from uds_bench.audits.bypass.replies import Recorded, Surface, drawn_by, require_all
from uds_bench.audits.bypass.reply_origin import tied
from uds_bench.audits.bypass.section import ASKING, ReplySettings
from uds_bench.checkpoints import Checkpoint, CheckpointSpec
from uds_bench.facts.canaries import Canary, CanarySet
from uds_bench.facts.fact import SPLITS
from uds_bench.facts.reasoning import complete_prompt, open_turn
from uds_bench.metrics.metric import FactValue, Measure, Measured
from uds_bench.scores import Score
from uds_bench.scoring.evaluator import Evaluator
from uds_bench.scoring.part import some
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
        counts_choices=True,
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
        return () if found is None else (content_key(sorted((at, asdict(one)) for at, one in found.replies.items())),)

    def _recorded(self, spec: CheckpointSpec) -> Recorded | None:
        return self.recorded.get(drawn_by(spec)) if self.recorded else None

    def _tied(self, checkpoint: Checkpoint | Surface) -> tuple[Recorded | None, str]:
        """Replies that were read and may stand for the checkpoint, and in words where all replies come from."""
        recorded = self._recorded(checkpoint.spec) if self.recorded else None
        if recorded is None and not isinstance(checkpoint, Surface):
            return None, "generated"
        recorded = recorded or Recorded(checkpoint.digest, {})
        asked = prompts(checkpoint.tokenizer, self.canaries, self.asking, recorded.digest).every
        require_all(asked, recorded, not isinstance(checkpoint, Surface))
        told = f"{len(recorded.replies)} read"
        if isinstance(checkpoint, Surface):
            return recorded, f"{told}, nothing forced"
        stops = stops_of(checkpoint.tokenizer, asked)
        found, anew = tied(
            checkpoint, asked, recorded, stops, self.batch_size, partial(say, checkpoint, asking=self.asking)
        )
        return found, f"{told}, of which its weights do not say {anew}: these and the rest generated"

    def part(self, share: float, /) -> Self:
        """See `Evaluator`: of each split its share of authors."""
        asked = {one.id for split in SPLITS for one in some(self.canaries.split(split), share)}
        return replace(self, canaries=CanarySet(one for one in self.canaries if one.id in asked))

    def evaluate(self, checkpoint: Checkpoint | Surface) -> Measured:
        """Per forget author leak - out, with everything that was said and held as detail; the authors of the other
        splits are in the notes under their names."""
        recorded, source = self._tied(checkpoint)
        probed = probe(checkpoint, self.canaries, self.asking, self.batch_size, recorded)
        by_split: dict[str, list[dict[str, object]]] = {"retain": [], "holdout": []}
        values = []
        for canary, found in zip(self.canaries, probed, strict=True):
            if canary.split != "forget":
                by_split[canary.split].append(found.to_json())
                continue
            if not found.replies["auto"].exists:
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
            "replies": source,
        }
        return Measured(values, notes)


def probed_of(score: Score) -> dict[str, list[Probed]]:
    """What a stored score says of each author, by split."""
    forget = [Probed.from_json(fact.detail) for fact in score.per_fact]
    return {"forget": forget} | {
        split: [Probed.from_json(row) for row in score.notes[split]] for split in ("retain", "holdout")
    }
