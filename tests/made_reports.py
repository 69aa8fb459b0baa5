"""Run reports made up for tests, whole, with the claims that a test gives; and the rules that claims are settled by."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from uds_bench.audits import registry
from uds_bench.claims.goldens import Goldens
from uds_bench.claims.record import ClaimRecord, count
from uds_bench.claims.report_part import ReportPart
from uds_bench.claims.rules import Rules
from uds_bench.claims.run_report import SCHEMA, ManifestRecord, RunReport, RunSummary, Tool
from uds_bench.claims.waivers import Waivers
from uds_bench.report import Page
from uds_bench.scores import Score
from uds_bench.verdicts import Flag, Verdict

BAD = ("fail", "undecided")


def claim(name: str, status: str = "pass", **more: Any) -> ClaimRecord:
    """A claim by its name that came to a status."""
    id, _, subject = name.rstrip("]").partition("[")
    flag = None if status in list(Verdict) else Flag(status)
    verdict = Verdict(status) if flag is None else Verdict.PASS if flag is Flag.CLEARED else Verdict.FAIL
    return ClaimRecord(
        **{"id": id, "subject": subject or None, "kind": "threshold", "verdict": verdict, "flag": flag}
        | {"message": f"{name}: made up", "outcome": verdict}
        | more
    )


def run_of(*records: ClaimRecord, scores: Iterable[Score | Mapping[str, Any]] = (), **more: Any) -> RunReport:
    """A report of these claims."""
    summary = RunSummary(planned=len(records), counts=count(records), problems=[], notes=[], ok=True, whole=True)
    told: dict[str, Any] = {
        "schema": SCHEMA,
        "tool": Tool(name="uds_bench", version="0"),
        "manifest": ManifestRecord(path="uds.toml", digest="of the manifest"),
        "profile": "quick",
        "draw": 0,
        "started": "2026-11-21T07:00:00Z",
        "seconds": 1.0,
        "environment": {},
        "summary": summary,
        "loads": {},
        "claims": records,
        "scores": tuple(scores),
    }
    return RunReport(**(told | more))


def report_of(values: Mapping[str, Any], place: str = "run") -> RunReport:
    """A report as a file would hold it, with the parts of all audits by their models."""
    return RunReport.read(values, place, registry.parts())


def values_of(part: ReportPart) -> dict[str, Any]:
    """A part as a report's JSON holds it."""
    told = json.dumps(part.model_dump(mode="json", exclude_unset=True), allow_nan=False)
    found: dict[str, Any] = json.loads(told)
    return found


def made_rules(goldens: Mapping[str, Any] | None = None, **more: Any) -> Rules:
    """Of all audits' claims, with goldens by the name of a claim; nothing else is said of any but what is given."""
    given = {"thresholds": {}, "explicit": frozenset(), "expect": {}, "waivers": Waivers(), "evidence": "here"}
    recorded = Goldens(goldens or {})
    return Rules(claims=registry.claims(), goldens=recorded, reproduce=lambda node: node, **(given | more))


def opened(made: Page) -> str:
    """A page as it is once everything on it is opened; facts are left out, which the script alone shows."""
    return _opened(made.index, made.parts.files)


def page_in(folder: Path) -> str:
    """The same of a page that was written."""
    parts = {file.name: file.read_text(encoding="ascii") for file in (folder / "parts").iterdir()}
    return _opened((folder / "index.html").read_text(encoding="utf-8"), parts)


def _opened(html: str, parts: Mapping[str, str]) -> str:
    told = {name: json.loads(text.partition(",")[2].removesuffix(");\n"))["html"] for name, text in parts.items()}
    for _ in range(2):  # a card holds parts of its own
        html = re.sub(r'data-part="([^"]+)">', lambda found: f">{told[found[1]]}", html)
    return html
