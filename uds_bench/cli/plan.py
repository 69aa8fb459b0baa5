"""`uds-bench plan`: which scores of which audits are stored, and which a run would have to compute. No model is
loaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import typer

from uds_bench.audits import registry
from uds_bench.cli.session import CommandSession, is_unbuilt, read_scope
from uds_bench.console.app import CONFIGURATION, show_json, show_table
from uds_bench.console.options import (
    AttacksOption,
    AuditsOption,
    CheckpointsOption,
    DeviceOption,
    JsonOption,
    ManifestOption,
    MetricsOption,
    StoreOption,
    VariantsOption,
    tell_left_out,
)
from uds_bench.errors import UdsError

if TYPE_CHECKING:
    from uds_bench.audits.score_job import Job
    from uds_bench.scoring.runner import ScoreRequest, ScoreRunner

EXAMPLE = "uds-bench plan --manifest uds.toml --variants"
STORED, MISSING, UNBUILT, UNUSABLE = "stored", "missing", "not built", "unusable"
Cell = dict[str, str | None]
STATUSES = (STORED, MISSING, UNBUILT, UNUSABLE)


def plan(
    manifest: ManifestOption = None,
    metrics: MetricsOption = "",
    attacks: AttacksOption = "none",
    variants: VariantsOption = False,
    checkpoints: CheckpointsOption = "",
    audits: AuditsOption = "",
    store: StoreOption = None,
    device: DeviceOption = "auto",
    as_json: JsonOption = False,
) -> None:
    """Show which scores are stored already and which would be computed, and how many people a margin takes.

    Reads files alone, weights for their digests and for NaN, and loads no model. "not built": an embedded model is
    still to be trained. Exits 4 if a checkpoint is unusable, as a run would, and says why.
    """
    scope = read_scope(manifest, metrics, attacks, variants, checkpoints, audits, store, device)
    session = CommandSession(scope.manifest, scope.store, scope.device)
    cells: list[Cell] = []
    if scope.job is not None:
        tell_left_out(scope.job.left_out)
        cells += survey(session, scope.job, scope.by_metric)
    notes = []
    for audit in scope.audits:
        cells += (surveyed := list(survey_audit(session, audit)))
        if all(cell["status"] != UNUSABLE for cell in surveyed):
            notes += registry.audits()[audit].notes(session)
    tally = Counter(cell["status"] for cell in cells)
    counts = {status: tally[status] for status in STATUSES}
    if as_json:
        found = {"counts": counts, "cells": cells, "notes": notes}
        show_json({"schema": 1, "store": str(scope.store), "device": scope.device, **found})
    else:
        _show(cells)
        said = ", ".join(f"{count} {status}" for status, count in counts.items())
        typer.echo(f"\n{len(cells)} scores: {said}\nstore: {scope.store}, device: {scope.device}")
        for note in notes:
            typer.echo(note)
    for reason in dict.fromkeys(cell["reason"] for cell in cells if cell["reason"]):
        typer.echo(f"uds-bench: unusable: {reason}", err=True)
    raise typer.Exit(CONFIGURATION if counts[UNUSABLE] else 0)


def survey(session: CommandSession, job: Job, audit: str) -> Iterator[Cell]:
    """For every score of the job its address, its status, and the reason where it cannot be had."""
    from uds_bench.metrics import find_metric

    specs = session.ready(job.specs, job.needed)
    runner, unbuilt = job.runner(specs), {name for name in job.needed if is_unbuilt(specs[name])}
    refused = session.refused(audit, job.needed)
    for requests in job.requests.values():
        for request in requests:
            read = [request.checkpoint, *find_metric(request.metric).needs]
            yield {"audit": audit, **job.address(request), **_status(runner, request, read, unbuilt, refused)}


def survey_audit(session: CommandSession, audit: str) -> Iterator[Cell]:
    """The same of an audit that scores models of its own."""
    specs = session.specs(audit)
    unbuilt, refused = {name for name, spec in specs.items() if is_unbuilt(spec)}, session.refused(audit, specs)
    try:
        planned = session.planned(audit)
    except UdsError as error:
        # An audit may read what stands beside a model that is still to be trained.
        why = {"status": UNBUILT, "reason": None} if unbuilt else {"status": UNUSABLE, "reason": str(error)}
        form = {"metric": audit, "attack": "none", "variant": "default"}
        yield from ({"audit": audit, "checkpoint": name, **form, **why} for name in specs)
        return
    for runner, requests in planned:
        for request in requests:
            told: Cell = {"audit": audit, "checkpoint": request.checkpoint, "attack": request.attack}
            told |= {"metric": runner.evaluator.measure.name, "variant": runner.evaluator.variant}
            yield {**told, **_status(runner, request, [request.checkpoint], unbuilt, refused)}


def _status(
    runner: ScoreRunner, request: ScoreRequest, read: Iterable[str], unbuilt: Container[str], refused: Mapping[str, str]
) -> dict[str, str | None]:
    """What becomes of a score that is made of the checkpoints `read`."""
    if why := next((refused[name] for name in read if name in refused), None):
        return {"status": UNUSABLE, "reason": why}
    if any(name in unbuilt for name in read):
        return {"status": UNBUILT, "reason": None}
    try:
        return {"status": MISSING if runner.stored(request) is None else STORED, "reason": None}
    except UdsError as error:
        return {"status": UNUSABLE, "reason": str(error)}


def _show(cells: list[Cell]) -> None:
    """A table an audit."""
    for at, audit in enumerate(dict.fromkeys(cell["audit"] for cell in cells)):
        if at:
            typer.echo()
        _show_audit([cell for cell in cells if cell["audit"] == audit])


def _show_audit(cells: list[Cell]) -> None:
    """A row a checkpoint, a column a metric; the variant is named where there are several."""
    several = len({(cell["metric"], cell["variant"]) for cell in cells}) > len({cell["metric"] for cell in cells})
    rows: dict[str, dict[str, str]] = {}
    for cell in cells:
        column = f"{cell['metric']}\n{cell['variant']}" if several else str(cell["metric"])
        name = str(cell["checkpoint"])
        rows.setdefault(name, {"checkpoint": name})[column] = str(cell["status"])
    show_table(rows.values())
