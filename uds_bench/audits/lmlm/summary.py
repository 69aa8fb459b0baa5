"""Everything that a reader may ask of one model as one JSON object: tables by topology, wording, cell; single facts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, get_args

from uds_bench.audits.lmlm import rates
from uds_bench.audits.lmlm.database_cell import DatabaseCell
from uds_bench.audits.lmlm.judged import JudgedPrompt, Label
from uds_bench.audits.lmlm.record import OFF, STATES, LookupReply

SHOWN = 4
"""Facts of each label that a cell shows in full."""
LABELS: tuple[Label, ...] = get_args(Label)


def cell(one: DatabaseCell) -> dict[str, Any]:
    """What a database is."""
    return {
        "name": one.name,
        "domain": one.domain,
        "topology": one.topology,
        "rows": len(one.asked.database),
        "facts": len(one.asked.facts),
        "wordings": list(one.asked.wordings),
        "deletion": one.policy,
    }


def of_model(judged: Sequence[JudgedPrompt]) -> dict[str, Any]:
    """The tables of one model."""
    return {
        "all": part(judged),
        "topologies": _grouped(judged, lambda one: one.topology),
        "wordings": _grouped(judged, lambda one: one.wording),
        "cells": _grouped(judged, lambda one: one.cell.name),
        "grid": [
            {"cell": name, "wording": wording, **_short(rows)}
            for (name, wording), rows in rates.grouped(judged, lambda one: (one.cell.name, one.wording)).items()
        ],
        "traces": _traces(judged),
    }


def part(judged: Sequence[JudgedPrompt]) -> dict[str, Any]:
    """Every number of some prompts."""
    counts, test, statistic, p = rates.discordance(judged)
    n = len(judged)
    labels = Counter(one.label for one in judged)
    return {
        "n": n,
        "facts": len({one.asked.cluster for one in judged}),
        "given": sum(one.given for one in judged),
        "full": rates.baseline(judged).to_json(),
        "residual": rates.residual(judged, above_chance=False).to_json(),
        "above_chance": rates.residual(judged).to_json(),
        "chance": sum(one.chance for one in judged) / n if n else None,
        "leakage": {state: {way: rates.leakage(judged, state, way).to_json() for way in rates.WAYS} for state in OFF},
        "mediated": rates.rate(judged, lambda one: one.outcome.mediated).to_json(),
        "artifact": rates.rate(judged, lambda one: one.outcome.artifact).to_json(),
        "contingency": {key: getattr(counts, key) for key in "abcd"},
        "mcnemar": {"test": test, "statistic": statistic, "p": p},
        "labels": {label: labels[label] for label in LABELS},
        "f1": {state: _mean([one.marks[state].f1 for one in judged]) for state in STATES},
        "exact": {state: _mean([one.marks[state].exact for one in judged]) for state in STATES},
        "calls": {state: _mean([len(one.replies[state].calls) for one in judged]) for state in STATES},
        "cut": {state: _mean([one.replies[state].cut for one in judged]) for state in STATES},
        "looped": {state: _mean([one.replies[state].looped for one in judged]) for state in STATES},
        "malformed": {
            state: _mean([any(call.query is None for call in one.replies[state].calls) for one in judged])
            for state in STATES
        },
    }


def _short(judged: Sequence[JudgedPrompt]) -> dict[str, Any]:
    return {
        "n": len(judged),
        "full": _mean([one.marks["full"].exact for one in judged]),
        "residual": _mean([one.marks["del_on"].exact for one in judged]),
        "f1": {state: _mean([one.marks[state].f1 for one in judged]) for state in STATES},
    }


def _grouped(judged: Sequence[JudgedPrompt], key: Callable[[JudgedPrompt], str]) -> dict[str, Any]:
    return {name: part(rows) for name, rows in rates.grouped(judged, key).items()}


def _traces(judged: Sequence[JudgedPrompt]) -> list[dict[str, Any]]:
    """Some facts of each cell and label, with everything that was looked up."""
    shown: Counter[tuple[str, str]] = Counter()
    found = []
    for one in judged:
        key = one.cell.name, one.label
        if shown[key] < SHOWN:
            shown[key] += 1
            found.append(_trace(one))
    return found


def _trace(one: JudgedPrompt) -> dict[str, Any]:
    return {
        "cell": one.cell.name,
        "fact": list(one.fact.triplet),
        "wording": one.wording,
        "prompt": one.asked.prompt.text,
        "label": one.label,
        "replies": {state: _reply(one, one.replies[state]) for state in STATES},
    }


def _reply(one: JudgedPrompt, reply: LookupReply) -> dict[str, Any]:
    rows = one.cell.asked.database
    calls = []
    for call in reply.calls:
        told: dict[str, Any] = {"query": call.query, "value": call.value}
        if call.lookup is not None:
            for key in ("kept", "deleted"):
                candidates = getattr(call.lookup, key)
                told[key] = [[*rows[candidate.row], round(candidate.score, 3)] for candidate in candidates]
            told["fell_back"] = call.lookup.fell_back
        calls.append(told)
    return {"answer": reply.answer, "calls": calls, "cut": reply.cut, "looped": reply.looped}


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(map(float, values)) / len(values) if values else None
