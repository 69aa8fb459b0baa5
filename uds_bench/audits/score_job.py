"""A job: scores by metric that a command line speaks of, and the runner that has or computes them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from uds_bench.errors import UdsError
from uds_bench.storage import StorePlace, default_cache
from uds_bench.zoo.ready import resolve_zoo

if TYPE_CHECKING:
    from rich.console import Console

    from uds_bench.attacks import Attack
    from uds_bench.checkpoints import CheckpointSpec
    from uds_bench.engines.shard import Shard
    from uds_bench.facts import FactSet
    from uds_bench.scores import Score
    from uds_bench.scoring.engine import Engine
    from uds_bench.scoring.metric_runner import MetricRunner
    from uds_bench.scoring.runner import ScoreRequest


@dataclass(frozen=True)
class Job:
    """`requests` by checkpoint, in the order of the manifest: the references come first.

    `left_out`: if no metric was named, the metrics that the facts cannot feed, and why.
    """

    specs: Mapping[str, CheckpointSpec]
    attacks: Mapping[str, Attack]
    facts: FactSet
    requests: Mapping[str, list[ScoreRequest]]
    store: StorePlace
    device: str
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def needed(self) -> list[str]:
        """The checkpoints to be at hand: those asked for, and the references that they are measured against."""
        from uds_bench.scoring.metric_runner import REFERENCES

        return list(dict.fromkeys([*REFERENCES, *self.requests]))

    def trained_specs(self, console: Console) -> dict[str, CheckpointSpec]:
        """The manifest's checkpoints; embedded ones that are needed are trained first if they are not yet."""
        return resolve_zoo(self.specs, self.needed, default_cache(), console)

    def runner(
        self, specs: Mapping[str, CheckpointSpec], console: Console | None = None, engine: Engine | None = None
    ) -> MetricRunner:
        """The runner that pytest would use: the same scores at the same place. `console` shows how far it is."""
        from uds_bench.progress import hush
        from uds_bench.scoring.metric_runner import MetricRunner
        from uds_bench.scoring.store import Store
        from uds_bench.scoring.workers import WorkerPool

        hush()
        crew = WorkerPool(self.device, None if console is None else lambda: nullcontext(console), engine)
        return MetricRunner(specs, self.facts, Store(self.store), self.device, attacks=self.attacks, crew=crew)

    def address(self, request: ScoreRequest) -> dict[str, str]:
        """A score's checkpoint, attack, metric and variant."""
        return {key: str(getattr(request, key)) for key in ("checkpoint", "attack", "metric", "variant")}

    def compute(self, runner: MetricRunner, share: Shard | None = None) -> tuple[list[Score], dict[ScoreRequest, str]]:
        """Every score, or those of one share. A score that could not be computed has no value, and is also listed with
        the reason."""
        from uds_bench.scores import unscored

        scores: list[Score] = []
        failed: dict[ScoreRequest, str] = {}
        plan = [request for requests in self.requests.values() for request in requests]
        if share is not None:
            plan = share.share(runner, plan)
        for request in plan:
            try:
                # The first asked for computes all that is missing, each checkpoint while it is loaded.
                scores.append(_score(runner, request, plan))
            except UdsError as error:
                failed[request] = str(error)
                facts = runner.facts.split("forget")
                scores.append(unscored(**self.address(request), facts=facts, reason=failed[request]))
        return scores, failed


def _score(runner: MetricRunner, request: ScoreRequest, plan: list[ScoreRequest]) -> Score:
    try:
        return runner.score(request, plan)
    except UdsError:
        # What was computed before something else went wrong stands.
        kept = runner.stored(request)
        if kept is None:
            raise
        return kept
