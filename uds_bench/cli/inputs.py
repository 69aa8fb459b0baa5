"""Whether what a run rests on is still what it was: references, controls, and what models were asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from uds_bench.attacks import NONE
from uds_bench.audits import registry
from uds_bench.cli.session import CommandSession
from uds_bench.device import is_device
from uds_bench.errors import UdsError
from uds_bench.storage import default_cache

if TYPE_CHECKING:
    from uds_bench.claims.run_report import RunReport
    from uds_bench.manifest.manifest import Manifest
    from uds_bench.scores import Score
    from uds_bench.scoring.runner import ScoreRunner

KEPT = {"checkpoint": "files", "facts": "questions", "references": "references"}
"""Of where a score comes from, what must be as it was, and what to call it."""


def changed_inputs(run: RunReport, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """What has changed since a run, by checkpoint: its own files, what it was asked, what it was held against.

    Args:
        run: A run report whose scores say where they come from.
        manifest: Its manifest, as it is now.

    Returns:
        Name and a line; nothing where every score of the run has the same address as then, but for code and versions.
    """
    if not run.scores:
        yield "", "the run has no scores: nothing says what its verdicts were read from"
    device, told = str(run.environment["device"]), set()
    session = CommandSession(manifest, default_cache() / "store", device)
    runners: list[ScoreRunner] = []
    for name, audit in registry.audits().items():
        kind = audit.section()
        if kind is None or manifest.of(kind).asks_nothing or manifest.of(kind).lacks():
            continue
        try:
            runners += session.audit(name).runners()
        except UdsError as error:
            yield name, f"the {name} audit can no longer be asked: {error}"
    for score in run.scores:
        name, metric = score.checkpoint, score.metric
        asked = [one for one in runners if name in one.specs and (score.attack != NONE or _gives(one, metric))]
        lines = [_changed(runner, score) for runner in asked]
        # An audit may ask in several ways, each by a runner of its own: one of them is where the score comes from.
        if lines and not all(lines):
            continue
        line = lines[0] if lines else f"{name}: {metric} is of no audit that the manifest asks"
        if line not in told:
            told.add(line)
            yield name, line


def _changed(runner: ScoreRunner, score: Score) -> str:
    """What of a score's address is not what a runner would look it up under now; "" where nothing is."""
    from uds_bench.scoring.runner import ScoreRequest

    known, name = score.provenance, score.checkpoint
    request = ScoreRequest(name, *(() if runner.evaluator is not None else (score.metric, score.variant)))
    if not is_device(known.get("device")):
        return f"{name}: {score.metric} was measured on no device"
    try:
        now: dict[str, Any] = {"checkpoint": runner.digest(name, known["device"])}
        if score.attack == NONE:  # what an attack did is looked up by the checkpoint as it was before
            cell = runner.cell(request, known["device"])
            now |= {"facts": cell.facts, "references": list(cell.references)}
    except UdsError as error:
        return f"{name}: {error}"
    moved = [KEPT[key] for key, value in now.items() if known.get(key) != value]
    return f"{name}: its {' and '.join(moved)} have changed since the run" if moved else ""


def _gives(runner: ScoreRunner, metric: str) -> bool:
    from uds_bench.metrics import METRICS

    return metric in METRICS if runner.evaluator is None else runner.evaluator.measure.name == metric
