"""`uds-bench zoo results`: what runs of several draws of the zoo found, one table."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uds_bench.cli.app import ABSENT, example

if TYPE_CHECKING:
    from uds_bench.cli.documents import Document

EPILOG = example("uds-bench zoo results draw0.json draw1.json draw2.json > results.md")
LEAST = 3
"""Draws that a statement about a method takes."""
COLUMNS = ("claim", "by draw", "mean", "95% over draws", "came to")


def results(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN.json...", help="Run reports of the zoo profile, one a draw.")
    ],
) -> None:
    """Write a Markdown table of what every claim with a value came to, over draws of the zoo.

    A method is drawn with its models, so that the interval is over draws (Student's t), whatever each run's own is.
    """
    from tabulate import tabulate

    from uds_bench.cli.documents import read_run
    from uds_bench.errors import ConfigurationError

    if len(runs) < LEAST:
        raise ConfigurationError(f"RUN.json: {len(runs)} given, and a statement about a method takes {LEAST} draws")
    documents = [read_run(path) for path in runs]
    draws = [_draw(document) for document in documents]
    for draw, document in zip(draws, documents, strict=True):
        if draws.count(draw) > 1:
            raise document.error(f"is of draw {draw}, as another one: name each draw once")
    found = {draw: _decided(document) for draw, document in zip(draws, documents, strict=True)}
    names = list(dict.fromkeys(name for claims in found.values() for name in claims))
    typer.echo(tabulate([row(name, found) for name in sorted(names)], COLUMNS, "github", disable_numparse=True))


def row(name: str, found: dict[int, dict[str, dict[str, Any]]]) -> list[str]:
    """One claim's line: values in the order of the draws, their mean and interval, and how often it came to what."""
    claims = [found[draw].get(name) for draw in sorted(found)]
    values = [claim["observed"] for claim in claims if claim is not None and claim["observed"] is not None]
    told = [ABSENT if claim is None or claim["observed"] is None else f"{claim['observed']:.3f}" for claim in claims]
    tally = Counter("missing" if claim is None else claim["outcome"] for claim in claims)
    low, high = over_draws(values)
    interval = ABSENT if math.isnan(low) else f"{low:.3f}..{high:.3f}"
    mean = f"{sum(values) / len(values):.3f}" if values else ABSENT
    return [f"`{name}`", " ".join(told), mean, interval, ", ".join(f"{word} {n}" for word, n in tally.items())]


def over_draws(values: list[float]) -> tuple[float, float]:
    """95% interval of the mean over draws; NaN for fewer than three.

    Example:
        >>> [round(end, 3) for end in over_draws([0.1, 0.2, 0.3])]
        [-0.048, 0.448]
    """
    from scipy.stats import t

    if len(values) < LEAST:
        return math.nan, math.nan
    mean = sum(values) / len(values)
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))
    reach = float(t.ppf(0.975, len(values) - 1)) * error
    return mean - reach, mean + reach


def _draw(document: Document) -> int:
    if document.values.get("profile") == "quick" or "draw" not in document.values:
        raise document.error("is of no draw of the zoo: run pytest suites/ --uds-profile zoo --uds-draw N")
    return int(document.values["draw"])


def _decided(document: Document) -> dict[str, dict[str, Any]]:
    """The claims of a run that a value decides, by name; identities and what applies to no model say nothing of it."""
    return {
        claim["name"]: claim
        for claim in document.values["claims"]
        if claim["kind"] != "identity" and claim["outcome"] != "not applicable"
    }
