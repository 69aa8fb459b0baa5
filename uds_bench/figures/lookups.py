"""What a model answered to one prompt in every state of its database, with everything that it looked up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from uds_bench.figures.reading import ABSENT, rows, spell, table, text
from uds_bench.figures.svg import element, folded, sheet
from uds_bench.figures.transcript import marked

NOTES = {"cut": "cut at the token limit", "looped": "asked on and on, and was stopped"}


def browser(traces: Sequence[Mapping[str, Any]], states: Mapping[str, str]) -> Markup:
    """One folded list a cell, one folded table a prompt; `states`: names to be shown."""
    cells: dict[str, list[Markup]] = {}
    for trace in traces:
        cells.setdefault(text(trace.get("cell")) or ABSENT, []).append(_trace(trace, states))
    shown = [
        folded(f"{name} ({len(found)})", element("div", *found, class_="transcripts")) for name, found in cells.items()
    ]
    return element("div", *shown, class_="transcripts")


def _trace(trace: Mapping[str, Any], states: Mapping[str, str]) -> Markup:
    replies, fact = table(trace.get("replies")), trace.get("fact")
    gold = text(fact[2]) if isinstance(fact, (list, tuple)) and len(fact) == 3 else ""
    told = f"{text(trace.get('label')) or ABSENT}: {_row(fact)} ({text(trace.get('wording')) or ABSENT})"
    body = (_reply(shown, table(replies[state]), gold) for state, shown in states.items() if state in replies)
    asked = element("p", "Asked: ", marked(text(trace.get("prompt")), ""))
    return folded(told, asked, sheet(("state", "answers", "looks up"), body))


def _reply(state: str, reply: Mapping[str, Any], gold: str) -> tuple[str, list[Markup]]:
    notes = [words for key, words in NOTES.items() if reply.get(key) is True]
    said = marked(text(reply["answer"]), gold) if "answer" in reply else ABSENT
    below = [element("div", element("small", note)) for note in notes]
    calls = [_call(call, gold) for call in rows(reply.get("calls"))]
    looked = element("td", *calls) if calls else element("td", "nothing", class_="absent")
    return state, [element("td", said, *below), looked]


def _call(call: Mapping[str, Any], gold: str) -> Markup:
    """The query and the value, then the candidates, best first."""
    query, value = call.get("query"), call.get("value")
    asked = "malformed lookup" if query is None else _row(query)
    given: str | Markup = "left to the model" if value is None else marked(text(value), gold)
    found = [
        element("li", f"{words}: ", *_candidates(call[key], gold))
        for key, words in (("kept", "there"), ("deleted", "deleted"))
        if key in call
    ]
    found += [element("li", "none counted: the best was taken all the same")] if call.get("fell_back") is True else []
    return element("div", element("b", asked), " → ", given, *([element("ul", *found)] if found else []))


def _candidates(value: Any, gold: str) -> list[str | Markup]:
    """Rows with their scores, the object marked where it is the fact's own."""
    listed = (
        [one for one in value if isinstance(one, (list, tuple)) and one] if isinstance(value, (list, tuple)) else []
    )
    parts: list[str | Markup] = []
    for *row, score in listed:
        # The object alone: a subject that holds the same letters gives nothing away.
        own = element("mark", text(row[2])) if len(row) == 3 and gold and text(row[2]) == gold else None
        shown = [_row(row)] if own is None else [f"{_row(row[:2])} | ", own]
        parts += ["; " if parts else "", *shown, f" {spell(score)}"]
    return parts or ["none"]


def _row(value: Any) -> str:
    """Subject, relation and object, as many as there are."""
    return " | ".join(map(text, value)) or ABSENT if isinstance(value, (list, tuple)) else ABSENT
