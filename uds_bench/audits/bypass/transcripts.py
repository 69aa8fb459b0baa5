"""A model's replies to an author's probe, what is looked for marked in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from uds_bench.audits.bypass.part import AuthorReplies, SplitReply
from uds_bench.audits.bypass.record import Arm
from uds_bench.figures.spelling import ABSENT
from uds_bench.figures.svg import element, folded, marked, sheet


def transcripts(authors: Sequence[AuthorReplies], arms: Mapping[Arm, str]) -> Markup:
    """One folded table an author: arm by arm the trace, the answer and what was found; `arms`: names to be shown."""
    found = [_author(author, arms) for author in authors]
    return element("div", *found, class_="transcripts")


def _author(author: AuthorReplies, arms: Mapping[Arm, str]) -> Markup:
    own = author.replies.get("auto")
    body = (_arm(shown, author.replies[arm], author.canary) for arm, shown in arms.items() if arm in author.replies)
    told = f"{author.author or author.id}: {_holds(own) if own else ABSENT}"
    looked = element("p", "Looked for: ", marked(author.canary, author.canary))
    return folded(told, looked, sheet(("trace", "thinks", "answers", "holds it"), body))


def _arm(arm: str, reply: SplitReply, sentence: str) -> tuple[str, list[Markup]]:
    cells = [marked(side.strip(), sentence) for side in (reply.trace, reply.answer)]
    return arm, [element("td", cell) for cell in (*cells, _holds(reply))]


def _holds(reply: SplitReply) -> str:
    where = ["trace"] * reply.leak + ["answer"] * reply.out
    notes = [] if reply.tagged else ["no closing tag"]
    notes += [] if reply.ended else ["cut at the token limit"]
    return "; ".join([" and ".join(where) or "neither", *notes])
