"""`uds-bench import`: what a paper or open-unlearning reported, beside what was measured here."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from uds_bench.claims.compared import by_address
from uds_bench.cli.documents import read_document, read_json
from uds_bench.console.app import ABSENT, show_interval, show_number
from uds_bench.console.lines import say, show_json, show_table
from uds_bench.console.options import JsonOption
from uds_bench.errors import ConfigurationError, did_you_mean

EXAMPLE = "uds-bench import TOFU_EVAL.json run.json --checkpoint npo"
OURS = {
    "extraction_strength": ("es", "field"),
    "exact_memorization": ("em", "default"),
    "forget_Q_A_Prob": ("prob", "default"),
    "forget_Q_A_PARA_Prob": ("para_prob", "default"),
    "forget_truth_ratio": ("truth_ratio", "closer_to_1"),
    "forget_quality": ("forget_quality", "prob_mean"),
    "forget_Q_A_ROUGE": ("rouge", "recall"),
    "forget_Q_A_PARA_ROUGE": ("para_rouge", "recall"),
    "mia_loss": ("mia_loss", "default"),
    "mia_zlib": ("mia_zlib", "default"),
    "mia_min_k": ("mia_min_k", "k0.4"),
    "mia_min_k_plus_plus": ("mia_min_k_plus_plus", "k0.4"),
    "privleak": ("privleak", "k0.4"),
    "model_utility": ("model_utility", "nine"),
}
"""By the name that open-unlearning reports a number under, the metric and variant that measure the same."""


def import_reported(
    source: Annotated[
        Path,
        typer.Argument(metavar="REPORTED.json", help="TOFU_EVAL.json or TOFU_SUMMARY.json; or metrics and numbers."),
    ],
    measured: Annotated[Path, typer.Argument(metavar="SCORES.json", help="A run report or a score file.")],
    checkpoint: Annotated[str, typer.Option(metavar="NAME", help="Whose numbers they are, by its name in the scores.")],
    as_json: JsonOption = False,
) -> None:
    """Show reported numbers beside measured ones, each with its interval, and whether it holds the reported number.

    REPORTED.json may name metrics as open-unlearning does or as `uds-bench plan` does, such as {"es": 0.07}.
    """
    from uds_bench.metrics import METRICS

    reported = _read(source)
    own = {name: (name, str(metric.variant(None))) for name, metric in METRICS.items()}
    known = {name: place for name in reported if (place := (own | OURS).get(name)) is not None}
    if not known:
        raise ConfigurationError(
            f"{source}: reports no metric that is known here: it has {', '.join(list(reported)[:5])}"
        )
    if not measured.exists():
        first = _score(known.values(), checkpoint, measured)
        raise ConfigurationError(f"{measured}: no such file; score what was reported first: {first}")
    scores = by_address(read_document(measured).scores, measured)
    if checkpoint not in (names := dict.fromkeys(address[0] for address in scores)):
        raise ConfigurationError(
            f"--checkpoint: there is no {checkpoint!r} in {measured}: {did_you_mean(checkpoint, names)}; or score it "
            f"first: {_score(known.values(), checkpoint, Path('scores.json'))}"
        )
    rows: list[dict[str, Any]] = []
    for name, place in known.items():
        value = reported[name]
        score = scores.get((checkpoint, "none", *place))
        interval = None if score is None or score.interval is None else [score.interval.low, score.interval.high]
        rows.append(
            {
                "reported as": name,
                "metric": place[0],
                "variant": place[1],
                "reported": value,
                "measured": None if score is None else score.value,
                "interval": interval,
                "holds": None if interval is None or value is None else interval[0] <= value <= interval[1],
            }
        )
    if as_json:
        show_json({"schema": 1, "reported": str(source), "measured": str(measured), "rows": rows})
        return
    show_table(map(_row, rows))
    if beside := [name for name in reported if name not in known]:
        say()
        say(f"not measured here: {', '.join(beside)}")
    if missing := [place for place in known.values() if (checkpoint, "none", *place) not in scores]:
        first = _score(missing, checkpoint, Path("scores.json"))
        say(err=True)
        say(f"not scored, unless the facts lack what it takes: {first}", err=True)


def _score(places: Iterable[tuple[str, str]], checkpoint: str, out: Path) -> str:
    """The command that scores metrics in their variants."""
    from uds_bench.metrics import METRICS

    wanted = dict(places)
    variants = ["--variants"] if any(variant != METRICS[name].variant(None) for name, variant in wanted.items()) else []
    options = ["--metrics", ",".join(wanted), *variants, "--checkpoints", checkpoint, "--out", str(out)]
    return shlex.join(["uds-bench", "score", "--manifest", "uds.toml", *options])


def _row(row: dict[str, Any]) -> dict[str, str]:
    return {key: str(row[key]) for key in ("reported as", "metric", "variant")} | {
        "reported": show_number(row["reported"]),
        "measured": show_number(row["measured"]),
        "95% CI": show_interval(row["interval"]),
        "holds it": ABSENT if row["holds"] is None else "yes" if row["holds"] else "no",
    }


def _read(path: Path) -> dict[str, float | None]:
    """Numbers by name, None where none is finite: of open-unlearning's files the aggregates, else as written."""
    from uds_bench.statistics import finite_or_none  # which imports numpy

    values = read_json(path, strict=False)
    if not isinstance(values, dict):
        raise ConfigurationError(f"{path}: is no object of metrics: name TOFU_EVAL.json, or write metrics and numbers")
    found = {name: value.get("agg_value") if isinstance(value, dict) else value for name, value in values.items()}
    return {
        name: finite_or_none(float(value)) if isinstance(value, int | float) and not isinstance(value, bool) else None
        for name, value in found.items()
    }
