"""`uds-bench score`: compute what is missing, with pytest's own runner and store, and write it all to one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uds_bench.cli.session import CommandScope, CommandSession, read_scope
from uds_bench.console.app import show_interval, show_number
from uds_bench.console.lines import say, show_table
from uds_bench.console.options import (
    AttacksOption,
    AuditsOption,
    BatchSizeOption,
    CheckpointsOption,
    DeviceOption,
    EngineOption,
    ManifestOption,
    MetricsOption,
    ShardOption,
    StoreOption,
    VariantsOption,
    require_file,
    tell_left_out,
)
from uds_bench.device import batches
from uds_bench.engines import LOCAL, find_engine
from uds_bench.engines.shard import read_shard
from uds_bench.errors import UdsError, some
from uds_bench.storage import write_atomic, write_json
from uds_bench.zoo.ready import require_folders

if TYPE_CHECKING:
    from rich.console import Console

    from uds_bench.engines.shard import Shard
    from uds_bench.scores import Score, Scores
    from uds_bench.scoring.engine import Engine

FORMATS = (".json", CSV := ".csv")
NAMED = 3
"""Checkpoints that a line names which tells the same of all of them."""
EXAMPLE = "uds-bench score --manifest uds.toml --metrics uds,entity_accuracy --out scores.json"


def score(
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write: JSON, or a table if it ends in .csv.")],
    manifest: ManifestOption = None,
    metrics: MetricsOption = "",
    attacks: AttacksOption = "none",
    variants: VariantsOption = False,
    checkpoints: CheckpointsOption = "",
    audits: AuditsOption = "",
    store: StoreOption = None,
    device: DeviceOption = "auto",
    batch_size: BatchSizeOption = "",
    engine: EngineOption = LOCAL,
    shard: ShardOption = "",
) -> None:
    """Compute scores and write them to one file.

    What is in the store already is read; `pytest suites/` then finds all of it there. Of one share, only its scores
    are written: run it without `--shard` when all shares are stored, to write all. Exits 1 if a checkpoint
    could not be scored: the others are written all the same, and the file lists it under "errors".
    """
    from rich.console import Console

    from uds_bench.scores import Scores

    require_file(out, "--out", FORMATS)
    share, where = read_shard(shard), find_engine(engine)
    scope = read_scope(manifest, metrics, attacks, variants, checkpoints, audits, store, device, where is None)
    require_folders(scope.store, dict(scope.manifest.checkpoints()), "--store")
    console = Console(stderr=True)
    found: list[Score] = []
    errors: list[dict[str, str]] = []
    with batches(batch_size, "--batch-size"):
        if (job := scope.job) is not None:
            tell_left_out(job.left_out)
            found, failed = job.compute(job.runner(job.trained_specs(console), console, where), share)
            errors = [{**job.address(request), "message": message} for request, message in failed.items()]
        more, lost = compute_audits(scope, console, where, share)
    scores, known = Scores([*found, *more]), len(found) - len(errors) + len(more)
    errors += lost
    write_scores(out, scores, errors)
    show_table(map(_row, scores))
    lines: dict[str, dict[str, None]] = {}
    for error in errors:
        lines.setdefault(error["message"], {})[error["checkpoint"]] = None
    for message, names in lines.items():
        say(f"uds-bench: could not score {some([*names], NAMED)}: {message}", err=True)
    empty = "" if share is None or scores or errors else f": share {share} is empty, all scores are in other shares"
    say(f"{known} scores written to {out}, {len(errors)} could not be computed{empty}", err=True)
    raise typer.Exit(1 if errors else 0)


def compute_audits(
    scope: CommandScope, console: Console, engine: Engine | None = None, share: Shard | None = None
) -> tuple[list[Score], list[dict[str, str]]]:
    """The scores of the audits of models of their own, or one share of them, and what could not be had."""
    from uds_bench.audits.api import plain
    from uds_bench.progress import hush

    hush()
    session = CommandSession(scope.manifest, scope.store, scope.device, console, engine)
    scores: list[Score] = []
    errors: list[dict[str, str]] = []

    def lost(error: UdsError, audit: str, checkpoint: str = "") -> None:
        errors.append({"audit": audit, "checkpoint": checkpoint or audit, "message": str(error)})

    for audit in scope.audits:
        try:
            planned = session.planned(audit)
        except UdsError as error:
            lost(error, audit)
            continue
        for runner, every in planned:
            requests = every if share is None else share.share(runner, every)
            for request in requests:
                try:
                    scores.append(plain(runner.score(request, requests)))
                except UdsError as error:
                    lost(error, audit, request.checkpoint)
    return scores, errors


def write_scores(path: Path, scores: Scores, errors: list[dict[str, str]]) -> None:
    """Whole or not at all: a table where the name ends in .csv, else the JSON of the scores with `errors`."""
    if path.suffix.lower() == CSV:
        write_atomic(path, scores.to_frame().to_csv(index=False).encode())
    else:
        write_json(path, {**scores.to_json(), "errors": errors})


def _row(score: Score) -> dict[str, str]:
    from uds_bench.scores import ADDRESS

    return {
        **dict(zip(ADDRESS, score.address, strict=True)),
        "value": show_number(score.value),
        "95% CI": show_interval(score.ci),
        "facts": f"{score.n_scored} of {score.n_planned}",
    }
