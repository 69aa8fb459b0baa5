"""A run as large as the largest that is planned for: 150 candidates, 20 metrics, three states of attack."""

from __future__ import annotations

import random
from typing import Any

from example import claim, counted, example, interval
from made_reports import report_of

from uds_bench.claims.run_report import RunReport

CANDIDATES, METRICS, ATTACKS = 150, 20, ("none", "nf4", "relearn")
AUDITS = ("depth", "bypass", "lmlm", "localization", "association")
PROVENANCE = {f"digest {at}": f"{random.Random(at).getrandbits(256):064x}" for at in range(8)}


def big(facts: int = 3, failing: float = 0.5, candidates: int = CANDIDATES) -> RunReport:
    """Each candidate has two claims an audit; every score is of so many facts."""
    drawn = random.Random(0)
    controls = [
        {"name": f"pool{at}", "must": "fail", "verdict": "fail", "held": True, "observed": 0.2}
        | {"interval": interval([0.1, 0.3])}
        for at in range(4)
    ]
    names = [f"method_{at:03}_lr_1e-5_epochs_10" for at in range(candidates)]
    claims = [
        _claim(f"{audit}.{what}", name, drawn.random() < failing, controls)
        for name in names
        for audit in AUDITS
        for what in ("score", "kept")
    ]
    scores = [
        _score(name, attack, f"metric_{at}", facts, drawn)
        for name in names
        for attack in ATTACKS
        for at in range(METRICS)
    ]
    summary = {"planned": len(claims), "counts": counted(claims), "problems": [], "notes": [], "ok": False}
    return report_of(example() | {"claims": claims, "scores": scores, "summary": summary}, "big")


def _claim(id: str, name: str, fails: bool, controls: list[dict[str, Any]]) -> dict[str, Any]:
    value = 0.3 if fails else 0.9
    span = f"{value - 0.05:.3f}..{value + 0.05:.3f}"
    message = f"{id} [{name}]: observed {value:.3f}, 95% CI {span} (15 authors), needs >= 0.700"
    told = {"observed": value, "interval": interval([value - 0.05, value + 0.05]), "message": message}
    told |= {"kind": "threshold", "bound": {"relation": ">=", "value": 0.7, "origin": "ours"}, "controls": controls}
    return claim(id, name, "fail" if fails else "pass", **told, statement="What was to be forgotten is not there.")


def _score(name: str, attack: str, metric: str, facts: int, drawn: random.Random) -> dict[str, Any]:
    rows = [
        {"id": f"forget{at // 8:02}/kind{at % 8}", "cluster": f"forget{at // 8:02}", "kind": f"kind{at % 8}"}
        | {"value": drawn.random(), "reason": None, "label": None, "detail": {}}
        for at in range(facts)
    ]
    named = {
        "checkpoint": name,
        "attack": attack,
        "metric": metric,
        "variant": "default",
        "value": 0.5,
        "ci": [0.4, 0.6],
    }
    around = {"interval": interval([0.4, 0.6]), "n_planned": facts, "n_scored": facts, "n_invalid": 0}
    provenance = PROVENANCE | {"cell": f"{drawn.getrandbits(256):064x}", "direction": "erasure"}
    return named | around | {"per_fact": rows, "notes": {}, "provenance": provenance}
