"""`uds-bench export`: what a run decided, in the experiment tracker that a team uses already, or its rows in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uds_bench.cli.documents import read_document, read_run
from uds_bench.console.lines import say
from uds_bench.console.options import require_file
from uds_bench.errors import ConfigurationError
from uds_bench.extras import require

if TYPE_CHECKING:
    from uds_bench.cards.card import Card

EXAMPLE = "uds-bench export run.json --to mlflow --project unlearning"


class Tracker(StrEnum):
    """Where runs can be sent; trackers by the package of the same name."""

    MLFLOW = "mlflow"
    WANDB = "wandb"
    TRACKIO = "trackio"
    PARQUET = "parquet"


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN.json", help="What `pytest suites/ --uds-json` wrote.")],
    to: Annotated[Tracker, typer.Option(help="The tracker, set up as its own documentation says, or a Parquet file.")],
    project: Annotated[str, typer.Option(metavar="NAME", help="Its project or experiment.")] = "uds_bench",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="The Parquet file, of `--to parquet`.")] = None,
) -> None:
    """Send a run to an experiment tracker: a tracked run a candidate, with each claim's number and interval.

    Verdicts are tags or settings of it. Names of claims and candidates go there, and no fact, name or reply. A Parquet
    file has the scores fact by fact, of what `uds-bench score` wrote too.
    """
    if (out is not None) != (to is Tracker.PARQUET):
        raise ConfigurationError("--to parquet needs a file, and nothing else does: name it by --out rows.parquet")
    if out is not None:
        _to_parquet(run, out)
        return
    found = read_run(run)
    require(f"--to {to}", to)
    from uds_bench.cards.card import cards

    listed = cards(found)
    for card in listed:
        SEND[to](project, card.candidate, numbers(card), {"started": found.started} | words(card))
    say(f"sent to {to}, project {project}: {', '.join(card.candidate for card in listed)}")


def _to_parquet(path: Path, out: Path) -> None:
    require_file(out, "--out", (".parquet",))
    require("--to parquet", "pyarrow")
    from uds_bench.claims.fact_rows import write_table
    from uds_bench.scores import Scores

    found = read_document(path)
    rows = write_table(Scores(found.scores).to_json() if found.run is None else found.run.to_json(), out)
    say(f"{rows} rows written to {out}")


def numbers(card: Card) -> dict[str, float]:
    """By claim what was observed, and the bounds of its interval.

    Args:
        card: Of one candidate.

    Returns:
        Finite numbers by names that all trackers take.

    Example:
        >>> from uds_bench.cards.card import Card
        >>> from uds_bench.claims.record import ClaimRecord
        >>> from uds_bench.verdicts import Verdict
        >>> claim = ClaimRecord("depth.score", "npo", "threshold", Verdict.FAIL, "", observed=0.25)
        >>> numbers(Card("npo", (claim,), basis=(), untested=(), problems=()))
        {'depth.score': 0.25}
    """
    found: dict[str, float] = {}
    for one in card.measured:
        assert one.observed is not None
        found[one.id] = float(one.observed)
        if one.interval is not None:
            found |= {f"{one.id}.low": one.interval.low, f"{one.id}.high": one.interval.high}
    return found


def words(card: Card) -> dict[str, str]:
    """The candidate's result, and by claim what it came to."""
    return {"result": card.result} | {one.id: str(one.status) for one in card.claims}


def _mlflow(project: str, name: str, numbers: Mapping[str, float], words: Mapping[str, str]) -> None:
    import mlflow

    mlflow.set_experiment(project)
    with mlflow.start_run(run_name=name):
        mlflow.log_metrics(dict(numbers))
        mlflow.set_tags(dict(words))


def _wandb(project: str, name: str, numbers: Mapping[str, float], words: Mapping[str, str]) -> None:
    import wandb

    with wandb.init(project=project, name=name, config=dict(words)) as run:
        run.summary.update(dict(numbers))


def _trackio(project: str, name: str, numbers: Mapping[str, float], words: Mapping[str, str]) -> None:
    import trackio

    trackio.init(project=project, name=name, config=dict(words))
    trackio.log(dict(numbers))
    trackio.finish()


SEND: dict[Tracker, Callable[[str, str, Mapping[str, float], Mapping[str, str]], Any]] = {
    Tracker.MLFLOW: _mlflow,
    Tracker.WANDB: _wandb,
    Tracker.TRACKIO: _trackio,
}
