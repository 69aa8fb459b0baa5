"""`uds-bench plan`: which scores of which audits are stored, and which a run would have to compute. No model is
loaded."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from uds_bench.cli.session import CommandSession, Scope, is_unbuilt, read_scope
from uds_bench.console.app import show_json, show_table
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

if TYPE_CHECKING:
    from uds_bench.audits.job import Job
    from uds_bench.checkpoints import CheckpointSpec

EXAMPLE = "uds-bench plan --manifest uds.toml --variants"
STORED, MISSING, UNBUILT, UNUSABLE = "stored", "missing", "not built", "unusable"
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
    """Show which scores are stored already and which would be computed.

    Reads weights for their digests only and loads no model. "not built": an embedded model is still to be
    trained. Exits 1 if a checkpoint is unusable, and says why.
    """
    scope = read_scope(manifest, metrics, attacks, variants, checkpoints, audits, store, device)
    cells = survey_audits(scope)
    if scope.job is not None:
        tell_left_out(scope.job.left_out)
        cells = survey(scope.job, scope.by_metric) + cells
    tally = Counter(cell["status"] for cell in cells)
    counts = {status: tally[status] for status in STATUSES}
    if as_json:
        show_json({"schema": 1, "store": str(scope.store), "device": scope.device, "counts": counts, "cells": cells})
    else:
        _show(cells)
        said = ", ".join(f"{count} {status}" for status, count in counts.items())
        typer.echo(f"\n{len(cells)} scores: {said}\nstore: {scope.store}, device: {scope.device}")
    for reason in dict.fromkeys(cell["reason"] for cell in cells if cell["reason"]):
        typer.echo(f"uds-bench: unusable: {reason}", err=True)
    raise typer.Exit(1 if counts[UNUSABLE] else 0)


def survey(job: Job, audit: str) -> list[dict[str, str | None]]:
    """For every score of the job its address, its status, and the reason where it cannot be had."""
    from uds_bench.errors import UdsError
    from uds_bench.metrics import find_metric
    from uds_bench.scoring.shapes import check_shapes

    specs, unbuilt = _built(job)
    runner = job.runner(specs)
    cells: list[dict[str, str | None]] = []
    for name, requests in job.requests.items():
        for request in requests:
            status, reason = MISSING, None
            if unbuilt & {name, *find_metric(request.metric).needs}:
                status = UNBUILT
            else:
                try:
                    status = MISSING if runner.stored(request) is None else STORED
                    check_shapes(name, specs)
                except UdsError as error:
                    status, reason = UNUSABLE, " ".join(str(error).split())
            address: dict[str, str | None] = {"checkpoint": name, "attack": request.attack, "metric": request.metric}
            address |= {"audit": audit}
            cells.append(address | {"variant": request.variant, "status": status, "reason": reason})
    return cells


def survey_audits(scope: Scope) -> list[dict[str, str | None]]:
    """The same of the audits that score models of their own."""
    from uds_bench.errors import UdsError

    session, cells = CommandSession(scope.manifest, scope.store, scope.device), []
    for audit in scope.audits:
        specs = session.specs(audit)
        unbuilt = any(is_unbuilt(spec) for spec in specs.values())

        def cell(name: str, metric: str, status: str, reason: str | None, of: str = audit) -> dict[str, str | None]:
            address = {"audit": of, "checkpoint": name, "attack": "none", "metric": metric, "variant": "default"}
            return address | {"status": status, "reason": reason}

        try:
            planned = session.planned(audit)
        except UdsError as error:
            # An audit may read what stands beside a model that is still to be trained.
            status, reason = (UNBUILT, None) if unbuilt else (UNUSABLE, " ".join(str(error).split()))
            cells += [cell(name, audit, status, reason) for name in specs]
            continue
        for runner, requests in planned:
            for request in requests:
                status, reason = MISSING, None
                if is_unbuilt(runner.spec(request.checkpoint)):
                    status = UNBUILT
                else:
                    try:
                        status = MISSING if runner.stored(request) is None else STORED
                    except UdsError as error:
                        status, reason = UNUSABLE, " ".join(str(error).split())
                cells.append(cell(request.checkpoint, runner.evaluator.measure.name, status, reason))
    return cells


def _built(job: Job) -> tuple[dict[str, CheckpointSpec], set[str]]:
    """The checkpoints with the embedded ones by their folder, and the names of those that are not trained yet."""
    from uds_bench.checkpoints.spec import SCHEME, SPECIMEN, plain
    from uds_bench.storage import default_cache
    from uds_bench.zoo import cache
    from uds_bench.zoo.ready import resolve_zoo

    specs, unbuilt = dict(job.specs), set()
    specs = resolve_zoo(specs, [name for name in specs if specs[name].model.startswith(SPECIMEN)], default_cache())
    for name in [name for name in job.needed if specs[name].model.startswith(SCHEME)]:
        folder = cache.folder(default_cache(), plain(specs[name].model))
        if cache.is_whole(folder):
            specs[name] = replace(specs[name], model=str(folder))
        else:
            unbuilt.add(name)
    return specs, unbuilt


def _show(cells: list[dict[str, str | None]]) -> None:
    """A table an audit."""
    for at, audit in enumerate(dict.fromkeys(cell["audit"] for cell in cells)):
        if at:
            typer.echo()
        _show_audit([cell for cell in cells if cell["audit"] == audit])


def _show_audit(cells: list[dict[str, str | None]]) -> None:
    """A row a checkpoint, a column a metric; the variant is named where there are several."""
    several = len({(cell["metric"], cell["variant"]) for cell in cells}) > len({cell["metric"] for cell in cells})
    rows: dict[str, dict[str, str]] = {}
    for cell in cells:
        column = f"{cell['metric']}\n{cell['variant']}" if several else str(cell["metric"])
        name = str(cell["checkpoint"])
        rows.setdefault(name, {"checkpoint": name})[column] = str(cell["status"])
    show_table(rows.values())
