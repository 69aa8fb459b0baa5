"""Every value that the LMLM audit prints and its tables decide, beside what they allow: a function a claim."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from replication.lmlm_tables import (
    RATES,
    SCORES,
    Span,
    by_variant,
    by_wording,
    ceiling,
    custom,
    dead,
    groups,
    mean_score,
    minus,
    pooled,
    share,
    stack,
)
from replication.uds import MOVED, Cell, Table, moved
from uds_bench.facts.topology import TOPOLOGIES
from uds_bench.statistics import mcnemar

SLIP = 2
"""By how many widths of its range a control moves what the text prints: more than the tables' rounding hides."""


def table6_cells(table: Table) -> list[Cell]:
    """Sizes of the grid; each rate a whole number of facts; no negative count; R = A but for their rounding."""
    found = groups(table)
    sizes: dict[str, list[int]] = {}
    for group in found:
        sizes.setdefault(group.database, []).append(group.n)
    pairs, few = sum(group.n for group in found), [group.n for group in custom(found)]
    spans = {"groups": len(found), "databases": len(sizes), "pairs": pairs, "completions": 3 * pairs}
    spans |= {"facts/fewest": min(few), "facts/most": max(few)}
    spans["pairs/released"] = pooled(by_variant(found)["released"]).n
    cells = text_cells(table, {name: (size, size) for name, size in spans.items()})
    # Every wording asks for the same facts, and one fact more shows in three decimals.
    cells += [Cell(f"{name}/n", max(size), min(size), min(size), 0.0) for name, size in sizes.items()]
    cells += [Cell(f"{name}/one", 1 / max(size), 2 * found[0].half, 1.0, 0.0) for name, size in sizes.items()]
    for group in found:
        for rate in RATES:
            whole = group.count(rate) / group.n
            cells.append(Cell(f"{group.name}/{rate}", group.row[rate], whole, whole, group.half))
        counts = group.counts
        cells.append(Cell(f"{group.name}/a", counts.a, 0.0, group.count("leaked"), 0.0))
        cells.append(Cell(f"{group.name}/d", counts.d, 0.0, group.n, 0.0))
        close = group.row["mediated"] - group.half, group.row["mediated"] + group.half
        cells.append(Cell(f"{group.name}/match", group.row["artifact"], *close, group.half))
    return cells


def table5_cells(table: Table) -> list[Cell]:
    """Each token score at least exact match, which is the counts' after deletion and unknown before; and F1 no more
    than the mean of precision and recall, as it is fact by fact."""
    cells = []
    for group in groups(table):
        counts = group.counts
        exact = {"full": 0.0, "on": (counts.a + counts.b) / group.n, "off": (counts.a + counts.c) / group.n}
        for state, least in exact.items():
            row = {score: group.row[f"{state}_{score}"] for score in SCORES}
            most = {"f1": (row["precision"] + row["recall"]) / 2 + group.half}
            cells += [
                Cell(f"{group.name}/{state}_{score}", row[score], least, most.get(score, 1.0), group.half)
                for score in SCORES
            ]
    return cells


def residual_cells(table: Table) -> list[Cell]:
    """L over all, L + R by variant and by wording, and A beside R; counts decide, nothing is assumed of deletion."""
    found = groups(table)
    leaks = pooled(found)
    named = next(group for group in found if group.name == "sports/base/direct")
    spans = {"leaked": share(leaks.a + leaks.c, leaks), "leaked/sports/base/direct": (named.count("leaked"),) * 2}
    slices = by_variant(found) | by_wording(custom(found))
    spans |= {f"variant/{name}": stack(part) for name, part in by_variant(found).items()}
    spans |= {f"prompt/{name}": stack(part) for name, part in by_wording(custom(found)).items()}
    spans |= {f"prompt_of_all/{name}": stack(part) for name, part in by_wording(found).items()}
    spans |= {f"match/{name}": share(pooled(part).a, pooled(part)) for name, part in slices.items()}
    return text_cells(table, spans)


def f1_cells(table: Table) -> list[Cell]:
    """Token F1 by wording before and after deletion, and the drop; over the custom databases."""
    slices = by_wording(custom(groups(table)))
    full = {name: mean_score(part, "full_f1") for name, part in slices.items()}
    on = {name: mean_score(part, "on_f1") for name, part in slices.items()}
    drop = {name: minus(full[name], on[name]) for name in slices}
    spans = {f"full/{name}": span for name, span in full.items()} | {f"on/{name}": span for name, span in on.items()}
    spans |= {"on/lowest": lowest(on), "on/highest": highest(on)}
    spans |= {f"drop/{name}": drop[name] for name in ("continuations", "few_shot")}
    spans |= {"drop/largest": highest(drop), "drop/smallest": lowest(drop)}
    return text_cells(table, spans)


def exact_match_cells(table: Table) -> list[Cell]:
    """Exact match by variant: after deletion from the counts; before it, which no table gives, no more than the token
    scores; and the drop between the two as printed."""
    spans: dict[str, Span] = {}
    for name, part in by_variant(groups(table)).items():
        counts = pooled(part)
        spans[f"on/{name}"] = share(counts.a + counts.b, counts)
        spans[f"full/{name}"] = 0.0, ceiling(part, "full")
        low, high = table["text"][f"full/{name}"]["range"]
        spans[f"drop/{name}"] = minus((low, high), spans[f"on/{name}"])
    slices = by_wording(custom(groups(table)))
    spans["full_by_prompt/lowest"] = 0.0, min(ceiling(part, "full") for part in slices.values())
    return text_cells(table, spans)


def mcnemar_cells(table: Table) -> list[Cell]:
    """Discordant counts, test and share of c by variant; c where deletion was complete (see `Group.counts`)."""
    counts = {name: pooled(part) for name, part in by_variant(groups(table)).items()}
    tests = {name: mcnemar(each.b, each.c) for name, each in counts.items()}
    chi2 = [statistic for _, statistic, _ in tests.values() if statistic is not None]
    b, c = [counts[name].b for name in TOPOLOGIES], max(each.c for each in counts.values())
    worst = max(share(each.c, each) for each in counts.values())
    points: dict[str, float] = {f"b/{name}": counts[name].b for name in ("base", "noise", "released")}
    points |= {"b/smallest": min(b), "b/largest": max(b), "c/largest": c, "c/released": counts["released"].c}
    points |= {"chi2/smallest": min(chi2, default=math.nan), "chi2/largest": max(chi2, default=math.nan)}
    points |= {"p/largest": max(tests[name][2] for name in TOPOLOGIES), "p/released": tests["released"][2]}
    spans = {name: (float(value), float(value)) for name, value in points.items()}
    return text_cells(table, spans | {"c_share/largest": worst, "c_share/attained": worst})


def informative_cells(table: Table) -> list[Cell]:
    """L + R by variant, and its printed order, over the databases whose intact baseline answers at all."""
    found = groups(table)
    gone = dead(found)
    stacks = {name: stack(part) for name, part in by_variant(g for g in found if g.database not in gone).items()}
    spans = {f"variant/{name}": span for name, span in stacks.items()}
    order = pairwise(("released", *TOPOLOGIES))
    return text_cells(table, spans | {f"{low}<{high}": minus(stacks[high], stacks[low]) for low, high in order})


FAMILIES: Mapping[str, Callable[[Table], list[Cell]]] = {
    "lmlm_table6": table6_cells,
    "lmlm_table5": table5_cells,
    "lmlm_residual": residual_cells,
    "lmlm_f1": f1_cells,
    "lmlm_exact_match": exact_match_cells,
    "lmlm_mcnemar": mcnemar_cells,
    "lmlm_informative": informative_cells,
}
"""By claim, less its `published.`; the name too of its part of the text and of its errata."""


def text_cells(table: Table, spans: Mapping[str, Span]) -> list[Cell]:
    """What the text prints beside what the tables allow. ValueError where one of the two is missing."""
    if missing := sorted(table["text"].keys() ^ spans.keys()):
        raise ValueError(f"printed and not recomputed, or recomputed and not printed: {', '.join(missing)}")
    ranges = {name: entry["range"] for name, entry in table["text"].items()}
    return [Cell(name, (low + high) / 2, *spans[name], (high - low) / 2) for name, (low, high) in ranges.items()]


def lowest(spans: Mapping[str, Span]) -> Span:
    return min(low for low, _ in spans.values()), min(high for _, high in spans.values())


def highest(spans: Mapping[str, Span]) -> Span:
    return max(low for low, _ in spans.values()), max(high for _, high in spans.values())


def misprinted(table: Table) -> Iterator[Table]:
    """The text with one value moved, up or down, by `SLIP` widths of its range; a count by one."""
    for name, entry in table["text"].items():
        low, high = entry["range"]
        for by in (SLIP * (high - low) or 1, -SLIP * (high - low) or -1):
            yield {**table, "text": {**table["text"], name: {**entry, "range": [low + by, high + by]}}}


def misread_rates(table: Table) -> Iterator[Table]:
    """Table 6 with one rate moved."""
    for name in table["rows"]:
        for rate in RATES:
            yield moved(table, name, rate, MOVED)


def misread_scores(table: Table) -> Iterator[Table]:
    """A row of table 5 with one score below exact match, or F1 above both precision and recall."""
    cells = {cell.name: cell for cell in table5_cells(table)}
    for name, row in table["rows"].items():
        alone = {**table, "rows": {name: row}}
        for column in (f"{state}_{score}" for state in ("full", "on", "off") for score in SCORES):
            yield moved(alone, name, column, cells[f"{name}/{column}"].low - MOVED - row[column])
            if column.endswith("_f1"):
                most = max(row[column.replace("f1", score)] for score in SCORES)
                yield moved(alone, name, column, most + MOVED - row[column])


def unweighted(table: Table) -> Table:
    """Every group counted alike, whatever its number of facts."""
    return {**table, "rows": {name: {**row, "n": 100} for name, row in table["rows"].items()}}


def none_dead(table: Table) -> Table:
    """Every database answering when intact."""
    scores = dict.fromkeys((f"full_{score}" for score in SCORES), 1.0)
    return {**table, "rows": {name: {**row, **scores} for name, row in table["rows"].items()}}
