"""The page: everything that a stranger needs to see, in the order in which they ask for it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from uds_bench.audits import registry
from uds_bench.claims.run_report import RunReport
from uds_bench.figures.chapter import Chapter, Figure
from uds_bench.figures.reading import spell, table, text
from uds_bench.figures.score import Score, gaps, pivot, read_scores
from uds_bench.report.claim import WORDS, Claim, read_claims, sentence
from uds_bench.report.headline import headline
from uds_bench.report.lineup import Lineup, lineups
from uds_bench.statistics import Interval
from uds_bench.storage import write_atomic


@dataclass(frozen=True)
class Section:
    """One audit on the page."""

    chapter: Chapter
    claims: tuple[Claim, ...]
    lineups: tuple[Lineup, ...]
    figures: tuple[Figure, ...]


def _sections(claims: Sequence[Claim], scores: Sequence[Score], parts: Mapping[str, Any]) -> list[Section]:
    groups: dict[str, list[Claim]] = {}
    for claim in claims:
        groups.setdefault(claim.record.audit, []).append(claim)
    found = []
    chapters = registry.chapters()
    for name in {**groups, **chapters}:
        entry, group = chapters.get(name) or Chapter(name, title=name), groups.get(name, [])
        figures = (*entry.draw(scores), *entry.judge(table(parts.get(entry.part))))
        section = Section(entry, tuple(group), tuple(lineups(entry, group)), figures)
        found += [section] if section.claims or section.figures else []
    return found


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("uds_bench.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"spell": spell, "text": text, "span": span, "sentence": sentence}
    return environment


def _fingerprint(script: str) -> str:
    """What the page's content policy lets run: this script and no other, whatever the report holds."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def span(interval: Interval | None) -> str:
    """`low..high`; "" where there is none."""
    return f"{spell(interval.low)}..{spell(interval.high)}" if interval else ""


def render(run: RunReport) -> str:
    """The run report as one HTML page without any outside file. Odd scores, and odd parts of an audit, are shown as
    absent; what cannot be trusted makes the headline red. Everything that comes from the report is escaped."""
    environment = _environment()
    claims, scores = read_claims(run.claims), read_scores(run.scores)
    script = environment.get_template("script.html.j2").render()
    return environment.get_template("page.html.j2").render(
        headline=headline(run, claims),
        stopping=[claim for claim in claims if not claim.record.is_good],
        sections=_sections(claims, scores, run.parts),
        claims=claims,
        scores=scores,
        pivot=pivot(scores),
        gaps=gaps(scores),
        run=run,
        words=list(WORDS.values()),
        script=Markup(script),
        fingerprint=_fingerprint(script),
    )


def write_report(run: RunReport, folder: Path) -> Path:
    """Write `folder/index.html`, whole or not at all, and return its path."""
    path = folder / "index.html"
    # A lone surrogate in a name is no valid UTF-8: it is shown as a question mark instead of losing the page.
    write_atomic(path, render(run).encode("utf-8", "replace"))
    return path
