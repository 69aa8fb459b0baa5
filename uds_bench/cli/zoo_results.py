"""`uds-bench zoo results`: what runs of several draws of the zoo found, one table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uds_bench.console.app import ABSENT, example
from uds_bench.console.lines import show_markdown
from uds_bench.console.markdown import in_code
from uds_bench.errors import ConfigurationError

if TYPE_CHECKING:
    from uds_bench.claims.run_report import RunReport

EPILOG = example("uds-bench zoo results draw0.json draw1.json draw2.json > results.md")
LEAST_DRAWS = 3
"""Draws that a statement about a method takes."""
Decided = tuple[float | None, str]
"""A value, and what the claim came to by it."""
VOID: Decided = None, "void"
"""What a claim says in a draw in which a control did not come out right."""
COLUMNS = ("claim", "by draw", "mean", "95% over draws", "came to")


def results(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN.json...", help="Run reports of the zoo profile, one a draw.")
    ],
) -> None:
    """Write a Markdown table of what every claim with a value came to, over draws of the zoo.

    A method is drawn with its models, so that the interval is over draws (Student's t), whatever each run's own is.
    """
    from uds_bench.cli.documents import read_run

    if len(runs) < LEAST_DRAWS:
        raise ConfigurationError(
            f"RUN.json: {len(runs)} given, and a statement about a method takes {LEAST_DRAWS} draws"
        )
    read = [(path, read_run(path)) for path in runs]
    draws = [_draw(*pair) for pair in read]
    for draw, path in zip(draws, runs, strict=True):
        if draws.count(draw) > 1:
            raise ConfigurationError(f"{path}: is of draw {draw}, as another one: name each draw once")
    for (one, a), (other, b) in combinations(read, 2):
        if a.manifest.digest != b.manifest.digest:
            raise ConfigurationError(f"{other}: is of another manifest than {one}: draws of one zoo make a table")
        if _models(one, a) <= _models(other, b):
            raise ConfigurationError(f"{other}: holds the models of {one}: each draw has models of its own")
    found = {draw: _decided(run) for draw, (_, run) in zip(draws, read, strict=True)}
    names = list(dict.fromkeys(name for claims in found.values() for name in claims))
    show_markdown((row(name, found) for name in sorted(names)), COLUMNS)


def row(name: str, found: Mapping[int, Mapping[str, Decided]]) -> list[str]:
    """One claim's line: values in the order of the draws, their mean and interval, and how often it came to what."""
    claims = [found[draw].get(name) for draw in sorted(found)]
    observed = [None if claim is None else claim[0] for claim in claims]
    values = [value for value in observed if value is not None]
    told = [ABSENT if value is None else f"{value:.3f}" for value in observed]
    tally = Counter("missing" if claim is None else claim[1] for claim in claims)
    low, high = over_draws(values)
    interval = ABSENT if math.isnan(low) else f"{low:.3f}..{high:.3f}"
    mean = f"{sum(values) / len(values):.3f}" if values else ABSENT
    return [
        in_code(name.replace("|", "/")),
        " ".join(told),
        mean,
        interval,
        ", ".join(f"{word} {n}" for word, n in tally.items()),
    ]


def over_draws(values: list[float]) -> tuple[float, float]:
    """95% interval of the mean over draws, by Student's t.

    Args:
        values: What was observed, one a draw.

    Returns:
        Low and high, in the unit of the values; NaN for fewer than `LEAST_DRAWS`.

    Example:
        >>> [round(end, 3) for end in over_draws([0.1, 0.2, 0.3])]
        [-0.048, 0.448]
    """
    from scipy.stats import t

    if len(values) < LEAST_DRAWS:
        return math.nan, math.nan
    mean = sum(values) / len(values)
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))
    reach = float(t.ppf(0.975, len(values) - 1)) * error
    return mean - reach, mean + reach


def _draw(path: Path, run: RunReport) -> int:
    if run.profile != "zoo":
        raise ConfigurationError(f"{path}: is of no draw of the zoo: run pytest suites/ --uds-profile zoo --uds-draw N")
    return run.draw


def _models(path: Path, run: RunReport) -> frozenset[str]:
    """Digests of what was scored: two draws share no model."""
    found = frozenset(str(score.provenance.get("checkpoint", "")) for score in run.scores)
    if "" in found:
        raise ConfigurationError(f"{path}: holds a score that does not say of which model it is: write it again")
    return found


def _decided(run: RunReport) -> dict[str, Decided]:
    """The claims of a run that a value decides, by name: the value and what it came to. Identities, and what applies to
    no model, say nothing of it."""
    from uds_bench.verdicts import Verdict

    says = (r for r in run.claims if r.kind != "identity" and r.outcome not in (None, Verdict.NOT_APPLICABLE))
    return {r.name: (r.observed, str(r.outcome)) if all(control.held for control in r.controls) else VOID for r in says}
