"""What a model answered in every state of the database, with all that it looked up, the deleted object marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from uds_bench.audits.lmlm.asking.record import State
from uds_bench.audits.lmlm.part import FoundRow, PromptTrace, ReportedCall, ReportedReply
from uds_bench.figures.spelling import spell
from uds_bench.figures.svg import element, folded, marked, sheet
from uds_bench.grouping import grouped


def browser(traces: Sequence[PromptTrace], states: Mapping[State, str]) -> Markup:
    """What was answered to each prompt in every state of the database: one folded list a cell, one folded table a
    prompt; `states`: names to be shown."""
    shown = [
        folded(f"{name} ({len(found)})", element("div", *(_trace(one, states) for one in found), class_="transcripts"))
        for name, found in grouped(traces, lambda trace: trace.cell).items()
    ]
    return element("div", *shown, class_="transcripts")


def _trace(trace: PromptTrace, states: Mapping[State, str]) -> Markup:
    told = f"{trace.label}: {' | '.join(trace.fact)} ({trace.wording})"
    body = (_reply(shown, trace.replies[state], trace.fact[2]) for state, shown in states.items())
    asked = element("p", "Asked: ", marked(trace.prompt, ""))
    return folded(told, asked, sheet(("state", "answers", "looks up"), body))


def _reply(state: str, reply: ReportedReply, gold: str) -> tuple[str, list[Markup]]:
    notes = ["cut at the token limit"] * reply.cut + ["asked on and on, and was stopped"] * reply.looped
    below = [element("div", element("small", note)) for note in notes]
    calls = [_call(call, gold) for call in reply.calls]
    looked = element("td", *calls) if calls else element("td", "nothing", class_="absent")
    return state, [element("td", marked(reply.answer, gold), *below), looked]


def _call(call: ReportedCall, gold: str) -> Markup:
    """The query and the value, then the candidates, best first."""
    asked = "malformed lookup" if call.query is None else " | ".join(call.query)
    given: str | Markup = "left to the model" if call.value is None else marked(call.value, gold)
    listed = {"there": call.kept, "deleted": call.deleted}
    found = [
        element("li", f"{words}: ", *_candidates(rows, gold)) for words, rows in listed.items() if rows is not None
    ]
    found += [element("li", "none counted: the best was taken all the same")] * call.fell_back
    return element("div", element("b", asked), " → ", given, *([element("ul", *found)] if found else []))


def _candidates(rows: Sequence[FoundRow], gold: str) -> list[str | Markup]:
    """Rows with their scores, the object marked where it is the fact's own."""
    parts: list[str | Markup] = []
    for subject, relation, object, score in rows:
        # The object alone: a subject that holds the same letters gives nothing away.
        own = element("mark", object) if gold and object == gold else object
        parts += ["; " if parts else "", f"{subject} | {relation} | ", own, f" {spell(score)}"]
    return parts or ["none"]
