"""Everything that a reader may ask of one model: tables by topology, wording, cell; single facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from uds_bench.audits.lmlm import rates
from uds_bench.audits.lmlm.asking.database_cell import DatabaseCell
from uds_bench.audits.lmlm.asking.record import OFF, STATES, LookupRecord, LookupReply
from uds_bench.audits.lmlm.judged import JudgedPrompt, Label
from uds_bench.audits.lmlm.leakage import Leakage
from uds_bench.audits.lmlm.part import (
    LABELS,
    FoundRow,
    GridCell,
    LookupModel,
    PromptNumbers,
    PromptTrace,
    ReportedCall,
    ReportedContingency,
    ReportedDatabase,
    ReportedMcNemar,
    ReportedReply,
)
from uds_bench.claims.report_part import ReportedRate
from uds_bench.grouping import grouped
from uds_bench.retrieval.retriever import Hit
from uds_bench.statistics import mean

SHOWN = 4
"""Facts of each label that a cell shows in full."""


def cell(one: DatabaseCell) -> ReportedDatabase:
    """What a database is."""
    return ReportedDatabase(
        name=one.name,
        domain=one.domain,
        topology=one.topology,
        rows=len(one.source.database),
        facts=len(one.source.facts),
        wordings=tuple(one.source.wordings),
        deletion=one.policy,
    )


def of_model(name: str, leakage: Leakage) -> LookupModel:
    """The tables of one model."""
    judged = leakage.judged
    return LookupModel(
        model=name,
        all=part(leakage),
        topologies=_grouped(leakage, lambda one: one.topology),
        wordings=_grouped(leakage, lambda one: one.wording),
        cells=_grouped(leakage, lambda one: one.cell.name),
        grid=tuple(
            _grid_cell(name, wording, rows)
            for (name, wording), rows in grouped(judged, lambda one: (one.cell.name, one.wording)).items()
        ),
        traces=tuple(_traces(judged)),
    )


def part(leakage: Leakage) -> PromptNumbers:
    """Every number of some prompts."""
    judged = leakage.judged
    counts, test, statistic, p = rates.discordance(judged)
    n = len(judged)
    labels = Counter(one.label for one in judged)
    return PromptNumbers(
        n=n,
        facts=len({one.unit.cluster for one in judged}),
        given=sum(one.given for one in judged),
        full=ReportedRate.of(rates.baseline(judged)),
        residual=ReportedRate.of(rates.residual(judged, above_chance=False)),
        above_chance=ReportedRate.of(rates.residual(judged)),
        chance=sum(one.chance for one in judged) / n if n else None,
        leakage={state: {way: ReportedRate.of(one) for way, one in leakage.by_way(state).items()} for state in OFF},
        mediated=ReportedRate.of(rates.rate(judged, lambda one: one.outcome.mediated)),
        artifact=ReportedRate.of(rates.rate(judged, lambda one: one.outcome.artifact)),
        contingency=ReportedContingency(**{key: getattr(counts, key) for key in "abcd"}),
        mcnemar=ReportedMcNemar(test=test, statistic=statistic, p=p),
        labels={label: labels[label] for label in LABELS},
        f1={state: mean([one.marks[state].f1 for one in judged]) for state in STATES},
        exact={state: mean([one.marks[state].exact for one in judged]) for state in STATES},
        calls={state: mean([len(one.replies[state].calls) for one in judged]) for state in STATES},
        cut={state: mean([one.replies[state].cut for one in judged]) for state in STATES},
        looped={state: mean([one.replies[state].looped for one in judged]) for state in STATES},
        malformed={
            state: mean([any(call.query is None for call in one.replies[state].calls) for one in judged])
            for state in STATES
        },
    )


def _grid_cell(name: str, wording: str, judged: Sequence[JudgedPrompt]) -> GridCell:
    return GridCell(
        cell=name,
        wording=wording,
        n=len(judged),
        full=mean([one.marks["full"].exact for one in judged]),
        residual=mean([one.marks["del_on"].exact for one in judged]),
        f1={state: mean([one.marks[state].f1 for one in judged]) for state in STATES},
    )


def _grouped(leakage: Leakage, kind: Callable[[JudgedPrompt], str]) -> dict[str, PromptNumbers]:
    return {name: part(one) for name, one in leakage.parts(kind).items()}


def _traces(judged: Sequence[JudgedPrompt]) -> list[PromptTrace]:
    """Some facts of each cell and label, with everything that was looked up."""
    shown: Counter[tuple[str, Label]] = Counter()
    found = []
    for one in judged:
        key = one.cell.name, one.label
        if shown[key] < SHOWN:
            shown[key] += 1
            found.append(_trace(one))
    return found


def _trace(one: JudgedPrompt) -> PromptTrace:
    return PromptTrace(
        cell=one.cell.name,
        fact=one.fact.triplet,
        wording=one.wording,
        prompt=one.unit.prompt.text,
        label=one.label,
        replies={state: _reply(one, one.replies[state]) for state in STATES},
    )


def _reply(one: JudgedPrompt, reply: LookupReply) -> ReportedReply:
    calls = tuple(_call(one, call) for call in reply.calls)
    return ReportedReply(answer=reply.answer, calls=calls, cut=reply.cut, looped=reply.looped)


def _call(one: JudgedPrompt, call: LookupRecord) -> ReportedCall:
    rows, found = one.cell.source.database, call.lookup
    if found is None:
        return ReportedCall(query=call.query, value=call.value)

    def named(hits: Iterable[Hit]) -> tuple[FoundRow, ...]:
        return tuple((*rows[hit.row], round(hit.score, 3)) for hit in hits)

    kept, deleted = named(found.kept), named(found.deleted)
    return ReportedCall(query=call.query, value=call.value, kept=kept, deleted=deleted, fell_back=found.fell_back)
