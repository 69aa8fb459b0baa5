"""A model that is asked about some people after others: what was found of those is read, and only these are asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from uds_bench.attacks.attack import Attack
from uds_bench.audits.association.evaluator import AssociationEvaluator
from uds_bench.audits.association.probe_items import ProbeItem
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.facts import FactSet
from uds_bench.metrics.metric import FactValue, Measured
from uds_bench.scores import Score
from uds_bench.scoring.runner import ScoreRequest, ScoreRunner
from uds_bench.scoring.store import Store
from uds_bench.scoring.workers import WorkerPool
from uds_bench.storage import content_key


class PeopleRunner(ScoreRunner):
    """Keeps what it finds of each group of people apart beside the score of all, so that a request that is added costs
    the sentences about who asks and their strangers, and no others."""

    def __init__(
        self,
        specs: Mapping[str, CheckpointSpec],
        evaluator: AssociationEvaluator,
        groups: Sequence[Sequence[ProbeItem]],
        store: Store,
        device: str,
        attacks: Mapping[str, Attack],
        crew: WorkerPool | None = None,
        taught: FactSet | None = None,
    ) -> None:
        super().__init__(specs, evaluator, store, device, attacks, crew, taught)
        self._parts = [evaluator.about(group) for group in groups]

    @property
    def _kind(self) -> type[ScoreRunner]:
        return ScoreRunner

    @property
    def _like(self) -> Any:
        groups = [part.items for part in self._parts]
        given = (self.specs, self.evaluator, groups, self.store, self.device, self.attacks)
        return partial(PeopleRunner, *given, taught=self._taught)

    def _evaluate(self, request: ScoreRequest, evaluator: Any, subject: Any) -> Measured:
        scores = [self._of(part, request, subject) for part in self._parts]
        found = {fact.id: fact for score in scores for fact in score.per_fact}
        rows = [found[one.id] for one in evaluator.items]
        values = [FactValue(row.id, row.value, row.reason, dict(row.detail), row.label) for row in rows]
        return Measured(values, {"rendered": content_key([score.notes["rendered"] for score in scores])})

    def _of(self, part: AssociationEvaluator, request: ScoreRequest, subject: Any) -> Score:
        own = self._asking(part, self.store)
        if own.stored(request) is None:
            own._measure(request, subject)
        score = own.stored(request)
        assert score is not None
        return score
