"""The run report: everything a run found, as one strict JSON document."""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uds_bench
from uds_bench.errors import UdsError
from uds_bench.harness.findings import Findings
from uds_bench.harness.record import finite
from uds_bench.harness.subjects import SECTIONS, audited
from uds_bench.storage import write_atomic

if TYPE_CHECKING:
    from uds_bench.harness.manifest import Manifest
    from uds_bench.harness.run import Run

SCHEMA = 1
JUDGING = {"faithfulness", "robustness"}
"""Audits that judge metrics."""


def run_report(run: Run, found: Findings) -> dict[str, Any]:
    """See the README for the schema."""
    report: dict[str, Any] = {
        "schema": SCHEMA,
        "tool": {"name": "uds_bench", "version": uds_bench.__version__},
        "manifest": {
            "path": "embedded zoo" if run.is_embedded else str(run.settings.manifest),
            "digest": run.manifest.digest,
        },
        "profile": run.settings.profile,
        "draw": run.settings.draw,
        "started": datetime.fromtimestamp(found.started, UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "seconds": round(time.time() - found.started, 2),
        "environment": environment(run.device),
        "summary": {
            "planned": len(found.planned),
            "counts": found.counts,
            "problems": found.problems,
            "notes": notes(run, found),
        },
        "loads": dict(sorted(found.loads.items())),
        "claims": [record.to_json() for record in found.records.values()],
        "scores": finite(found.scores),
    }
    if JUDGING & {record.audit for record in found.records.values()}:
        from uds_bench.harness.diagnosis import run_section

        report["meta"] = run_section(run)
    for fixture, audit in SECTIONS.items():
        if audited(run.manifest, fixture) and audit in {record.audit for record in found.records.values()}:
            try:
                report[audit] = finite(getattr(run, audit).report())
            except UdsError as error:  # its claims have crashed; those of other audits are not lost with it
                found.problems.append(f"the {audit} audit has no section in the report: {error}")
    report["summary"]["ok"] = found.is_green
    return report


def environment(device: str) -> dict[str, str]:
    from importlib.metadata import version

    host = f"{sys.platform}-{platform.machine().lower()}"
    packages = {name: version(name) for name in ("torch", "transformers", "peft", "numpy")}
    return {"python": platform.python_version(), "platform": host, "device": device, **packages}


def notes(run: Run, found: Findings) -> list[str]:
    """What a reader of the verdicts should know, a line each: claims left out, weak controls, what decides nothing."""
    manifest, told = run.manifest, []
    if found.deselected:
        told.append(f"{found.deselected} claims were deselected: this run says nothing about them")
    if weak := _weak(manifest):
        told.append(f"controls are weak: add {'; '.join(weak)}")
    if manifest.references is not None:
        told += _of_depth(run)
    located = manifest.localization
    if located is not None and located.controls and located.unmasked is None:
        told.append(
            "contrasts of the localization audit do not apply without the model that was injected without masks: name "
            "it as [localization] unmasked"
        )
    return told


def _of_depth(run: Run) -> list[str]:
    pools, told = run.manifest.pools, []
    if pools.positive and pools.negative and (small := too_small(len(pools.positive), len(pools.negative))):
        told.append(small)
    if run.manifest.facts is not None and (lost := len(run.facts.unannotated)):
        told.append(f"{lost} items of the facts' source have no entity marked: they are in no score")
    return told


def _weak(manifest: Manifest) -> list[str]:
    """By audit what the manifest would have to name, so that no stand-in takes the place of a control."""
    named: dict[str, list[str]] = {}
    if manifest.references is not None:
        named["pools"] = [key for key in ("positive", "negative") if not getattr(manifest.pools, key)]
    if manifest.bypass is not None:
        known = set(manifest.bypass.controls().values())
        named["bypass"] = [f"must_{word}" for word in ("fail", "pass") if word not in known]
    if manifest.lmlm is not None and manifest.lmlm.checkpoints() and not manifest.lmlm.must_fail:
        named["lmlm"] = ["must_fail"]
    located, asked = manifest.localization, manifest.association
    if located is not None and located.complete:
        named["localization"] = [key for key in ("neutral", "must_pass") if not getattr(located, key)]
    if asked is not None and asked.candidates and asked.retain is None:
        named["association"] = ["retain"]
    return [f"[{section}] {', '.join(keys)}" for section, keys in named.items() if keys]


def too_small(knows: int, never_knew: int) -> str:
    """What to say of pools that serve as controls and are too small to set the bound of depth.score; "" of others."""
    from uds_bench.audits.depth import POOL

    if min(knows, never_knew) >= POOL:
        return ""
    return (
        f"the pools are controls only: with {knows} and {never_knew} models they set no bound for depth.score, which "
        f"takes {POOL} a side, and the default holds"
    )


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    write_atomic(path, json.dumps(document, indent=1, allow_nan=False).encode() + b"\n")
