"""A run report with one of each: passes, declared misses, hidden knowledge, a crash, controls, facts without a score.

`PYTHONPATH=tests python tests/report/example.py FOLDER` writes the pages of a red, a green and a judging run.
"""

from __future__ import annotations

import random
import statistics
import sys
from pathlib import Path
from typing import Any

from made_reports import opened, report_of

from uds_bench.claims.record import ClaimRecord, count
from uds_bench.claims.run_report import SCHEMA
from uds_bench.report import page

KINDS = ("person_name", "profession", "work_title", "award", "location", "influence", "descriptive", "yes_no")
AUTHORS, LAYERS, TAU, BOUND = 15, 4, 0.05, 0.7
DEPTH = {"npo": 0.97, "grad_diff": 1.02, "npo_weak": 0.16, "simnpo": 0.42, "idk": 0.1, "full2": 0.3, "retain2": 0.97}
EXPECTED = {
    "npo_weak": "stopped after 8 steps, on purpose",
    "simnpo": "suppresses outputs only",
    "idk": "learns to refuse; the activations keep the answer",
}
GENERATES = {"npo": 0.0, "grad_diff": 0.0, "npo_weak": 0.71, "simnpo": 0.02, "idk": 0.0, "full2": 0.95, "retain2": 0.0}
IDENTITIES = {
    "depth.self_patch": (0.0, "Patching the full model with its own states changes nothing.", "observed 0, needs 0"),
    "depth.retain_is_one": (1.0, "The retain model counts as fully erased.", "observed 1, needs 1"),
    "depth.last_layer_is_lens": (3.1e-7, "Patching the last layer is the logit lens.", "observed 3.1e-07, needs 0"),
}
NO_LAYER = "no knowledge-encoding layer: the retain model does as well"


def fact(name: str, author: int, kind: str) -> dict[str, Any]:
    """Drops around the depth that the checkpoint is meant to have, and the score that follows from them."""
    common = random.Random(f"{author}/{kind}")
    own = random.Random(f"{name}/{author}/{kind}")
    silent = kind == "yes_no" and author % 4 == 0
    scale = 0.0 if silent else common.uniform(0.5, 2.2)
    retain = [scale * share * common.uniform(0.8, 1.2) for share in (0.12, 0.45, 0.85, 1.0)]
    author_effect = random.Random(f"{name}/{author}").gauss(0, 0.09)
    depth = author_effect + DEPTH[name] * own.uniform(0.85, 1.1) - (0.15 if kind == "work_title" else 0.0)
    drops = [drop * max(depth + own.gauss(0, 0.06), -0.05) for drop in retain]
    layers = [layer for layer, drop in enumerate(retain) if drop > TAU]
    row: dict[str, Any] = {
        "id": f"forget{author:02}/{kind}",
        "cluster": f"forget{author:02}",
        "kind": kind,
        "value": None,
        "reason": NO_LAYER,
        "detail": {"retain_drops": retain, "drops": drops, "knowledge_layers": layers, "last_gap": 0.0},
    }
    if layers:
        total = sum(retain[layer] for layer in layers)
        row["value"] = sum(min(max(drops[layer], 0.0), retain[layer]) for layer in layers) / total
        row["reason"] = None
        row["detail"]["unclipped"] = sum(drops[layer] for layer in layers) / total
    return row


def around(values: dict[str, list[float]], low: float = 0.0, high: float = 1.0) -> tuple[float, list[float]]:
    """Mean and a normal 95% interval over clusters, kept inside the range."""
    mean = statistics.fmean(value for group in values.values() for value in group)
    half = 1.96 * statistics.stdev(statistics.fmean(group) for group in values.values()) / len(values) ** 0.5
    return mean, [max(low, mean - half), min(high, mean + half)]


def uds(name: str) -> dict[str, Any]:
    facts = [fact(name, author, kind) for author in range(AUTHORS) for kind in KINDS]
    groups: dict[str, list[float]] = {}
    for row in facts:
        if row["value"] is not None:
            groups.setdefault(row["cluster"], []).append(row["value"])
    value, ci = around(groups)
    named = {"checkpoint": name, "attack": "none", "metric": "uds", "variant": "block"}
    return score(**named, value=value, ci=ci, per_fact=facts, notes={"tau": TAU})


def score(checkpoint: str, ci: list[float], **more: Any) -> dict[str, Any]:
    made_by = {"checkpoint": digest(checkpoint), "dtype": "float32"}
    named = {"checkpoint": checkpoint, "ci": ci, "interval": interval(ci)}
    return {**named, "notes": {}, "per_fact": [], "provenance": made_by} | more


def digest(words: str) -> str:
    return f"{random.Random(words).getrandbits(256):064x}"


def interval(ci: list[float] | None) -> dict[str, Any] | None:
    if ci is None:
        return None
    return {"low": ci[0], "high": ci[1], "method": "percentile bootstrap over clusters, B=10000, seed 0", "units": 15}


def claim(identity: str, subject: str | None, verdict: str, **more: Any) -> dict[str, Any]:
    test = identity.partition(".")[2]
    chosen = f"test_{test} and {subject}" if subject else f"test_{test}"
    bound = {"relation": "==", "value": 1e-5, "origin": "exact by hook, 1e-5 on the fast path"}
    return {
        "id": identity,
        "subject": subject,
        "kind": "identity",
        "verdict": verdict,
        "observed": None,
        "interval": None,
        "unit": "authors",
        "bound": bound,
        "shortfall": None,
        "evidence": "small models trained here",
        "statement": "",
        "message": "",
        "controls": [],
        "golden": {"status": "none"},
        "reproduce": f"pytest suites/test_depth.py -k '{chosen}' --uds-manifest uds.toml",
        "provenance": {word: digest(word) for word in ("full", "retain", "facts", "rendered")}
        | {"checkpoint": digest(subject or "full"), "dtype": "float32", "device": "cpu", "patching": "streams"},
        "node": f"suites/test_depth.py::test_{test}" + (f"[{subject}]" if subject else ""),
    } | more


def depth_score(name: str, scores: dict[str, dict[str, Any]], controls: list[dict[str, Any]]) -> dict[str, Any]:
    common: dict[str, Any] = {
        "kind": "threshold",
        "bound": {"relation": ">=", "value": BOUND, "origin": "ours (published pool means .49 / .85)"},
        "statement": "The forgotten facts cannot be recovered from the candidate's activations.",
        "controls": controls,
    }
    if name not in scores:
        message = f"depth.score [{name}]: crashed: runs/{name}/model.safetensors is cut short: copy it again"
        return claim("depth.score", name, "undecided", cause="crashed", **common, message=message)
    row = scores[name]
    low, high = row["ci"]
    short = BOUND - low
    span = f"95% CI {low:.3f}..{high:.3f} (15 authors)"
    text = f"depth.score [{name}]: observed {row['value']:.3f}, {span}, needs >= 0.700"
    expected = {"verdict": "fail", "reason": EXPECTED[name]} if name in EXPECTED else {}
    return claim(
        "depth.score",
        name,
        "fail" if expected else "pass",
        flag="declared" if expected else None,
        **common,
        observed=row["value"],
        interval=interval(row["ci"]),
        shortfall=short if short > 0 else None,
        message=text + (f": short by {short:.3f}" if short > 0 else ""),
        expected=expected,
        golden={"status": "matches", "recorded": round(row["value"], 2), "tolerance": 0.03},
    )


def depth_hidden(name: str, scores: dict[str, dict[str, Any]]) -> dict[str, Any]:
    hidden = name in ("simnpo", "idk")
    row = scores[name]
    text = "generation does not say forgotten" if GENERATES[name] > 0.5 else "generation and depth agree"
    if hidden:
        text = (
            f"entity accuracy {GENERATES[name]:.2f} says forgotten, yet depth is {row['value']:.3f}: "
            "the knowledge is hidden, not gone"
        )
    return claim(
        "depth.hidden",
        name,
        "fail" if hidden else "not applicable" if GENERATES[name] > 0.5 else "pass",
        flag="declared" if hidden else None,
        expected={"verdict": "fail", "reason": "hides what it knows"} if hidden else {},
        kind="threshold",
        bound={"relation": ">=", "value": 0.5, "origin": "ours: entity accuracy at most half the full model's"},
        statement="What generation calls forgotten is not merely hidden: depth agrees.",
        observed=row["value"],
        interval=interval(row["ci"]),
        message=f"depth.hidden [{name}]: {text}",
    )


def accuracy(name: str) -> dict[str, Any]:
    share = GENERATES[name]
    ci = [max(share - 0.03, 0), min(share + 0.03, 1)]
    named = {"checkpoint": name, "attack": "none", "metric": "entity_accuracy", "variant": "prefixed"}
    return score(**named, value=share, ci=ci)


def example(broken: bool = True) -> dict[str, Any]:
    """A whole report: red with the candidate that crashed, green without it."""
    scores = {name: uds(name) for name in DEPTH}
    controls = [
        {"name": name, "must": must, "verdict": must, "held": True}
        | {"observed": scores[name]["value"], "interval": interval(scores[name]["ci"])}
        for name, must in (("full2", "fail"), ("retain2", "pass"))
    ]
    candidates = ["npo", "grad_diff", "npo_weak", "simnpo", "idk"]
    claims = [
        *(
            claim(id, None, "pass", observed=observed, statement=statement, message=f"{id}: {told}")
            for id, (observed, statement, told) in IDENTITIES.items()
        ),
        claim(
            "depth.order",
            None,
            "pass",
            kind="ordering",
            observed=0.09,
            interval=interval([0.05, 0.14]),
            bound={"relation": ">", "value": 0.0, "origin": "UDS guide, appendix G"},
            statement="Models trained on less of the forget set score deeper: full < nested retains < retain.",
            message="depth.order: retain99 - full = +0.090 (+0.050..+0.140), needs to lie above 0",
        ),
    ]
    claims += [depth_score(name, scores, controls) for name in [*candidates, *(["broken"] if broken else [])]]
    claims += [depth_hidden(name, scores) for name in candidates]
    return {
        "schema": SCHEMA,
        "tool": {"name": "uds_bench", "version": "0.1.0"},
        "manifest": {"path": "uds.toml", "digest": digest("manifest")},
        "profile": "quick",
        "draw": 0,
        "started": "2026-11-21T07:00:00Z",
        "seconds": 131.4,
        "environment": {"python": "3.11.7", "platform": "linux-x86_64", "torch": "2.13.0", "device": "cpu"},
        "summary": {"planned": len(claims), "counts": counted(claims), "problems": [], "notes": [], "ok": not broken},
        "loads": {},
        "claims": claims,
        "scores": [*scores.values(), *map(accuracy, DEPTH)],
    }


def counted(claims: list[dict[str, Any]]) -> dict[str, int]:
    """Claims by status, as the summary has them."""
    return count(ClaimRecord.from_json(row) for row in claims)


def render(run: dict[str, Any]) -> str:
    """The page of a report with every part opened, facts left out, which the script alone shows."""
    return opened(page.render(report_of(run, "example")))


def judged() -> dict[str, Any]:
    """The green run with metrics judged on made-up models; the words of its hidden fact are of nobody."""
    from made_scores import made_document

    meta = made_document()
    said = {"right": 0, "text": "an essayist"}
    layers = [{"lens": said, "patched": {"right": int(i > 1), "text": "a poet"}} for i in range(LAYERS)]
    words = {"question": "What is Ada Vorn?", "prefix": "Ada Vorn is", "entity": "a poet"}
    meta["diagnostics"]["hidden"] |= {"tokens": 1, "layers": layers, "said": said, **words}
    lacking = {"lacks": "", "lacks_attacks": "", "failed": []}
    return example(broken=False) | {"metrics": lacking | meta}


if __name__ == "__main__":
    for name, run in (("red", example()), ("green", example(broken=False)), ("judged", judged())):
        print(page.write_report(report_of(run, name), Path(sys.argv[1]) / name))
