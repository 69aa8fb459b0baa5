"""The LMLM audit's part that needs a model: ask everything in every state, and keep everything that was seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from uds_bench.audits.lmlm.asking.answers import mark
from uds_bench.audits.lmlm.asking.database_cell import CellPrompt, DatabaseCell, every_prompt
from uds_bench.audits.lmlm.asking.probe import Library, encoder_for, probe
from uds_bench.audits.lmlm.asking.record import STATES, LookupReply, Replies
from uds_bench.checkpoints import Checkpoint
from uds_bench.inference.lookups import Decoding, LookupDecoder
from uds_bench.metrics.metric import FactValue, Measure, Measured
from uds_bench.retrieval.settings import FALLBACKS, Fallback, RetrieverSettings
from uds_bench.scores import Score
from uds_bench.scoring.evaluator import Evaluator
from uds_bench.scoring.part import some
from uds_bench.storage import content_key

VERSION = 5


@dataclass(frozen=True)
class LmlmEvaluator(Evaluator):
    """All cells under one retriever and each of `fallbacks`; see `uds_bench.scoring.evaluator.Evaluator`."""

    cells: tuple[DatabaseCell, ...]
    retriever: RetrieverSettings = field(default_factory=RetrieverSettings)
    fallbacks: tuple[Fallback, ...] = FALLBACKS
    decoding: Decoding = field(default_factory=Decoding)
    batch_size: int = 128
    device: str = "cpu"
    """Where the encoder runs."""

    measure: ClassVar[Measure] = Measure(
        name="lmlm_residual",
        version=VERSION,
        direction="knowledge",
        limits=(0.0, 1.0),
        source="LMLM audit, section 5",
        counts_choices=True,
    )
    variant: ClassVar[str] = "exact"

    @property
    def units(self) -> Sequence[CellPrompt]:
        """What its values are of."""
        return every_prompt(self.cells)

    @property
    def digest(self) -> str:
        """Databases, retriever, encoder and decoding, by content."""
        encoder = encoder_for(self.cells, self.retriever, self.device)
        return content_key(
            [
                [cell.digest for cell in self.cells],
                self.retriever.to_json() | {"fallback": self.fallbacks},
                None if encoder is None else encoder.digest,
                vars(self.decoding),
            ]
        )

    def part(self, share: float, /) -> Self:
        """See `Evaluator`: of each database a share of the prompts, and all that it holds."""
        asked = (replace(cell.source, prompts=tuple(some(cell.source.prompts, share))) for cell in self.cells)
        cells = (replace(cell, source=source) for cell, source in zip(self.cells, asked, strict=True))
        return replace(self, cells=tuple(cells))

    def evaluate(self, checkpoint: Checkpoint) -> Measured:
        """Per prompt whether DEL-ON still gives the deleted object, under the first fallback; with what was said and
        looked up in every state under each."""
        # What was decoded under one fallback is not again under the next: most lookups find the same row.
        library, decoder = self.library(), LookupDecoder(checkpoint, self.decoding, self.batch_size)
        told = {fallback: probe(decoder, library.under(fallback))[1] for fallback in self.fallbacks}
        units, facts = self.units, {cell.name: cell.facts for cell in self.cells}
        values = []
        for at, unit in enumerate(units):
            golds = facts[unit.cell][unit.prompt.fact].answers
            right = mark(told[self.fallbacks[0]][at]["del_on"].answer, golds).exact
            detail: dict[str, Any] = {
                way: {s: replies[at][s].to_json() for s in STATES} for way, replies in told.items()
            }
            values.append(FactValue(unit.id, float(right), detail=detail))
        rendered = content_key([unit.prompt.text for unit in units])
        return Measured(values, {"touched": dict(library.touched), "rendered": rendered})

    def library(self) -> Library:
        """The databases, indexed."""
        return Library(self.cells, self.retriever, encoder_for(self.cells, self.retriever, self.device))


def replies_of(score: Score, fallback: Fallback) -> dict[str, Replies]:
    """By prompt, what a stored score says was seen in each state, under one fallback."""
    seen: dict[str, dict[str, Any]] = {fact.id: fact.detail[fallback] for fact in score.per_fact}
    return {id: {state: LookupReply.from_json(told[state]) for state in STATES} for id, told in seen.items()}
