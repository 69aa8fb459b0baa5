"""`uds-bench meta`: the twenty metrics judged on a manifest's models, in one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uds_bench.console.app import ABSENT, ends, show_interval, show_number
from uds_bench.console.lines import say, show_table
from uds_bench.console.options import DeviceOption, EngineOption, ManifestOption, ShardOption, StoreOption
from uds_bench.device import resolve_device
from uds_bench.engines import LOCAL, find_engine
from uds_bench.engines.shard import read_shard
from uds_bench.errors import ConfigurationError, did_you_mean
from uds_bench.grouping import grouped
from uds_bench.storage import require_writable, scores_place, write_atomic, write_json
from uds_bench.zoo.ready import require_folders

if TYPE_CHECKING:
    from uds_bench.audits.depth.section import Depth
    from uds_bench.audits.metrics.meta_evaluation import MetaEvaluation
    from uds_bench.audits.score_job import Job
    from uds_bench.scoring.metric_runner import MetricRunner
    from uds_bench.scoring.runner import ScoreRequest

PROFILES = ("zoo", "full")


@ends("uds-bench meta --manifest uds.toml --out meta")
def meta(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to write meta.csv, sweep.csv and meta.json.")],
    manifest: ManifestOption = None,
    profile: Annotated[
        str,
        typer.Option(metavar="zoo|full", help="Models that are trained here; full: the whole published sweep, hours."),
    ] = "zoo",
    store: StoreOption = None,
    device: DeviceOption = "auto",
    components: Annotated[
        bool, typer.Option("--components", help="Score UDS of the parts of a block as well (some passes a layer).")
    ] = False,
    words: Annotated[
        bool, typer.Option("--words", help="Write the words of one hidden fact into meta.json, whosever they are.")
    ] = False,
    engine: EngineOption = LOCAL,
    shard: ShardOption = "",
) -> None:
    """Judge every metric: faithfulness, robustness under both attacks, and what UDS changes in the ranks.

    Scores that are stored are read, as `pytest suites/` left them; the others are computed and stored. Of one share
    they are computed alone, and nothing is judged. Exits 1 if a score could not be computed: its metric then has no
    value where that score is needed, and says so.
    """
    import pandas as pd
    from rich.console import Console

    from uds_bench.audits.metrics.run_document import section, sweep_table

    share, where = read_shard(shard), find_engine(engine)
    judging, job = read_meta_job(manifest, profile, store, device, components, where is None)
    require_writable(out, "--out")
    require_folders(job.store, job.specs, "--store")
    console = Console(stderr=True)
    runner = job.runner(job.trained_specs(console), console, where)
    scores, failed = job.compute(runner, share)
    if share is not None:
        known = len(scores) - len(failed)
        empty = "" if scores else " (it is empty: all scores are in other shares)"
        say(f"share {share}{empty}: {known} scores stored, {len(failed)} could not be computed; nothing is judged")
        raise typer.Exit(1 if failed else 0)
    found = judged(judging, runner, failed)
    assert found.models is not None
    document = section(runner, judging, found, words)
    table = pd.DataFrame([row.flat() for row in found.rows.values()])
    write_atomic(out / "meta.csv", table.to_csv(index=False).encode())
    write_atomic(out / "sweep.csv", sweep_table(judging, found.scores))
    write_json(out / "meta.json", {"schema": 1, "meta": document})
    show_table(map(_row, document["rows"]))
    say()
    show_table(map(_rank, document["ranks"]))
    for line in _remarks(document):
        say(f"uds-bench: {line}", err=True)
    raise typer.Exit(1 if failed else 0)


def read_meta_job(
    manifest: Path | None, profile: str, store: str | None, device: str, components: bool, here: bool = True
) -> tuple[Depth, Job]:
    """The models to judge by, and every score that it takes.

    Raises ConfigurationError for a manifest without pools, or an unknown profile.
    """
    from uds_bench.audits.depth.audit import NAME
    from uds_bench.audits.depth.audit import read as read_facts
    from uds_bench.audits.depth.section import Depth, Metrics
    from uds_bench.audits.manifests import manifest_of
    from uds_bench.audits.metrics.meta_evaluation import missing_attacks, models_of, requests
    from uds_bench.audits.metrics.run_document import component_requests
    from uds_bench.audits.score_job import Job

    if profile not in PROFILES:
        raise ConfigurationError(f"--profile: there is no {profile!r}: {did_you_mean(profile, PROFILES)}")
    read = manifest_of(manifest, profile)
    section = read.require(Depth, NAME)
    if components:
        section = section.model_copy(update={"metrics": Metrics(components=True)})
    models = models_of(section)
    if models is None:
        raise ConfigurationError(
            f"{read.path}: metrics are judged on models that know and models that never knew: add [pools] positive "
            "and negative"
        )
    wanted = requests(models, robust=not missing_attacks(section))
    wanted += component_requests(models.candidates) if section.wants_components else []
    groups = grouped(wanted, lambda request: request.checkpoint)
    place, where = scores_place(store), resolve_device(device, "--device", here)
    job = Job(section.checkpoints(), section.chosen_attacks(), read_facts(section), groups, place, where)
    return section, job


def judged(section: Depth, runner: MetricRunner, failed: Mapping[ScoreRequest, str]) -> MetaEvaluation:
    """The evaluation from what the runner has now; what failed before is not tried again.

    Its `failed` holds every score that could not be computed, those of parts of a block as well.
    """
    from uds_bench.audits.metrics.meta_evaluation import judge
    from uds_bench.audits.metrics.run_document import stored

    found = judge(section, runner.facts, stored(runner, failed))
    return replace(found, failed={**found.failed, **failed})


def _estimate(row: Mapping[str, Any], name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    span = "" if low is None or high is None else f" ({show_interval((low, high))})"
    return show_number(row[name]) + span


def _row(row: Mapping[str, Any]) -> dict[str, str]:
    known = [row[f"n_{word}"] for word in ("kept", "useless", "knowing")]
    return {
        "metric": row["label"],
        "reads": row["tags"],
        "faithfulness (95% CI)": _estimate(row, "faithfulness"),
        "Q": show_number(row["q"]),
        "R": show_number(row["r"]),
        "Rob (95% CI)": _estimate(row, "rob"),
        "Overall (95% CI)": _estimate(row, "overall"),
        "Q1": show_number(row["one_sided_q"]),
        "R1": show_number(row["one_sided_r"]),
        "kept": ABSENT if None in known else f"{known[0]} of {sum(known)}",
    }


def _rank(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        "method": row["method"],
        "Overall without UDS": show_number(row["overall_without"]),
        "rank": str(row["rank_without"]),
        "of": row["best_without"],
        "Overall": show_number(row["overall"]),
        "rank with UDS": str(row["rank"]),
        "by": row["best"],
        "shift": f"{row['shift']:+d}" if row["shift"] else "0",
    }


def _remarks(document: Mapping[str, Any]) -> list[str]:
    told = [document["lacks_attacks"]] if document["lacks_attacks"] else []
    told += [f"{row['label']}: {row['missing']}" for row in document["rows"] if row["missing"]]
    told += [f"{row['model']} is in no rank: {row['reason']}" for row in document["no_standing"]]
    return told + [f"could not score {row['what']}: {row['reason']}" for row in document["failed"]]


COMMANDS = {"meta": meta}
