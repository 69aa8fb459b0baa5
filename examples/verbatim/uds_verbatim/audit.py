"""The audit of one run: every model's score, and how far it lies above the model that never saw the passages."""

from __future__ import annotations

from collections.abc import Sequence

from uds_bench.audits.api import AuditRun, Session, prepared
from uds_bench.scores import Score
from uds_bench.scoring.runner import ScoreRequest, ScoreRunner
from uds_bench.statistics import Rate, mean, paired_interval
from uds_verbatim.evaluator import Passage, VerbatimEvaluator, read_passages
from uds_verbatim.section import Verbatim

NAME = "verbatim"


class VerbatimAudit(AuditRun):
    """`names`: the checkpoints that are scored together."""

    def __init__(self, runner: ScoreRunner, names: Sequence[str]) -> None:
        self.runner, self.names = runner, names

    def planned(self) -> list[tuple[ScoreRunner, list[ScoreRequest]]]:
        return [(self.runner, [ScoreRequest(name) for name in self.names])]

    def score(self, model: str) -> Score:
        return self.runner.score(ScoreRequest(model), self.planned()[0][1])

    def above_retain(self, model: str) -> Rate:
        """Mean over passages of a model's ROUGE-L less that of the retain model, -1 to 1; lower is less memory."""
        pairs = zip(self.score(model).per_fact, self.score("retain").per_fact, strict=True)
        valued = [(a.value - b.value, a.cluster) for a, b in pairs if a.value is not None and b.value is not None]
        apart = [value for value, _ in valued]
        return Rate(mean(apart), paired_interval(apart, [cluster for _, cluster in valued]))


def read(section: Verbatim) -> tuple[Passage, ...]:
    assert section.passages is not None
    return read_passages(section.passages)


def open(session: Session) -> VerbatimAudit:
    section, names, specs, store = prepared(session, NAME, Verbatim)
    evaluator = VerbatimEvaluator(session.data(NAME), section.given, section.asked)
    return VerbatimAudit(ScoreRunner(specs, evaluator, store, session.device, crew=session.crew), names)
