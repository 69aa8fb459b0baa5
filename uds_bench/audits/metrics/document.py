"""The meta-evaluation as one plain JSON document: rows, pools, attacks, standings, ranks and diagnostics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from uds_bench.attacks import NONE
from uds_bench.audits.metrics import diagnostics
from uds_bench.audits.metrics.aggregates import MEMORIZATION, MIA, Standing, standing
from uds_bench.audits.metrics.faithfulness import histogram
from uds_bench.audits.metrics.metric_rows import MetricRow, Models
from uds_bench.audits.metrics.needs import QUANTIZED, RELEARNED
from uds_bench.audits.metrics.ranking import rank_methods
from uds_bench.claims.spec import UTILITY_FLOOR
from uds_bench.json_values import finite
from uds_bench.scores import Score, Scores

LAYERED = ("cka", "fisher", "logit_lens", "uds")
"""Metrics that weigh layers."""


def meta_document(
    rows: Mapping[str, MetricRow],
    unfiltered: Mapping[str, MetricRow],
    models: Models,
    scores: Scores,
    utility: Mapping[str, float],
    method_of: Mapping[str, str],
    variants: Sequence[Score] = (),
) -> dict[str, Any]:
    """See docs/reference/commands.md for the schema; numbers that are not finite are None.

    `scores` hold one variant a metric, the one that `rows` judge. `method_of`: the method of each candidate.
    `variants`: UDS of parts of a block, where it was scored.
    """
    index = {
        (s.metric, s.checkpoint, s.attack): s
        for s in scores
        if s.metric not in rows or s.variant == rows[s.metric].variant
    }
    standings, lacking = _standings(index, models, utility)
    ranks = rank_methods(standings, method_of)
    document = {
        "models": asdict(models),
        "methods": dict(method_of),
        "rows": [row.flat() for row in rows.values()],
        "unfiltered": [row.flat() for row in unfiltered.values()],
        "pools": [_pools(row) for row in rows.values() if row.faithfulness is not None],
        "attacks": [_attack(index, row, models, attack) for row in rows.values() for attack in (QUANTIZED, RELEARNED)],
        "standings": [asdict(one) | {"method": method_of[one.model]} for one in standings],
        "no_standing": lacking,
        "ranks": [asdict(rank) for rank in ranks],
        "diagnostics": _diagnostics(index, models, variants),
    }
    found: dict[str, Any] = finite(document)
    return found


def sweep_frame(scores: Iterable[Score], models: Models, method_of: Mapping[str, str]) -> pd.DataFrame:
    """Checkpoints x metrics: one row a checkpoint and attack, with its role and method, one column a metric."""
    role = {models.full: "full", models.retain: "retain"}
    for word in ("positive", "negative", "candidates"):
        role |= dict.fromkeys(getattr(models, word), word.removesuffix("s"))
    table: dict[tuple[str, str], dict[str, Any]] = {}
    for s in scores:
        head = {"checkpoint": s.checkpoint, "attack": s.attack, "role": role.get(s.checkpoint)}
        row = table.setdefault((s.checkpoint, s.attack), head | {"method": method_of.get(s.checkpoint)})
        row[s.metric] = s.value
    return pd.DataFrame(list(table.values()))


Index = Mapping[tuple[str, str, str], Score]


def _value(index: Index, metric: str, model: str, attack: str = NONE) -> float | None:
    score = index.get((metric, model, attack))
    return None if score is None else score.value


def _pools(row: MetricRow) -> dict[str, Any]:
    judged = row.faithfulness
    assert judged is not None
    auc = judged.auc
    told = {"metric": row.metric, "label": row.label, "direction": row.direction, "auc": auc.value}
    return told | asdict(histogram(judged)) | {"balanced_accuracy": judged.balanced_accuracy}


def _attack(index: Index, row: MetricRow, models: Models, attack: str) -> dict[str, Any]:
    """Raw values before and after, as the lines y = x and y = x + shift are the same whichever way they are turned."""
    ends = [_value(index, row.metric, models.retain, which) for which in (NONE, attack)]
    points = []
    for name in models.candidates:
        why = _left_out(row, name)
        point = {"model": name, "before": _value(index, row.metric, name), "kept": why == "", "why": why}
        points.append(point | {"after": _value(index, row.metric, name, attack)})
    shift = ends[1] - ends[0] if ends[0] is not None and ends[1] is not None else None
    told = {"metric": row.metric, "label": row.label, "attack": attack, "points": points}
    return told | {"retain": dict(zip(("before", "after"), ends, strict=True)), "shift": shift}


def _left_out(row: MetricRow, model: str) -> str:
    """Why robustness does not count a candidate; nothing where it does."""
    if row.kept is None:
        return "not decided: " + ("; ".join(row.missing) or "the filters could not be applied")
    if model in row.kept.useless:
        return f"its relative utility is below {UTILITY_FLOOR:g}"
    return "by this metric it still knows" if model in row.kept.knowing else ""


def _standings(
    index: Index, models: Models, utility: Mapping[str, float]
) -> tuple[list[Standing], list[dict[str, str]]]:
    """The standing of each candidate that has an Overall; of the others the reason why they have none."""
    found, lacking = [], []
    for name in models.candidates:
        values = {m: v for m in (*MEMORIZATION, *MIA, "uds") if (v := _value(index, m, name)) is not None}
        try:
            one = standing(name, values, utility.get(name, math.nan))
        except ValueError as error:
            lacking.append({"model": name, "reason": str(error)})
            continue
        if math.isfinite(one.overall) and math.isfinite(one.overall_without_uds):
            found.append(one)
        else:
            axes = {"Mem": one.mem, "MIA": one.mia, "UDS": one.uds, "relative utility": one.utility}
            missing = [axis for axis, value in axes.items() if not math.isfinite(value)]
            lacking.append({"model": name, "reason": f"no {', '.join(missing) or 'Overall'}"})
    return found, lacking


def _diagnostics(index: Index, models: Models, variants: Sequence[Score]) -> dict[str, Any]:
    names = (models.full, models.retain, *models.positive, *models.negative, *models.candidates)

    def of(metric: str, chosen: Sequence[str] = names) -> dict[str, Score]:
        return {name: index[metric, name, NONE] for name in chosen if (metric, name, NONE) in index}

    depth, unlearned = of("uds"), of("uds", models.candidates)
    hidden = diagnostics.most_hidden(depth, of("logit_lens"), models.candidates)
    return {
        "tau": diagnostics.tau_sweep(depth, models.positive, models.negative),
        "kinds": diagnostics.by_kind(unlearned),
        "components": diagnostics.components([*depth.values(), *variants]) if variants else [],
        "layers": diagnostics.layer_table({metric: of(metric, models.candidates) for metric in LAYERED}),
        "facts": diagnostics.by_fact(unlearned),
        "hidden": None if hidden is None else asdict(hidden),
    }
