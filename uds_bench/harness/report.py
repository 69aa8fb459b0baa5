"""The run report: everything a run found, as one strict JSON document."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uds_bench
from uds_bench.errors import UdsError
from uds_bench.harness.findings import Findings
from uds_bench.harness.goldens import platform_name
from uds_bench.harness.record import finite
from uds_bench.harness.subjects import SECTIONS, audited
from uds_bench.storage import write_atomic

if TYPE_CHECKING:
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

    packages = {name: version(name) for name in ("torch", "transformers", "peft", "numpy")}
    return {"python": platform.python_version(), "platform": platform_name(), "device": device, **packages}


def notes(run: Run, found: Findings) -> list[str]:
    """What a reader of the verdicts should know: claims left out, weak controls, sections that decide nothing."""
    manifest, told = run.manifest, []
    if found.deselected:
        told.append(f"{found.deselected} claims were deselected: this run says nothing about them")
    if manifest.references is not None:
        told += _of_depth(run)
    if manifest.bypass is not None and {"fail", "pass"} - set(manifest.bypass.controls().values()):
        told.append(
            "controls of the bypass audit are weak: scripted replies stand in for models whose verdict is known; add "
            "[bypass] must_fail and must_pass"
        )
    if manifest.lmlm is not None and manifest.lmlm.checkpoints() and not manifest.lmlm.must_fail:
        told.append(
            "controls of the LMLM audit are weak: a perfect asker stands in for a model that is known to leak; add "
            "[lmlm] must_fail"
        )
    located = manifest.localization
    if located is not None and located.complete:
        lacking = [key for key in ("neutral", "must_pass") if not getattr(located, key)]
        if lacking:
            told.append(
                "controls of the localization audit are weak: drawn updates stand in for trained ones; add "
                f"[localization] {' and '.join(lacking)}"
            )
    if located is not None and located.controls and located.unmasked is None:
        told.append(
            "contrasts of the localization audit are not applicable: controls are held against the model that was "
            "injected without masks; name it as [localization] unmasked"
        )
    told_of = manifest.association
    if told_of is not None and told_of.candidates and told_of.retain is None:
        told.append(
            "controls of the association audit are weak: no model is known to have never seen who is to be forgotten; "
            "add [association] retain"
        )
    return told


def _of_depth(run: Run) -> list[str]:
    pools, told = run.manifest.pools, []
    if not (pools.positive and pools.negative):
        told.append(
            "controls are weak: the manifest has no pools of models that know and never knew, so only identities guard "
            "the gates; add [pools] positive and negative"
        )
    elif small := too_small(len(pools.positive), len(pools.negative)):
        told.append(small)
    if run.manifest.facts is not None and (lost := len(run.facts.unannotated)):
        told.append(f"{lost} items of the facts' source have no entity marked: they are in no score")
    return told


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
