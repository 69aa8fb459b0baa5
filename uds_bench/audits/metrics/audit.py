"""The metrics judged on the models of one run."""

from __future__ import annotations

from functools import cached_property

from uds_bench.audits.api import AuditRun, Session
from uds_bench.audits.depth.audit import NAME as DEPTH
from uds_bench.audits.depth.audit import DepthAudit
from uds_bench.audits.depth.section import Depth
from uds_bench.audits.metrics import run_document
from uds_bench.audits.metrics.check_context import KEPT, CheckContext, opener
from uds_bench.audits.metrics.meta_evaluation import MetaEvaluation, judge
from uds_bench.audits.metrics.metric_rows import Models
from uds_bench.audits.metrics.part import MetricsPart
from uds_bench.checkpoints.spec import EMBEDDED
from uds_bench.errors import UdsError
from uds_bench.facts import FactSet


class MetricsAudit(AuditRun):
    """`depth`: the audit that scores the models."""

    def __init__(self, depth: DepthAudit, session: Session) -> None:
        self.depth, self._session = depth, session

    @property
    def facts(self) -> FactSet:
        """Every fact of the manifest, all splits."""
        return self.depth.facts

    @cached_property
    def judged(self) -> MetaEvaluation:
        """Every metric judged: `judged.rows["uds"]` and what stands beside them."""
        return judge(self.depth.section, self.facts, self.depth.request)

    @cached_property
    def on_pools(self) -> MetaEvaluation:
        """Every metric judged on the pools alone, as faithfulness is: no candidate is scored for it."""
        return judge(self.depth.section, self.facts, self.depth.request, pools_alone=True)

    @cached_property
    def check_context(self) -> CheckContext:
        """The manifest's models to try a metric of your own on: `audits.metrics.metric_checks` gives the checks."""
        section, pools = self.depth.section, self.depth.section.pools
        models = Models("full", "retain", tuple(pools.positive), tuple(pools.negative), tuple(section.unlearned))
        named, used = section.checkpoints(), [name for name, _ in models.needed(robust=False)]
        specs = self._session.ready({name: named[name] for name in used}, used)
        attacks = section.chosen_attacks()
        keep = KEPT if all(named[name].model.startswith(EMBEDDED) for name in used) else 1
        return CheckContext(
            models, self.facts, opener(specs, self.facts, attacks, self._session.device), attacks, keep=keep
        )

    def report(self) -> MetricsPart:
        """Where other processes judged, what they stored is read; nothing is scored anew."""
        runner, section = self.depth.runner, self.depth.section
        try:
            found = self.__dict__.get("judged") or judge(section, self.facts, run_document.stored(runner))
            return MetricsPart.model_validate(run_document.section(runner, section, found))
        except UdsError as error:
            return MetricsPart(lacks=f"it could not be made: {error}")

    def files(self) -> dict[str, bytes]:
        """The table checkpoints x metrics."""
        if not self.report().rows:
            return {}
        return {"sweep.csv": run_document.sweep_table(self.depth.section, self.depth.scores())}


def read(section: Depth) -> None:
    """The depth audit has read everything."""


def open(session: Session) -> MetricsAudit:
    """The audit of one run."""
    return MetricsAudit(session.audit(DEPTH), session)
