"""The LMLM audit of a run: its databases, its models, what each was seen to answer, and the controls of retrieval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

from uds_bench.attacks import NONE, find_attacks
from uds_bench.attacks.random_weights import random_weights
from uds_bench.audits.api import AuditRun, Session, plain, prepared
from uds_bench.audits.lmlm import summary
from uds_bench.audits.lmlm.asking.database_cell import DatabaseCell
from uds_bench.audits.lmlm.asking.deletion import Policy
from uds_bench.audits.lmlm.asking.evaluator import LmlmEvaluator, replies_of
from uds_bench.audits.lmlm.asking.probe import ask_perfectly, encoder_for
from uds_bench.audits.lmlm.databases import cells_of
from uds_bench.audits.lmlm.judged import JudgedPrompt, judge
from uds_bench.audits.lmlm.leakage import Leakage
from uds_bench.audits.lmlm.part import LmlmPart, ReportedRetriever
from uds_bench.audits.lmlm.section import LmlmSection
from uds_bench.claims.run_report import SETTINGS
from uds_bench.extras import LMLM, require
from uds_bench.retrieval.encoder import BLOCK, encoder_of
from uds_bench.retrieval.settings import MINILM, SWEPT, Fallback, RetrieverSettings
from uds_bench.scores import Score
from uds_bench.scoring.runner import ScoreRequest, ScoreRunner

NAME = "lmlm"
RANDOM = random_weights()
Weights = Callable[[Sequence[JudgedPrompt]], list[JudgedPrompt]]
"""What a perfect subject says whose weights hold something: of its prompts, with other replies."""
SPOT = ("direct",)
"""The wording in which controls are asked: what they must show takes no more."""


@dataclass(frozen=True)
class LmlmResult:
    """One checkpoint's score and what was judged of it, prompt by prompt, under each fallback."""

    score: Score
    under: Mapping[Fallback, list[JudgedPrompt]]

    @property
    def judged(self) -> list[JudgedPrompt]:
        """Under the first fallback, for what does not turn on it."""
        return next(iter(self.under.values()))

    @cached_property
    def leakage(self) -> Leakage:
        """What its weights tell."""
        return Leakage(*self.under.values())

    @property
    def touched(self) -> Mapping[str, int]:
        """How often each state looked into a database."""
        found: Mapping[str, int] = self.score.notes["touched"]
        return found


class LmlmAudit(AuditRun):
    """The models of a manifest's [lmlm] on its databases; `whole` are all prompts, `spot` those of the controls."""

    def __init__(
        self, section: LmlmSection, whole: ScoreRunner, spot: ScoreRunner, plan: Sequence[ScoreRequest] = ()
    ) -> None:
        self.section, self.whole, self.spot, self.plan = section, whole, spot, plan
        self._seen: dict[tuple[ScoreRequest, bool], LmlmResult] = {}
        self._deletions: dict[Policy, dict[str, Mapping[int, Set[int]]]] = {}
        self._perfect: dict[tuple[Policy, str | None, Fallback], list[JudgedPrompt]] = {}
        self._told: dict[Weights, Leakage] = {}

    @property
    def cells(self) -> tuple[DatabaseCell, ...]:
        """The databases that are asked, each with its facts."""
        return _evaluator(self.whole).cells

    def seen(self, model: str, attack: str = NONE) -> LmlmResult:
        """A judged model, under an attack, in every wording; everything planned is evaluated with the first that is
        asked for."""
        return self._one(ScoreRequest(model, attack=attack), True)

    def control(self, model: str, attack: str = NONE) -> LmlmResult:
        """A model whose verdict is known, under an attack."""
        return self._one(ScoreRequest(model, attack=attack), False)

    def with_random_weights(self, model: str) -> LmlmResult:
        """A model with every weight drawn anew."""
        return self._one(ScoreRequest(model, attack=RANDOM.name), False)

    @property
    def perfect(self) -> list[JudgedPrompt]:
        """A perfect subject that knows nothing, under the manifest's deletion: the control of the retrieval side."""
        return self.by_perfect_subject()

    def told_by_perfect(self, weights: Weights) -> Leakage:
        """What the same subject tells whose weights hold something; counted once for all claims."""
        if weights not in self._told:
            self._told[weights] = Leakage(weights(self.perfect))
        return self._told[weights]

    def by_perfect_subject(
        self, policy: Policy | None = None, swept: str | None = None, fallback: Fallback | None = None
    ) -> list[JudgedPrompt]:
        """The same under another deletion, by another retriever, a name of `retrieval.settings.SWEPT`, or under another
        fallback than the first."""
        evaluator = _evaluator(self.spot)
        key = policy or self.section.deletion, swept, fallback or evaluator.fallbacks[0]
        if key not in self._perfect:
            cells = tuple(replace(cell, policy=key[0]) for cell in evaluator.cells)
            settings = replace(_swept(evaluator.retriever, swept), fallback=key[2])
            library = replace(evaluator, cells=cells, retriever=settings).library()
            units, replies = ask_perfectly(library)
            told = {unit.id: reply for unit, reply in zip(units, replies, strict=True)}
            self._perfect[key] = judge(cells, units, told)
        return self._perfect[key]

    def deletions(self, policy: Policy | None = None) -> dict[str, Mapping[int, Set[int]]]:
        """By cell and fact, the rows that go, under the manifest's policy or another."""
        key = policy or self.section.deletion
        if key not in self._deletions:
            cells, asked = [replace(cell, policy=key) for cell in self.cells], _evaluator(self.whole)
            encoder = encoder_for(cells, asked.retriever, asked.device)
            self._deletions[key] = {cell.name: cell.deletions(encoder) for cell in cells}
        return self._deletions[key]

    def report(self) -> LmlmPart:
        """The run report's section: what was asked of which databases, and every model that was evaluated whole.

        Read from the store, as other processes may have evaluated them.
        """
        seen = {
            name: self.seen(name) for name in self.section.judged() if self.whole.stored(ScoreRequest(name)) is not None
        }
        found = {f"{name}, {way}": judged for name, of in seen.items() for way, judged in of.under.items()}
        asked = _evaluator(self.whole)
        return LmlmPart(
            retriever=ReportedRetriever(**asked.retriever.to_json() | {"fallback": " and ".join(asked.fallbacks)}),
            deletion=self.section.deletion,
            cells=tuple(map(summary.cell, self.cells)),
            models=tuple(summary.of_model(name, Leakage(judged)) for name, judged in found.items()),
        )

    def scores(self) -> list[Score]:
        """See `AuditRun`: each prompt with what is answered after the deletion, under the first fallback."""
        found = []
        for runner in self.runners():
            way = _evaluator(runner).fallbacks[0]
            for score in runner.requested.values():
                replies = replies_of(score, way)
                found.append(plain(score, {id: {"answer": each["del_on"].answer} for id, each in replies.items()}))
        return found

    def wordings(self) -> dict[str, dict[str, str]]:
        """What is asked and looked for, by id of what the scores are of."""
        facts = {cell.name: cell.facts for cell in self.cells}
        return {
            unit.id: {"question": unit.prompt.text, "entity": ", ".join(facts[unit.cell][unit.prompt.fact].answers)}
            for unit in _evaluator(self.whole).units
        }

    def planned(self) -> list[tuple[ScoreRunner, list[ScoreRequest]]]:
        """What the claims ask for, by what scores it."""
        return [(self.whole, list(self.plan)), (self.spot, _requests(self.section, self.section.must_fail))]

    def _one(self, place: ScoreRequest, whole: bool) -> LmlmResult:
        if (place, whole) not in self._seen:
            runner = self.whole if whole else self.spot
            score = runner.score(place, self.plan if whole else ())
            evaluator = _evaluator(runner)
            cells, units = evaluator.cells, evaluator.units
            under = {way: judge(cells, units, replies_of(score, way)) for way in evaluator.fallbacks}
            self._seen[place, whole] = LmlmResult(score, under)
        return self._seen[place, whole]


def _evaluator(runner: ScoreRunner) -> LmlmEvaluator:
    assert isinstance(runner.evaluator, LmlmEvaluator)
    return runner.evaluator


def _swept(settings: RetrieverSettings, name: str | None) -> RetrieverSettings:
    if name is None:
        return settings
    kind, least = SWEPT[name]
    return replace(settings, kind=kind, threshold=least)


def read(section: LmlmSection) -> tuple[DatabaseCell, ...]:
    """The databases with their prompts. Raises ExtraError before any model is loaded."""
    require("the lmlm audit", *LMLM)
    return cells_of(section)


def notes(session: Session) -> list[str]:
    """Which encoder looks rows up, where it is not the default: what it holds to be alike decides what is found."""
    model = session.manifest.of(LmlmSection).retriever.settings().model
    if model == MINILM:
        return []
    digest = encoder_of(model, session.device).digest
    return [f"{SETTINGS}{NAME}.retriever.model = another encoder (sha256 {digest})"]


def open(session: Session) -> LmlmAudit:
    """The audit of one run; the models that the selected tests speak of are evaluated with the first of them."""
    section, _, specs, store = prepared(session, NAME, LmlmSection)
    judged = session.subjects(NAME) or section.judged()
    settings, fallbacks = section.retriever.settings(), section.retriever.fallback
    attacks, cells = {RANDOM.name: RANDOM, **find_attacks(section.attacks.settings())}, session.data(NAME)
    _embed(cells, settings, session)
    few = tuple(replace(cell, source=cell.source.of(_spot(cell))) for cell in cells)
    whole, spot = (
        ScoreRunner(specs, evaluator, store, session.device, attacks, session.crew)
        for evaluator in (LmlmEvaluator(asked, settings, fallbacks, device=session.device) for asked in (cells, few))
    )
    return LmlmAudit(section, whole, spot, _requests(section, judged))


def _requests(section: LmlmSection, models: Iterable[str]) -> list[ScoreRequest]:
    """What is asked of some models: as they are, and under each attack."""
    ways = (NONE, *section.attacked())
    return [ScoreRequest(name, attack=attack) for name, attack in product(models, ways)]


def _embed(cells: Sequence[DatabaseCell], settings: RetrieverSettings, session: Session) -> None:
    """Have the rows of large databases embedded before anything is scored, where it can be seen how far it has come."""
    if (encoder := encoder_for(cells, settings, session.device)) is None:
        return
    for cell in cells:
        if len(cell.source.database) > BLOCK:
            keys = [row.key for row in cell.source.database]
            with session.crew.watch(f"embedding the rows of {cell.name}", len(keys)) as advance:
                encoder.table(keys, advance)


def _spot(cell: DatabaseCell) -> tuple[Any, ...]:
    there = cell.source.wordings
    return SPOT if set(SPOT) & set(there) else there[:1]
