"""What the LMLM audit says in a run's report: tables by topology, wording and database, and single facts."""

from __future__ import annotations

from typing import Annotated, ClassVar, get_args

from pydantic import StrictBool

from uds_bench.audits.lmlm.asking.record import OFF, STATES, State
from uds_bench.audits.lmlm.judged import Label
from uds_bench.audits.lmlm.leakage import WAYS, Way
from uds_bench.claims.report_part import PERSONAL, Count, Each, Measurement, ReportedRate, ReportPart, ReportTable

LABELS: tuple[Label, ...] = get_args(Label)
ByState = Annotated[dict[State, Measurement], Each(STATES)]


class ReportedRetriever(ReportTable):
    """What is set of the retriever; `fallback`: one, or several with "and" between them."""

    kind: str
    model: str
    threshold: Measurement
    top_k: Count
    fallback: str
    index: str


class ReportedDatabase(ReportTable):
    """What a database is."""

    name: str
    domain: str
    topology: str
    rows: Count
    facts: Count
    wordings: tuple[str, ...]
    deletion: str


class ReportedContingency(ReportTable):
    """Prompts right with retrieval and without: both, with alone, without alone, neither."""

    a: Count
    b: Count
    c: Count
    d: Count


class ReportedMcNemar(ReportTable):
    """McNemar's test; the exact one has no statistic."""

    test: str
    statistic: Measurement
    p: Measurement


class PromptNumbers(ReportTable):
    """Every number of some prompts."""

    n: Count
    facts: Count
    given: Count
    full: ReportedRate
    residual: ReportedRate
    above_chance: ReportedRate
    chance: Measurement
    leakage: Annotated[dict[State, Annotated[dict[Way, ReportedRate], Each(WAYS)]], Each(OFF)]
    mediated: ReportedRate
    artifact: ReportedRate
    contingency: ReportedContingency
    mcnemar: ReportedMcNemar
    labels: Annotated[dict[Label, Count], Each(LABELS)]
    f1: ByState
    exact: ByState
    calls: ByState
    cut: ByState
    looped: ByState
    malformed: ByState


class GridCell(ReportTable):
    """Means over the prompts of a database in one wording."""

    cell: str
    wording: str
    n: Count
    full: Measurement
    residual: Measurement
    f1: ByState


FoundRow = tuple[str, str, str, Measurement]
"""Subject, relation and object, and the score."""


class ReportedCall(ReportTable):
    """One lookup; `kept`, `deleted`, `fell_back`: of one that could be read, and was answered."""

    query: Annotated[tuple[str, str] | None, PERSONAL]
    value: Annotated[str | None, PERSONAL]
    kept: Annotated[tuple[FoundRow, ...] | None, PERSONAL] = None
    deleted: Annotated[tuple[FoundRow, ...] | None, PERSONAL] = None
    fell_back: StrictBool = False


class ReportedReply(ReportTable):
    """An answer with its lookups; `cut`: at the token limit, `looped`: it asked until it was stopped."""

    answer: Annotated[str, PERSONAL]
    calls: tuple[ReportedCall, ...]
    cut: StrictBool
    looped: StrictBool


class PromptTrace(ReportTable):
    """A prompt in every state."""

    cell: str
    fact: Annotated[tuple[str, str, str], PERSONAL]
    wording: str
    prompt: Annotated[str, PERSONAL]
    label: Label
    replies: Annotated[dict[State, ReportedReply], Each(STATES)]


class LookupModel(ReportTable):
    """The tables of one model under one fallback."""

    model: str
    all: PromptNumbers
    topologies: dict[str, PromptNumbers]
    wordings: dict[str, PromptNumbers]
    cells: dict[str, PromptNumbers]
    grid: tuple[GridCell, ...]
    traces: tuple[PromptTrace, ...]


class LmlmPart(ReportPart):
    """The whole."""

    MARKED: ClassVar[bool] = True

    retriever: ReportedRetriever
    deletion: str
    cells: tuple[ReportedDatabase, ...]
    models: tuple[LookupModel, ...]


PART = LmlmPart
