"""Run reports made up for tests, whole, with the claims that a test gives; and the rules that claims are settled by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from uds_bench.audits import registry
from uds_bench.claims.goldens import Goldens
from uds_bench.claims.record import ClaimRecord, count
from uds_bench.claims.rules import Rules
from uds_bench.claims.run_report import SCHEMA, Judged, RunReport, Summary, Tool
from uds_bench.claims.waivers import Waivers
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


def run_of(*records: ClaimRecord, scores: Iterable[Mapping[str, Any]] = (), **more: Any) -> RunReport:
    """A report of these claims."""
    summary = Summary(planned=len(records), counts=count(records), problems=[], notes=[], ok=True, whole=True)
    told: dict[str, Any] = {
        "schema": SCHEMA,
        "tool": Tool(name="uds_bench", version="0"),
        "manifest": Judged(path="uds.toml", digest="of the manifest"),
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


def made_rules(goldens: Mapping[str, Any] | None = None, **more: Any) -> Rules:
    """Of all audits' claims, with goldens by the name of a claim; nothing else is said of any but what is given."""
    given = {"thresholds": {}, "explicit": frozenset(), "expect": {}, "waivers": Waivers(), "evidence": "here"}
    recorded = Goldens(None, goldens or {})
    return Rules(claims=registry.claims(), goldens=recorded, reproduce=lambda node: node, **(given | more))
