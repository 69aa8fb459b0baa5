"""A model's replies to one author's probe, with the sentence that is looked for marked where it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from uds_bench.figures.reading import ABSENT, table, text
from uds_bench.figures.svg import element, folded, sheet


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
    body = (_reply(shown, table(replies[arm]), sentence) for arm, shown in arms.items() if arm in replies)
    told = f"{text(author.get('author')) or text(author.get('id'))}: {_holds(own)}"
    looked = element("p", "Looked for: ", marked(sentence, sentence))
    return folded(told, looked, sheet(("trace", "thinks", "answers", "holds it"), body))


def _reply(arm: str, reply: Mapping[str, Any], sentence: str) -> tuple[str, list[Markup]]:
    cells = [marked(text(reply.get(side)).strip(), sentence) for side in ("trace", "answer")]
    return arm, [element("td", cell) for cell in (*cells, _holds(reply))]


def _holds(reply: Mapping[str, Any]) -> str:
    if not reply:
        return ABSENT
    where = [side for side, key in (("trace", "leak"), ("answer", "out")) if reply.get(key) is True]
    notes = [] if reply.get("tagged") is True else ["no closing tag"]
    notes += [] if reply.get("ended") is True else ["cut at the token limit"]
    return "; ".join([" and ".join(where) or "neither", *notes])
