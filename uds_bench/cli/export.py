"""`uds-bench export`: what a run decided, in the experiment tracker that a team uses already."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uds_bench.cli.documents import read_run
from uds_bench.console.lines import say
from uds_bench.extras import require

if TYPE_CHECKING:
    from uds_bench.cards.card import Card

EXAMPLE = "uds-bench export run.json --to mlflow --project unlearning"


class Tracker(StrEnum):
    """Where runs can be sent; each by the package of the same name."""

    MLFLOW = "mlflow"
    WANDB = "wandb"
    TRACKIO = "trackio"


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN.json", help="What `pytest suites/ --uds-json` wrote.")],
    to: Annotated[Tracker, typer.Option(help="The tracker, set up as its own documentation says.")],
    project: Annotated[str, typer.Option(metavar="NAME", help="Its project or experiment.")] = "uds_bench",
) -> None:
    """Send a run to an experiment tracker: a tracked run a candidate, with each claim's number and interval.

    Verdicts are tags or settings of it. Names of claims and candidates go there, and no fact, name or reply.
    """
    found = read_run(run)
    require(f"--to {to}", to)
    from uds_bench.cards.card import cards

    listed = cards(found)
    for card in listed:
        SEND[to](project, card.candidate, numbers(card), {"started": found.started} | words(card))
    say(f"sent to {to}, project {project}: {', '.join(card.candidate for card in listed)}")


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
