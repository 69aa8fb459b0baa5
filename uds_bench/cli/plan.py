"""`uds-bench plan`: which scores of which audits are stored, and which a run would have to compute. No model is
loaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uds_bench.audits import registry
from uds_bench.cli.collected import marks_of
from uds_bench.cli.session import CommandSession, is_unbuilt, read_scope
from uds_bench.console.app import ABSENT, CONFIGURATION
from uds_bench.console.lines import say, show_json, show_table
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
from uds_bench.errors import ConfigurationError, UdsError
from uds_bench.grouping import grouped
from uds_bench.storage import CELLS

if TYPE_CHECKING:
    from uds_bench.audits.score_job import Job
    from uds_bench.scoring.cost import PlannedCost
    from uds_bench.scoring.engine import Needs
    from uds_bench.scoring.runner import ScoreRequest, ScoreRunner

EXAMPLE = "uds-bench plan --manifest uds.toml --metrics uds,spared --cost"
CostOption = Annotated[
    bool,
    typer.Option("--cost", help="Score a part, for some ten seconds an audit, and say what all that is missing takes."),
]
GateOption = Annotated[bool, typer.Option("--gate", help="What the claims of `pytest suites/` read, and nothing else.")]
STORED, MISSING, UNBUILT, UNUSABLE = "stored", "missing", "not built", "unusable"
Cell = dict[str, str | None]
Row = tuple[Cell, "tuple[ScoreRunner, ScoreRequest] | None"]
"""A score's address and status; what scores it, and what is asked of that, None where its audit cannot be opened."""
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
    cost: CostOption = False,
    gate: GateOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show which scores are stored already and which would be computed, and how many people a margin takes.

    Reads files alone, weights for their digests and for NaN, and loads no model but for `--cost`. Hub ids are
    downloaded. "not built": an embedded model is still to be trained. Exits 4 if a checkpoint is unusable, as a run
    would, and says why.
    """
    from uds_bench.claims.waivers import looser_thresholds

    if gate and (metrics or checkpoints or variants or attacks != "none"):
        raise ConfigurationError("--gate: its claims say which scores they read: leave out what names some")
    scope = read_scope(manifest, metrics, attacks, variants, checkpoints, audits, store, device, gate=gate)
    asked = scope.manifest
    looser = looser_thresholds(asked.thresholds, registry.claims(), asked.document)
    marks = marks_of(manifest, scope.store, scope.device) if gate else []
    session = CommandSession(scope.manifest, scope.store, scope.device, marks=marks)
    rows: dict[str, list[Row]] = {}
    if scope.job is not None:
        tell_left_out(scope.job.left_out)
        rows[scope.by_metric] = list(survey(session, scope.job, scope.by_metric))
    notes = []
    for audit in scope.audits:
        rows[audit] = list(survey_audit(session, audit))
        if all(cell["status"] != UNUSABLE for cell, _ in rows[audit]):
            notes += registry.audits()[audit].notes(session)
    cells = [cell for surveyed in rows.values() for cell, _ in surveyed]
    notes += [f"thresholds: {name} is looser than the default, and needs a waiver in --uds-waivers" for name in looser]
    tally = Counter(cell["status"] for cell in cells)
    counts = {status: tally[status] for status in STATUSES}
    takes = _cost(rows) if cost else {}
    if as_json:
        found: dict[str, Any] = {"counts": counts, "cells": cells, "notes": notes}
        if cost:
            found["cost"] = [
                {"audit": audit, **asdict(one), "seconds": one.seconds, "task": asdict(task)}
                for audit, of in takes.items()
                for one, task in of
            ]
        show_json({"schema": 2, "store": str(scope.store), "device": scope.device, **found})
    else:
        _show(cells)
        said = ", ".join(f"{count} {status}" for status, count in counts.items())
        say()
        say(f"{len(cells)} scores: {said}")
        say(f"store: {scope.store}, device: {scope.device}")
        for note in notes:
            say(note)
        if cost:
            _show_cost(takes)
            if counts[UNUSABLE]:
                say(f"not in it: {counts[UNUSABLE]} unusable")
    for reason in dict.fromkeys(cell["reason"] for cell in cells if cell["reason"]):
        say(f"uds-bench: unusable: {reason}", err=True)
    raise typer.Exit(CONFIGURATION if counts[UNUSABLE] else 0)


def _cost(rows: Mapping[str, Sequence[Row]]) -> dict[str, list[tuple[PlannedCost, Needs]]]:
    """By audit what the missing scores of built checkpoints take, for each kind of scores that has parts, and what a
    task of an engine would ask for."""
    from uds_bench.progress import hush
    from uds_bench.scoring.cost import SECONDS, planned_cost
    from uds_bench.scoring.engine import needs

    hush()
    found: dict[str, list[tuple[PlannedCost, Needs]]] = {}
    for audit, surveyed in rows.items():
        missing = grouped(
            (asked for cell, asked in surveyed if asked and cell["status"] == MISSING), lambda one: one[0]
        )
        for runner, pairs in missing.items():
            requests = [request for _, request in pairs]
            try:
                takes = planned_cost(runner, requests, SECONDS / len(missing))
                work = runner.work(requests)
                task = needs(work.largest, work.trains, runner.device)
            except UdsError as error:
                say(f"not measured: {audit}: {error}", err=True)
                continue
            if takes is not None:
                found.setdefault(audit, []).append((takes, task))
    return found


def _show_cost(takes: Mapping[str, Sequence[tuple[PlannedCost, Needs]]]) -> None:
    """A row a kind of checkpoint, what all of it comes to, and what a task of an engine would ask for."""
    from uds_bench.methods.memory import gib

    if not takes:
        say("no score that can be computed is missing: nothing was measured")
        return
    every, tasks = zip(*(pair for found in takes.values() for pair in found), strict=True)
    say()
    show_table(
        {
            "audit": audit,
            "scores": one.measures[0] if len(one.measures) == 1 else f"{len(one.measures)} metrics",
            "one takes": stage.what,
            "left": str(stage.count),
            "seconds": f"{stage.seconds:.1f}",
            "tokens": f"{stage.tokens:,}",
            "passes": ABSENT if stage.passes is None else f"{stage.passes:.1f}",
            "weights": gib(stage.weights),
            "memory": gib(stage.memory),
            "disk": gib(stage.disk),
            "measured on": f"{one.tried:,} of {one.units:,}",
        }
        for audit, found in takes.items()
        for one, _ in found
        for stage in one.stages
    )
    say()
    say(
        f"about {sum(one.seconds for one in every) / 60:.1f} minutes in one process, "
        f"{gib(max(one.memory for one in every))} of memory at most, {gib(sum(one.disk for one in every))} on disk: "
        f"measured in {sum(one.measured for one in every):.0f} s"
    )
    say(f"with --engine a task asks for {gib(max(task.memory for task in tasks))} of memory at most")
    for what, why in [pair for one in every for pair in one.failed.items()]:
        say(f"not in it: {what}: {why}")


def survey(session: CommandSession, job: Job, audit: str) -> Iterator[Row]:
    """For every score of the job its address, its status, and the reason where it cannot be had."""
    from uds_bench.metrics import find_metric

    specs, refused = session.ready(job.specs, job.needed), session.refused(audit, job.needed)
    unbuilt = {name for name in job.needed if is_unbuilt(specs[name])}
    # The cost is measured by this runner: it must hold no model that cannot be loaded.
    runner = job.runner({name: spec for name, spec in specs.items() if not is_unbuilt(spec) and name not in refused})
    shelved = _Shelved(runner)
    for request in (one for requests in job.requests.values() for one in requests):
        read = [request.checkpoint, *find_metric(request.metric).needs]
        told = _status(shelved, request, read, unbuilt, refused)
        yield {"audit": audit, **job.address(request), **told}, (runner, request)


def survey_audit(session: CommandSession, audit: str) -> Iterator[Row]:
    """The same of an audit that scores models of its own."""
    specs = session.specs(audit)
    unbuilt, refused = {name for name, spec in specs.items() if is_unbuilt(spec)}, session.refused(audit, specs)
    try:
        planned = session.planned(audit)
    except UdsError as error:
        # An audit may read what stands beside a model that is still to be trained.
        why = {"status": UNBUILT, "reason": None} if unbuilt else {"status": UNUSABLE, "reason": str(error)}
        form = {"metric": audit, "attack": "none", "variant": "default"}
        yield from (({"audit": audit, "checkpoint": name, **form, **why}, None) for name in specs)
        return
    for runner, requests in planned:
        shelved = _Shelved(runner)
        for request in requests:
            evaluator = runner.evaluator_of(request)
            told: Cell = {"audit": audit, "checkpoint": request.checkpoint, "attack": request.attack}
            told |= {"metric": evaluator.measure.name, "variant": evaluator.variant}
            yield told | _status(shelved, request, [request.checkpoint], unbuilt, refused), (runner, request)


class _Shelved:
    """Which scores a runner's store has. Its names are listed once: of many cells that it lacks, none is opened."""

    def __init__(self, runner: ScoreRunner) -> None:
        self._runner = runner
        self._keys: set[str] | None = None
        with suppress(UdsError):  # what cannot be listed may be read, cell by cell
            self._keys = {name.rpartition("/")[2].removesuffix(".json") for name in runner.store.shelf.names(CELLS)}
        self._addressed: set[object] = set()

    def has(self, request: ScoreRequest) -> bool:
        """Whether a score is stored. Raises UdsError where it has no address, or cannot be read."""
        if self._keys and not any(self._runner.cell(request, one).key in self._keys for one in self._runner.devices):
            return False
        # What was part of one address is part of another: in an empty store the others need not be made.
        parts = {request.checkpoint, (request.metric, request.variant, request.attack)}
        if self._keys == set() and parts <= self._addressed:
            return False
        found = self._runner.stored(request) is not None
        self._addressed |= parts
        return found


def _status(
    shelved: _Shelved, request: ScoreRequest, read: Iterable[str], unbuilt: Container[str], refused: Mapping[str, str]
) -> Cell:
    """What becomes of a score that is made of the checkpoints `read`."""
    if why := next((refused[name] for name in read if name in refused), None):
        return {"status": UNUSABLE, "reason": why}
    if any(name in unbuilt for name in read):
        return {"status": UNBUILT, "reason": None}
    try:
        return {"status": STORED if shelved.has(request) else MISSING, "reason": None}
    except UdsError as error:
        return {"status": UNUSABLE, "reason": str(error)}


def _show(cells: list[Cell]) -> None:
    """A table an audit."""
    for at, own in enumerate(grouped(cells, lambda cell: cell["audit"]).values()):
        if at:
            say()
        _show_audit(own)


def _show_audit(cells: list[Cell]) -> None:
    """A row a checkpoint, a column a metric; the variant is named where there are several."""
    several = len({(cell["metric"], cell["variant"]) for cell in cells}) > len({cell["metric"] for cell in cells})
    rows: dict[str, dict[str, str]] = {}
    for cell in cells:
        column = f"{cell['metric']}\n{cell['variant']}" if several else str(cell["metric"])
        name = str(cell["checkpoint"])
        rows.setdefault(name, {"checkpoint": name})[column] = str(cell["status"])
    show_table(rows.values())
