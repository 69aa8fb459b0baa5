"""What an audit adds to the page: words for its question, the claim to draw, and its own figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic

from markupsafe import Markup
from typing_extensions import TypeVar

from uds_bench.claims.report_part import ReportPart
from uds_bench.scores import Score

P = TypeVar("P", bound=ReportPart, default=ReportPart)


@dataclass(frozen=True)
class Figure:
    """`panels` are drawn side by side and wrap on a narrow page; `caption` says how to read them."""

    title: str
    caption: str
    panels: tuple[Markup, ...]
    wide: bool = False


@dataclass(frozen=True)
class Chapter(Generic[P]):
    """One heading of the page. `name`: the first part of the ids of the claims that it shows.

    `measures`: the claim ids that are drawn per subject, empty for every claim with a bound to draw; `limits` and
    `ends`: the axis and what its two ends mean; `terms`: its words and what they mean, for who reads the page; `draw`:
    figures from the audit's scores; `judge`: figures from the audit's part of the report, a `part.PART`."""

    name: str
    title: str
    question: str = ""
    measures: tuple[str, ...] = ()
    limits: tuple[float, float] | None = None
    ends: tuple[str, str] = ("", "")
    terms: Mapping[str, str] = field(default_factory=dict)
    draw: Callable[[Sequence[Score]], list[Figure]] = lambda scores: []
    judge: Callable[[P], list[Figure]] = lambda part: []
