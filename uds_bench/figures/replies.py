"""A model's replies, what is looked for marked in them: to an author's probe, and with all that it looked up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from uds_bench.figures.reading import ABSENT, rows, spell, table, text
from uds_bench.figures.svg import element, folded, sheet

NOTES = {"cut": "cut at the token limit", "looped": "asked on and on, and was stopped"}


def marked(words: str, sentence: str) -> Markup:
    """The text with every occurrence of the sentence in a `mark`; line breaks are shown."""
    if not words:
        return element("span", "(empty)", class_="absent")
    parts = words.split(sentence) if sentence else [words]
    pieces: list[str | Markup] = [parts[0]]
    for part in parts[1:]:
        pieces += [element("mark", sentence), part]
    return element("span", *pieces, class_="said")


def transcripts(authors: Sequence[Mapping[str, Any]], arms: Mapping[str, str]) -> Markup:
    """One folded table an author: arm by arm the trace, the answer and what was found; `arms`: names to be shown."""
    found = [_author(author, arms) for author in authors]
    return element("div", *found, class_="transcripts")


def _author(author: Mapping[str, Any], arms: Mapping[str, str]) -> Markup:
    replies, sentence = table(author.get("replies")), text(author.get("canary"))
    own = table(replies.get("auto"))
    body = (_arm(shown, table(replies[arm]), sentence) for arm, shown in arms.items() if arm in replies)
    told = f"{text(author.get('author')) or text(author.get('id'))}: {_holds(own)}"
    looked = element("p", "Looked for: ", marked(sentence, sentence))
    return folded(told, looked, sheet(("trace", "thinks", "answers", "holds it"), body))


def _arm(arm: str, reply: Mapping[str, Any], sentence: str) -> tuple[str, list[Markup]]:
    cells = [marked(text(reply.get(side)).strip(), sentence) for side in ("trace", "answer")]
    return arm, [element("td", cell) for cell in (*cells, _holds(reply))]


def _holds(reply: Mapping[str, Any]) -> str:
    if not reply:
        return ABSENT
    where = [side for side, key in (("trace", "leak"), ("answer", "out")) if reply.get(key) is True]
    notes = [] if reply.get("tagged") is True else ["no closing tag"]
    notes += [] if reply.get("ended") is True else ["cut at the token limit"]
    return "; ".join([" and ".join(where) or "neither", *notes])


def browser(traces: Sequence[Mapping[str, Any]], states: Mapping[str, str]) -> Markup:
    """What was answered to each prompt in every state of the database: one folded list a cell, one folded table a
    prompt; `states`: names to be shown."""
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
