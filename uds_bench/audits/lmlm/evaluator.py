"""The LMLM audit's part that needs a model: ask everything in every state, and keep everything that was seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from uds_bench.audits.lmlm.cell import Cell, ProbeItem, every_prompt
from uds_bench.audits.lmlm.probe import Library, encoder_for, probe
from uds_bench.audits.lmlm.record import STATES, Replies, Reply
from uds_bench.audits.lmlm.scoring import mark
from uds_bench.checkpoints import Checkpoint
from uds_bench.inference.lookups import Decoding
from uds_bench.metrics.metric import FactValue, Measure, Measured
from uds_bench.retrieval.settings import RetrieverSettings
from uds_bench.scores import Score
from uds_bench.scoring.evaluator import Evaluator
from uds_bench.storage import content_key

VERSION = 3


@dataclass(frozen=True)
class LmlmEvaluator(Evaluator):
    """All cells under one retriever; see `uds_bench.scoring.evaluator.Evaluator`."""

    cells: tuple[Cell, ...]
    retriever: RetrieverSettings = field(default_factory=RetrieverSettings)
    decoding: Decoding = field(default_factory=Decoding)
    batch_size: int = 128

    measure: ClassVar[Measure] = Measure(
        name="lmlm_residual",
        version=VERSION,
        direction="knowledge",
        limits=(0.0, 1.0),
        source="LMLM audit, section 5",
    )
    variant: ClassVar[str] = "exact"

    @property
    def units(self) -> Sequence[ProbeItem]:
        return every_prompt(self.cells)

    @property
    def digest(self) -> str:
        encoder = encoder_for(self.cells, self.retriever)
        return content_key(
            [
                [cell.digest for cell in self.cells],
                self.retriever.to_json(),
                None if encoder is None else encoder.digest,
                vars(self.decoding),
            ]
        )

    def evaluate(self, checkpoint: Checkpoint) -> Measured:
        """Per prompt whether DEL-ON still gives the deleted object, with what was said and looked up in every state."""
        library = self.library()
        units, replies = probe(checkpoint, library, self.decoding, self.batch_size)
        facts = {cell.name: cell.facts for cell in self.cells}
        values = []
        for unit, told in zip(units, replies, strict=True):
            golds = facts[unit.cell][unit.prompt.fact].answers
            right = mark(told["del_on"].answer, golds).exact
            values.append(FactValue(unit.id, float(right), detail={s: told[s].to_json() for s in STATES}))
        rendered = content_key([unit.prompt.text for unit in units])
        return Measured(values, {"touched": dict(library.touched), "rendered": rendered})

    def library(self) -> Library:
        """The databases, indexed."""
        return Library(self.cells, self.retriever)


def replies_of(score: Score) -> dict[str, Replies]:
    """By prompt, what a stored score says was seen in each state."""
    return {fact.id: {state: Reply.from_json(fact.detail[state]) for state in STATES} for fact in score.per_fact}
