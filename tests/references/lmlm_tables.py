"""The LMLM audit's aggregates, slowly: loops over printed cells and exact fractions, no shared code with the package.

Written from the paper (sections 3 to 6, appendices C and D) and its definitions, to be compared with the package.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import comb
from typing import Any

Row = Mapping[str, Any]
Named = tuple[str, Row]
"""domain/variant/wording and its printed numbers; the released database has no domain."""

VARIANTS = ("base", "alias", "collision", "noise", "released")
WORDINGS = ("direct", "paraphrased", "contextual", "cloze", "continuations", "few_shot")
HALF = Fraction(5, 10000)


def exact(value: float) -> Fraction:
    """A printed number of three decimals, as a fraction."""
    return Fraction(f"{value:.3f}")


@cache
def whole(rate: float, n: int) -> int:
    """The one k in 0..n for which k / n is printed as `rate`; AssertionError if there is none or another."""
    fitting = []
    for k in range(n + 1):
        if abs(Fraction(k, n) - exact(rate)) <= HALF:
            fitting.append(k)
    assert len(fitting) == 1, (rate, n, fitting)
    return fitting[0]


def four(row: Row) -> tuple[int, int, int, int]:
    """a, b, c, d of a cell under complete deletion: A = p_ON, so a = nA - nR."""
    leaked, mediated, artifact = (whole(row[name], row["n"]) for name in ("leaked", "mediated", "artifact"))
    a = artifact - mediated
    b = mediated
    c = leaked - a
    return a, b, c, row["n"] - (a + b + c)


def choices(row: Row) -> list[int]:
    """Every a that the tables leave open when retained gold candidates are not ruled out, tried one by one."""
    n = row["n"]
    leaked, mediated, artifact = (whole(row[name], n) for name in ("leaked", "mediated", "artifact"))
    open_to = []
    for a in range(n + 1):
        gold_in_trace = a + mediated - artifact
        right_on = Fraction(a + mediated, n)
        scored = all(exact(row[f"on_{score}"]) + HALF >= right_on for score in ("precision", "recall", "f1"))
        if a <= leaked and gold_in_trace >= 0 and scored:
            open_to.append(a)
    return open_to


def is_custom(name: str) -> bool:
    return not name.startswith("released/")


def of_variant(rows: Mapping[str, Row], variant: str) -> list[Named]:
    """The rows of a variant, 18 of a custom one."""
    return [(name, row) for name, row in rows.items() if name.split("/")[-2] == variant]


def of_wording(rows: Mapping[str, Row], wording: str, custom_only: bool = True) -> list[Named]:
    """The rows of a wording, of 12 databases or of 13."""
    return [(k, row) for k, row in rows.items() if k.split("/")[-1] == wording and (is_custom(k) or not custom_only)]


def facts(found: Sequence[Named], what: Callable[[int, int, int, int], int]) -> Fraction:
    """Percent of paired facts, by counts."""
    total = number = 0
    for _, row in found:
        number += what(*four(row))
        total += row["n"]
    return Fraction(100 * number, total)


def survivors(found: Sequence[Named]) -> Fraction:
    """L + R: right without retrieval, or right with it alone."""
    return facts(found, lambda a, b, c, d: (a + c) + b)


def score(found: Sequence[Named], column: str) -> Fraction:
    """Count-weighted mean of a printed score, percent."""
    total = Fraction(0)
    for _, row in found:
        total += row["n"] * exact(row[column])
    return 100 * total / sum(int(row["n"]) for _, row in found)


def tested(b: int, c: int) -> tuple[Fraction | None, Fraction | None]:
    """McNemar: (chi2, None) with continuity correction above 25 discordant pairs, (None, exact p) up to 25."""
    if b + c > 25:
        return Fraction(max(0, abs(b - c) - 1) ** 2, b + c), None
    tail = sum(comb(b + c, i) for i in range(min(b, c) + 1))
    return None, min(Fraction(1), Fraction(2 * tail, 2 ** (b + c)))


def silent(rows: Mapping[str, Row]) -> list[str]:
    """Databases whose printed F1 before deletion is below 0.05 in all six wordings."""
    names = list(dict.fromkeys(name.rpartition("/")[0] for name in rows))
    return [db for db in names if all(rows[f"{db}/{wording}"]["full_f1"] < 0.05 for wording in WORDINGS)]


def expected(rows: Mapping[str, Row]) -> dict[str, dict[str, tuple[Fraction, Fraction]]]:
    """By family, what the tables allow each value that the text prints."""
    point: dict[str, dict[str, Fraction]] = {f: {} for f in ("residual", "mcnemar", "informative")}
    spans: dict[str, dict[str, tuple[Fraction, Fraction]]] = {"f1": {}, "exact_match": {}}
    every = list(rows.items())

    residual = point["residual"]
    residual["leaked"] = facts(every, lambda a, b, c, d: a + c)
    residual["leaked/sports/base/direct"] = Fraction(whole(rows["sports/base/direct"]["leaked"], 100))
    for variant in VARIANTS:
        residual[f"variant/{variant}"] = survivors(of_variant(rows, variant))
    for wording in WORDINGS:
        residual[f"prompt/{wording}"] = survivors(of_wording(rows, wording))
        residual[f"prompt_of_all/{wording}"] = survivors(of_wording(rows, wording, custom_only=False))
    for name in VARIANTS + WORDINGS:
        part = of_variant(rows, name) if name in VARIANTS else of_wording(rows, name)
        difference = sum(whole(row["artifact"], row["n"]) - whole(row["mediated"], row["n"]) for _, row in part)
        residual[f"match/{name}"] = Fraction(100 * difference, sum(row["n"] for _, row in part))

    give = 100 * HALF
    full = {w: score(of_wording(rows, w), "full_f1") for w in WORDINGS}
    on = {w: score(of_wording(rows, w), "on_f1") for w in WORDINGS}
    drop = {w: full[w] - on[w] for w in WORDINGS}
    single = {f"full/{w}": v for w, v in full.items()} | {f"on/{w}": v for w, v in on.items()}
    single |= {"on/lowest": min(on.values()), "on/highest": max(on.values())}
    double = {"drop/continuations": drop["continuations"], "drop/few_shot": drop["few_shot"]}
    double |= {"drop/largest": max(drop.values()), "drop/smallest": min(drop.values())}
    spans["f1"] = {k: (v - give, v + give) for k, v in single.items()}
    spans["f1"] |= {k: (v - 2 * give, v + 2 * give) for k, v in double.items()}

    printed = {"base": 33, "alias": 33, "collision": 46, "noise": 33, "released": 46}
    for variant in VARIANTS:
        part = of_variant(rows, variant)
        right = facts(part, lambda a, b, c, d: a + b)
        best = min(score(part, f"full_{s}") for s in ("precision", "recall", "f1")) + give
        half = Fraction(1, 2)
        spans["exact_match"][f"on/{variant}"] = right, right
        spans["exact_match"][f"full/{variant}"] = Fraction(0), best
        spans["exact_match"][f"drop/{variant}"] = printed[variant] - half - right, printed[variant] + half - right
    scores = [score(of_wording(rows, w), f"full_{s}") for w in WORDINGS for s in ("precision", "recall", "f1")]
    spans["exact_match"]["full_by_prompt/lowest"] = Fraction(0), min(scores) + give

    b, c, n = (dict.fromkeys(VARIANTS, 0) for _ in range(3))
    for variant in VARIANTS:
        for _, row in of_variant(rows, variant):
            b[variant] += four(row)[1]
            c[variant] += four(row)[2]
            n[variant] += row["n"]
    chi2 = [tested(b[v], c[v])[0] for v in VARIANTS[:-1]]
    assert None not in chi2
    found = point["mcnemar"]
    for variant in ("base", "noise", "released"):
        found[f"b/{variant}"] = Fraction(b[variant])
    found["b/smallest"], found["b/largest"] = (Fraction(f(b[v] for v in VARIANTS[:-1])) for f in (min, max))
    found["c/largest"], found["c/released"] = Fraction(max(c.values())), Fraction(c["released"])
    found["chi2/smallest"], found["chi2/largest"] = min(x for x in chi2 if x), max(x for x in chi2 if x)
    # Beyond chi2 of 60 the p-value is below 1e-14.
    found["p/largest"] = Fraction(0) if found["chi2/smallest"] > 60 else Fraction(1)
    released = tested(b["released"], c["released"])[1]
    assert released is not None
    found["p/released"] = released
    found["c_share/largest"] = found["c_share/attained"] = max(Fraction(100 * c[v], n[v]) for v in VARIANTS)

    left = {name: row for name, row in rows.items() if name.rpartition("/")[0] not in silent(rows)}
    kept = {v: survivors(of_variant(left, v)) for v in VARIANTS}
    point["informative"] = {f"variant/{v}": kept[v] for v in VARIANTS}
    order = ("released", "base", "alias", "collision", "noise")
    for i in range(4):
        point["informative"][f"{order[i]}<{order[i + 1]}"] = kept[order[i + 1]] - kept[order[i]]
    return spans | {family: {k: (v, v) for k, v in values.items()} for family, values in point.items()}
