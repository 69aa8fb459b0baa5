"""The audit of one run: every model's four scores, and how far they lie from the models that it is held against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from uds_bench.audits.api import AuditRun, Session, prepared
from uds_bench.scores import Score
from uds_bench.scoring.runner import ScoreRequest, ScoreRunner
from uds_bench.statistics import Rate
from uds_muse.claims import KEPT
from uds_muse.corpus import Corpus, read_corpus
from uds_muse.evaluator import MEASURES, MuseEvaluator
from uds_muse.rates import beside, dealt, privacy_leak
from uds_muse.section import Muse

NAME = "muse"
SHOWN = 200
"""Letters of a passage that a reader of the report is shown."""


class MuseRunner(ScoreRunner):
    """Four scores a model, which is loaded once."""

    def evaluator_of(self, request: ScoreRequest) -> MuseEvaluator:
        """See `ScoreRunner`."""
        found: MuseEvaluator = self.evaluator
        return replace(found, metric=request.metric)

    @property
    def _like(self) -> Any:
        return partial(MuseRunner, self.specs, self.evaluator, self.store, self.device, self.attacks)


class MuseAudit(AuditRun):
    """`names`: the checkpoints that are scored together."""

    def __init__(self, runner: ScoreRunner, corpus: Corpus, names: Sequence[str]) -> None:
        self.runner, self.corpus, self.names = runner, corpus, names

    def planned(self) -> list[tuple[ScoreRunner, list[ScoreRequest]]]:
        return [(self.runner, [ScoreRequest(name, metric) for name in self.names for metric in MEASURES])]

    def wordings(self) -> Mapping[str, Mapping[str, str]]:
        items = [one for items in self.corpus.values() for one in items]
        return {one.id: {"question": one.shown[-SHOWN:], "entity": one.true[:SHOWN]} for one in items}

    def score(self, model: str, metric: str) -> Score:
        return self.runner.score(ScoreRequest(model, metric), self.planned()[0][1])

    def above_retain(self, model: str, metric: str) -> Rate:
        """ROUGE-L F1 of a model less that of the retrained one, -1 to 1; lower is less memory."""
        return beside(self.score(model, metric), self.score("retain", metric))

    def kept(self, model: str) -> Rate:
        """ROUGE-L F1 about the rest less the share of that of `full` which is to be kept; from 0 on it is."""
        return beside(self.score(model, "knowmem_r"), self.score("full", "knowmem_r"), KEPT)

    def kept_by_chance(self) -> Rate:
        """The same of a model that gives the replies of `full`, each to another question."""
        full = self.score("full", "knowmem_r")
        return beside(dealt(full, {one.id: one.true for one in self.corpus["knowmem_r"]}), full, KEPT)

    def leak(self, model: str) -> Rate:
        """PrivLeak of a model, as a share."""
        return privacy_leak(self.score(model, "privleak_auc"), self.score("retain", "privleak_auc"))


def read(section: Muse) -> Corpus:
    assert section.data is not None
    return read_corpus(section.data)


def open(session: Session) -> MuseAudit:
    _, names, specs, store = prepared(session, NAME, Muse)
    corpus = session.data(NAME)
    evaluator = MuseEvaluator(corpus, next(iter(MEASURES)))
    return MuseAudit(MuseRunner(specs, evaluator, store, session.device, crew=session.crew), corpus, names)
