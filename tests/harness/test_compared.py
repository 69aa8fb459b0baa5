"""What changed between two runs, beside tables by hand: which step is worse, and what is paired with what."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from uds_bench.claims.compared import by_address, changes, changes_since, difference, paired, pairs, read_verdicts
from uds_bench.errors import ConfigurationError
from uds_bench.scores import FactScore, Score
from uds_bench.verdicts import KNOWN

STEPS: dict[str | None, int] = {
    "pass": 0,
    **dict.fromkeys(map(str, KNOWN), 0),
    "waived": 1,
    "not applicable": 1,
    "undecided": 2,
    "fail": 3,
}
STEPS[None] = 4
"""How far each status is from a pass; None: the claim is not there."""


@pytest.mark.parametrize(("before", "after"), [*product(STEPS, STEPS)])
def test_a_change_is_worse_where_it_leads_away_from_a_pass(before: str | None, after: str | None) -> None:
    """A claim that is new is worse only where it is neither passed nor good in another way."""
    found = changes(*({} if status is None else {"a": status} for status in (before, after)))
    if before == after:
        assert found == []
        return
    step = STEPS[after] - STEPS[before] if before else max(STEPS[after] - 1, 0)
    change = "worse" if step > 0 else "better" if step < 0 else "other"
    assert found == [{"claim": "a", "a": before, "b": after, "change": change}]


def test_changes_come_in_the_order_of_the_earlier_run_and_then_of_the_later() -> None:
    found = changes({"b": "fail", "a": "pass", "same": "pass"}, {"c": "fail", "a": "fail", "same": "pass", "b": "pass"})
    assert [(one["claim"], one["change"]) for one in found] == [("b", "better"), ("a", "worse"), ("c", "worse")]


def run(*claims: tuple[str, str], digest: str = "d") -> Any:
    made = [SimpleNamespace(name=name, status=status) for name, status in claims]
    return SimpleNamespace(told=made, started="then", manifest=SimpleNamespace(path="uds.toml", digest=digest))


@pytest.mark.parametrize("order", [1, -1])
def test_the_worst_of_a_name_counts_in_any_order(order: int) -> None:
    rows = [("a", "pass"), ("a", "undecided"), ("b", "fail"), ("b", "pass"), ("c", "waived"), ("c", "pass")]
    assert read_verdicts(run(*rows[::order])) == {"a": "undecided", "b": "fail", "c": "waived"}


def score(values: dict[str, float | None], name: str = "npo", digest: str | None = "f", clusters: str = "") -> Score:
    facts = tuple(FactScore(id, clusters or id, value) for id, value in values.items())
    told = [value for value in values.values() if value is not None]
    mean = sum(told) / len(told) if told else None
    return Score(name, "none", "uds", "block", mean, None, facts, {}, {"facts": digest})


def test_only_facts_that_both_scored_are_paired() -> None:
    before, after = score({"a": 0.25, "b": 0.5, "c": None, "d": 1.0}), score({"a": 0.5, "c": 0.5, "d": 0.5, "e": 1.0})
    found = paired(before, after) or {}
    assert (found["difference"], found["clusters"], found["facts"]) == ((0.25 - 0.5) / 2, 2, 2)
    assert found["unmatched"] == 3, "b, c and e"
    assert "over clusters" in found["method"]
    low, high = found["ci"]
    assert low <= found["difference"] <= high
    back = paired(after, before) or {}
    assert (back["difference"], back["ci"]) == (0.125, pytest.approx([-high, -low]))
    assert (paired(before, score({"a": 0.5, "d": 0.5}, clusters="one")) or {})["ci"] is None
    assert paired(before, score({"x": 0.5})) is None
    assert paired(score({"c": None}), after) is None


def test_a_score_of_one_side_and_of_other_facts_is_noted() -> None:
    one, other = score({"a": 0.25}), score({"a": 0.75})
    assert difference(one.address, one, other) == {
        **dict(zip(("checkpoint", "attack", "metric", "variant"), one.address, strict=True)),
        "a": 0.25,
        "b": 0.75,
        "difference": 0.5,
        "paired": paired(one, other),
        "note": None,
    }
    lone = {"difference": None, "paired": None}
    for a, b, told in (
        (None, one, {"a": None, "b": 0.25, "note": "only in B", **lone}),
        (one, None, {"a": 0.25, "b": None, "note": "only in A", **lone}),
        (one, score({"a": 0.5}, digest="g"), {"note": "other facts", "difference": 0.25}),
        (score({"a": None}), one, {"difference": None, "note": None}),
        (one, score({"a": None}), {"difference": None, "note": None}),
    ):
        found = difference(one.address, a, b)
        assert {key: found[key] for key in told} == told


def test_scores_of_one_address_must_agree() -> None:
    one, same, other = score({"a": 0.25}), score({"a": 0.25}), score({"a": 0.75})
    assert by_address([one, same, score({"a": 0.5}, "idk")], Path("run.json")) == {
        one.address: one,
        ("idk", "none", "uds", "block"): score({"a": 0.5}, "idk"),
    }
    with pytest.raises(ConfigurationError, match=r"^run.json: holds two different scores of npo, none, uds, block"):
        by_address([one, other], Path("run.json"))


def test_each_address_stands_once_with_both_sides() -> None:
    one, other = score({"a": 0.25}), score({"a": 0.75})
    assert pairs({("x",): one, ("y",): one}, {("z",): other, ("y",): other}) == [
        (("x",), one, None),
        (("y",), one, other),
        (("z",), None, other),
    ]


def test_what_moved_since_an_earlier_run_is_told_the_worse_first() -> None:
    """A mean that stays while facts move the one way and the other has not moved; one whose facts are others has."""
    before = run(("a", "fail"), ("b", "pass"), ("c", "waived"))
    now = run(("a", "pass"), ("b", "fail"), ("c", "not applicable"), digest="e")
    still, turned = score({"a": 0.25, "b": 0.75}, "still"), score({"a": 0.75, "b": 0.25}, "still")
    sides = {
        "turned": (still, turned),
        "moved": (score({"a": 0.25}), score({"a": 0.5})),
        "same": (still, still),
        "other": (score({"a": 0.5, "b": 0.5}), score({"a": 0.75, "c": 0.25})),
        "gone": (still, None),
        "new": (None, still),
    }
    of = [
        {(name, "none", "uds", "block"): both[at] for name, both in sides.items() if both[at] is not None}
        for at in (0, 1)
    ]
    found = changes_since(before, now, *of)
    assert [one["claim"] for one in found.verdicts] == ["b", "a", "c"]
    moved = {row["checkpoint"]: row["difference"] for row in found.moved}
    assert moved == {"moved": 0.25, "other": 0, "gone": None, "new": None}
    assert (found.started, found.manifest, found.other) == ("then", "uds.toml", True)
    assert changes_since(before, before, {}, {}).other is False
