"""The page: everything that a stranger needs to see, in the order in which they ask for it.

What is seen first stands in `index.html`; what is opened later lies in files beside it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from uds_bench.audits import registry
from uds_bench.claims.compared import Changes
from uds_bench.claims.run_report import RunReport
from uds_bench.figures.chapter import Chapter, Figure
from uds_bench.figures.spelling import spell, spell_interval
from uds_bench.grouping import grouped
from uds_bench.report.card import CardView, read_cards
from uds_bench.report.claim import ClaimView, causes, read_claims, sentence
from uds_bench.report.headline import headline
from uds_bench.report.number_line import lineups
from uds_bench.report.overview import RANK, overview
from uds_bench.report.score_tables import fact_tables, gaps, pivot
from uds_bench.report.verdict_words import WORDS
from uds_bench.storage import write_atomic

PARTS = "parts"
"""The folder of what is loaded when it is opened: scripts, as a page opened from a file reads no other file."""

NOT_INSTALLED = "The report holds what this audit has to say. Install the package of the audit to see it drawn."


class PageParts:
    """The parts of one page, by file name. A name holds a digest of what is in it: no page reads another's."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def add(self, name: str, html: str = "", facts: Mapping[str, Any] | None = None) -> str:
        """Keep a part, its markup escaped already, or a table of facts, and return the name of its file."""
        values = json.dumps({"html": html, "facts": facts}, separators=(",", ":"))
        file = f"{name}-{hashlib.sha256(values.encode()).hexdigest()[:12]}.js"
        # Nothing in it ends a script or opens a comment, wherever it may be put.
        self.files[file] = f"udsPart({json.dumps(file)},{values.replace('<', chr(92) + 'u003c')});\n"
        return file

    def write(self, folder: Path) -> None:
        """Write them beside the page that is to name them."""
        for name, script in self.files.items():
            write_atomic(folder / PARTS / name, script.encode("ascii"))

    def sweep(self, folder: Path) -> None:
        """Remove those of an earlier page, and nothing else that may lie there."""
        for file in (folder / PARTS).glob("*-*.js"):
            if file.name not in self.files and file.read_bytes().startswith(f'udsPart("{file.name}",'.encode()):
                file.unlink()


@dataclass(frozen=True)
class Page:
    """`index` names the parts that it loads."""

    index: str
    parts: PageParts


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("uds_bench.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"spell": spell, "text": text, "span": spell_interval, "sentence": sentence, "rank": _rank}
    return environment


def _rank(claim: ClaimView) -> int:
    """By which a table of claims is sorted: the worst first."""
    return RANK[claim.record.status]


def text(value: Any) -> str:
    """Words as they stand, other values as JSON, nothing for None."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=str)


def _render(name: str, **given: Any) -> str:
    return _environment().get_template(f"{name}.html.j2").render(**given)


def _fingerprint(script: str) -> str:
    """What the page's content policy lets run: this script, and what it loads itself, whatever the report holds."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def render(run: RunReport, changed: Changes | None = None) -> Page:
    """The run report as a page. What is odd in an audit's own part is shown as absent; what cannot be trusted makes the
    headline red. Everything that comes from the report is escaped, or set as text."""
    claims, parts = read_claims(run.told), PageParts()
    seen, by_checkpoint = overview(claims), grouped(run.scores, lambda score: score.checkpoint)
    facts = {
        name: parts.add("facts", facts=found)
        for name, own in by_checkpoint.items()
        if (found := fact_tables(own, run.wordings)) is not None
    }
    cards = read_cards(run, claims, seen.rows, registry.chapters())
    scores = _render("scores", pivot=pivot(run.scores), gaps=gaps(run.scores)) if run.scores else ""
    table_of = scores and parts.add("scores", scores)
    script = _render("script")
    index = _render(
        "page",
        headline=headline(run, claims),
        overview=seen,
        causes=causes(claims),
        changed=_changes(changed, parts),
        cards=[_card(card, facts, parts) for card in cards],
        chapters=list(_chapters(run, claims, parts)),
        scores=table_of,
        others=[(name, file) for name, file in facts.items() if name not in {card.row.name for card in cards}],
        run=run,
        words=list(WORDS.values()),
        terms=_terms(claims),
        script=Markup(script),
        fingerprint=_fingerprint(script),
    )
    return Page(index, parts)


def _card(card: CardView, facts: dict[str, str], parts: PageParts) -> dict[str, Any]:
    body = _render("card", card=card, facts=facts.get(card.row.name, "") if card.row.name else "")
    return {"row": card.row, "counts": card.counts, "part": parts.add(card.row.card, body)}


def _changes(changed: Changes | None, parts: PageParts) -> dict[str, Any] | None:
    if changed is None:
        return None
    moved = parts.add("changes", _render("moved", moved=changed.moved)) if changed.moved else ""
    return {**vars(changed), "part": moved, "scores": len(changed.moved)}


def _chapters(run: RunReport, claims: Sequence[ClaimView], parts: PageParts) -> Iterator[dict[str, str]]:
    """Of each audit its title, and the parts that hold its candidates side by side and its figures, "" where none."""
    known = registry.chapters()
    owners = {chapter.name: name for name, audit in registry.audits().items() for chapter in audit.chapters()}
    for name in dict.fromkeys([*(claim.record.audit for claim in claims), *known]):
        chapter = known.get(name) or Chapter(name, title=name)
        rows = lineups(chapter, [claim for claim in claims if claim.record.audit == name])
        part = run.parts.get(owners.get(name, ""))
        figures = [*chapter.draw(run.scores), *(chapter.judge(part) if part is not None else ())]
        beside = _render("lineups", lineups=rows, question=chapter.question)
        drawn = _render("figures", figures=figures, question=chapter.question)
        yield {
            "title": chapter.title,
            "lineups": parts.add("beside", beside) if rows else "",
            "figures": parts.add("figures", drawn) if figures else "",
        }
    for name in (name for name in run.parts if name not in registry.audits()):
        drawn = _render("figures", figures=[Figure("Not installed here", NOT_INSTALLED, ())], question="")
        yield {"title": name, "lineups": "", "figures": parts.add("figures", drawn)}


def _terms(claims: Sequence[ClaimView]) -> dict[str, str]:
    """The words of those audits that decided something, and what they mean."""
    decided = {claim.record.audit for claim in claims}
    known = [chapter.terms for name, chapter in registry.chapters().items() if name in decided]
    return {word: meaning for terms in known for word, meaning in terms.items()}


def write_report(run: RunReport, folder: Path, changed: Changes | None = None) -> Path:
    """Write `folder/index.html`, whole or not at all, with its parts beside it, and return its path."""
    path, page = folder / "index.html", render(run, changed)
    page.parts.write(folder)
    # A lone surrogate in a name is no valid UTF-8: it is shown as a question mark instead of losing the page.
    write_atomic(path, page.index.encode("utf-8", "replace"))
    page.parts.sweep(folder)
    return path
