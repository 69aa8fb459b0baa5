"""Whether a card still holds: its files, its manifest, its run, and every verdict by its own numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from uds_bench import verdicts
from uds_bench.cards.card import Card
from uds_bench.claims.record import ClaimRecord
from uds_bench.errors import one_line
from uds_bench.verdicts import Verdict

if TYPE_CHECKING:
    from uds_bench.claims.run_report import RunReport
    from uds_bench.scoring.store import Store


def differences(written: Mapping[str, Any], made: Mapping[str, Any], card: Card) -> Iterator[str]:
    """What no longer holds of a card, a line each.

    Args:
        written: The card as it was written.
        made: The same, made anew of the run and of the files that are there now.
        card: What it was made anew of.
    """
    made = json.loads(json.dumps(made))
    told = [
        *_files(written["subject"], made["subject"], "model file"),
        *_files(written["predicate"]["configuration"], made["predicate"]["configuration"], "input"),
        *_parts(written["predicate"], made["predicate"], "configuration"),
        *_parts(_annotations(written), _annotations(made), "claims"),
    ]
    if unlike := _unlike(_annotations(written).get("claims"), _annotations(made).get("claims")):
        told.append(f"the card's numbers are not those of the run: {one_line(', '.join(unlike))}")
    if not told and written != made:
        told.append("the card says more than the run, or says it twice: write it anew by `uds-bench card`")
    yield from told
    yield from (f"{one.name}: {why}" for one in (*card.claims, *card.basis) if (why := contradicted(one)))


def unlike_stored(run: RunReport, store: Store) -> Iterator[str]:
    """The scores of a run that a store does not have, or has otherwise, a line each."""
    for score in run.scores:
        name, found = " ".join(score.address), store.find(str(score.provenance.get("cell")))
        if found is None:
            yield f"score {name} is not in the store"
        elif (found.value, found.interval) != (score.value, score.interval):
            yield f"score {name} is another than the stored one"


def contradicted(record: ClaimRecord) -> str:
    """Why a pass does not follow from the claim's own interval and bound; "" where it does.

    Example:
        >>> from uds_bench.claims.record import Bound
        >>> from uds_bench.statistics import Interval
        >>> low = Interval(0.2, 0.3, "by hand", 20)
        >>> contradicted(ClaimRecord("depth.score", "npo", "threshold", Verdict.PASS, "", observed=0.25, interval=low,
        ...                          bound=Bound(">=", 0.7)))
        'passes with 0.200 to 0.300, which misses >= 0.7'
    """
    interval, bound = record.interval, record.bound.value
    if record.verdict is not Verdict.PASS or not has_plain_rule(record):
        return ""
    if record.observed is None or interval is None or bound is None:
        return "passes without a value, an interval or a bound"
    if record.kind == "equivalence":
        found = verdicts.decide_equivalence(record.observed, interval, bound, record.unit)
    else:
        relation: Literal[">=", "<="] = ">=" if record.bound.relation == ">=" else "<="
        found = verdicts.decide_threshold(record.observed, interval, relation, bound, record.unit)
    misses = f"passes with {interval.low:.3f} to {interval.high:.3f}, which misses {record.needs}"
    return "" if found.verdict is Verdict.PASS else misses


def has_plain_rule(record: ClaimRecord) -> bool:
    """Whether a claim's verdict follows from its own interval and bound; other verdicts are known from the run alone.

    Example:
        >>> has_plain_rule(ClaimRecord("bypass.verdict", "npo", "outcome", Verdict.PASS, ""))
        False
    """
    own = record.kind == "threshold" and record.bound.needs
    return record.kind in ("threshold", "equivalence") and not own


def _annotations(statement: Mapping[str, Any]) -> Any:
    return statement["predicate"]["configuration"][0]["annotations"]


def _parts(written: Mapping[str, Any], made: Mapping[str, Any], apart: str) -> Iterator[str]:
    """What a part of a card says otherwise, but for one key that is compared apart."""
    for key, value in made.items():
        if key != apart and written.get(key) != value:
            yield one_line(f"{key}: the card says {written.get(key)}, the run {value}")


def _unlike(written: Any, made: Any) -> list[str]:
    """The claims whose rows differ; one word where they are no rows at all."""
    if written == made:
        return []
    try:
        before, now = ({one["name"]: one for one in side} for side in (written, made))
    except (TypeError, KeyError):
        return ["they cannot be read"]
    return [str(name) for name in {**before, **now} if before.get(name) != now.get(name)] or ["in another order"]


def _files(written: Any, made: Any, what: str) -> Iterator[str]:
    before, now = ({one["name"]: one["digest"]["sha256"] for one in side} for side in (written, made))
    for name in {**before, **now}:
        if name not in now:
            yield f"{what} {name} is gone"
        elif name not in before:
            yield f"{what} {name} is not on the card"
        elif before[name] != now[name]:
            yield f"{what} {name} is another file than the card's"
