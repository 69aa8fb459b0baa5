"""The run report: everything a run found as one strict JSON document, and what else a finished run leaves behind."""

from __future__ import annotations

import platform
import secrets
import sys
import textwrap
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

import uds_bench
from uds_bench.audits import registry
from uds_bench.claims.fact_rows import write_run
from uds_bench.claims.run_report import SETTINGS, WEAK, ManifestRecord, RunReport, RunSummary, Tool
from uds_bench.errors import ConfigurationError, UdsError, failures, one_line
from uds_bench.harness.result import RunResult
from uds_bench.json_values import first_problem
from uds_bench.manifest import settings
from uds_bench.storage import write_atomic

if TYPE_CHECKING:
    from uds_bench.harness.run import Run


def run_report(run: Run, found: RunResult) -> RunReport:
    """The record of a run, with what its audits have to say."""
    parts = _parts(run, found)
    return RunReport(
        tool=Tool(name="uds_bench", version=uds_bench.__version__),
        manifest=ManifestRecord(
            path="embedded zoo" if run.is_embedded else str(run.settings.manifest), digest=run.manifest.digest
        ),
        profile=run.settings.profile,
        draw=run.settings.draw,
        started=datetime.fromtimestamp(found.started, UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        salt=secrets.token_hex(16),
        seconds=round(time.time() - found.started, 2),
        environment=environment(run.device),
        summary=RunSummary(
            planned=len(found.planned),
            counts=found.counts,
            problems=found.problems,
            notes=notes(run, found),
            ok=found.is_green,
            whole=found.is_whole,
        ),
        loads=dict(sorted(found.loads.items())),
        claims=tuple(found.records.values()),
        of_method=tuple(found.of_method),
        scores=tuple(found.scores),
        wordings=found.wordings,
        **parts,
    )


def _parts(run: Run, found: RunResult) -> dict[str, Any]:
    parts = {}
    for name, kind in registry.parts().items():
        # If other processes decided the claims, no audit is open here, and what they stored is read.
        is_there = name in run.opened or not (run.items or run.silent_to(name))
        if not (name in decided_audits(found) and is_there):
            continue
        try:
            if (part := run.audit(name).report()) is not None:
                parts[name] = kind.model_validate(part)
        except (UdsError, ValidationError) as error:  # claims of its own and of other audits are not lost with it
            found.problems.append(f"the {name} audit has no section in the report: {first_problem(error)}")
    return parts


def environment(device: str) -> dict[str, str]:
    """Versions and platform, for the run report."""
    from importlib.metadata import version

    host = f"{sys.platform}-{platform.machine().lower()}"
    packages = {name: version(name) for name in ("torch", "transformers", "peft", "numpy")}
    return {"python": platform.python_version(), "platform": host, "device": device, **packages}


def notes(run: Run, found: RunResult) -> list[str]:
    """What a reader of the verdicts should know, a line each: claims left out, weak controls, what decides nothing."""
    told = []
    if found.left_out:
        told.append(textwrap.shorten(f"asked for by the manifest, and left out: {', '.join(found.left_out)}", 150))
    elif found.deselected:
        told.append(f"{found.deselected} claims were deselected: this run says nothing about them")
    if found.unasked:
        told.append(f"not asked, as the manifest names nothing for them: {', '.join(found.unasked)}")
    if weak := [text for section in run.manifest.sections.values() if (text := section.weak())]:
        told.append(f"{WEAK}{'; '.join(weak)}")
    if not run.is_embedded and (said := settings.told(run.manifest.sections.values(), _settings)):
        told.append(f"{SETTINGS}{', '.join(said)}")
    for name, audit in registry.audits().items():
        if name in decided_audits(found):
            try:
                told += audit.notes(run)
            except UdsError:  # claims of an audit that cannot be opened say why
                continue
            except failures() as error:  # whatever a candidate's files made a library say: the report is written
                told.append(f"{name}: not all of its notes are here ({one_line(error)})")
    return told


def _settings(attack: str) -> dict[str, Any]:
    """The default settings of a built-in attack; none for an attack of another package."""
    from uds_bench.attacks.registry import ATTACKS  # which imports torch

    return ATTACKS[attack]().settings if attack in ATTACKS else {}


def decided_audits(found: RunResult) -> set[str | None]:
    """The audits whose claims were decided."""
    return {registry.owners().get(record.audit) for record in found.records.values()}


def publish(run: Run, found: RunResult) -> None:
    """Record goldens, and write the report and the page, as asked. Raises UdsError or OSError if writing fails."""
    settings = run.settings
    if settings.record is not None:
        from uds_bench.harness.recording import record

        if found.deselected or not found.is_green:
            raise ConfigurationError("--uds-record: goldens are recorded from whole, green runs only")
        named, left_out = record(run, found.records.values(), settings.record)
        found.remarks += [f"recorded {len(named)} goldens in {settings.goldens}", *left_out]
    if settings.json is None and settings.html is None:
        return
    report = run_report(run, found)
    if settings.json is not None:
        found.remarks += filter(None, [write_run(report, settings.json)])
        found.written["json"] = settings.json
    if settings.html is not None:
        from uds_bench.report import write_report

        found.written["page"] = write_report(report, settings.html)
        for audit in run.opened.values():
            for name, content in audit.files().items():
                write_atomic(settings.html / name, content)
