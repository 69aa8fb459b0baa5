"""Shares answered rightly before and after: beside plain loops, and as wide as chance makes them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references import multiple_choice as by_hand

from uds_bench.audits.localization.utility import Answer, Answers, accuracy, answers_of, change, guesser, over_tasks
from uds_bench.scores import FactScore, Score
from uds_bench.statistics import RESAMPLES, zero_rate_bound

Rights = dict[str, dict[str, int]]


def answers(rights: Rights, choices: int = 4) -> Answers:
    return {task: {id: Answer(float(one), 1 / choices) for id, one in found.items()} for task, found in rights.items()}


def numbered(*tasks: list[int]) -> Rights:
    return {f"task{at}": {f"{at}/{n}": one for n, one in enumerate(task)} for at, task in enumerate(tasks)}


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Rights, Rights]:
    sizes = draw(st.lists(st.integers(1, 12), min_size=1, max_size=4))
    bits = st.integers(0, 1)
    first, second = ([draw(st.lists(bits, min_size=n, max_size=n)) for n in sizes] for _ in range(2))
    return numbered(*first), numbered(*second)


@settings(max_examples=60, deadline=None)
@given(pairs())
def test_a_change_is_the_mean_over_tasks_of_paired_differences(found: tuple[Rights, Rights]) -> None:
    before, after = found
    rate = change(answers(before), answers(after))
    assert rate.value == pytest.approx(by_hand.accuracy_difference(before, after), abs=1e-12)
    there, back = rate.interval, change(answers(after), answers(before)).interval
    assert -1 <= there.low <= rate.value <= there.high <= 1
    fewest = len(before) * min(map(len, before.values()))
    # A quantile of so few documents may lie one of their steps further.
    assert there.low == pytest.approx(-back.high, abs=0.05 + 1 / fewest), "the same documents, drawn anew"
    reach = zero_rate_bound(fewest)
    assert there.low <= max(-1, rate.value - reach) + 1e-12
    assert there.high >= min(1, rate.value + reach) - 1e-12
    assert there.units == sum(map(len, before.values()))


def test_a_task_of_many_documents_does_not_outweigh_the_others() -> None:
    """SimNPO on phone numbers, Lacuna's table 2: 18, 8 and 1 of fifty questions lost, and 2.6 points of MMLU's 2850."""
    lost = {"arc_easy": (50, 18), "arc_challenge": (50, 8), "hellaswag": (50, 1), "mmlu": (2850, 74)}
    before = {task: {f"{task}/{n}": 1 for n in range(count)} for task, (count, _) in lost.items()}
    after = {task: {id: int(n >= lost[task][1]) for n, id in enumerate(found)} for task, found in before.items()}
    found = change(answers(before), answers(after))
    assert found.value == pytest.approx(-(0.36 + 0.16 + 0.02 + 74 / 2850) / 4)
    assert found.interval.high < -0.05
    pooled = sum(count for _, count in lost.values()) / sum(count for count, _ in lost.values())
    assert pooled < 0.05, "which would be let pass, were documents counted alike"


def test_documents_are_drawn_within_each_task() -> None:
    """The interval is that of the usual bootstrap, drawn document by document."""
    rng = np.random.default_rng(5)
    tasks = [rng.choice([-1.0, 0.0, 1.0], size, p=[0.3, 0.6, 0.1]) for size in (60, 300)]
    found = over_tasks(tasks, -1.0)
    means = np.mean([rng.choice(one, (RESAMPLES, one.size)).mean(1) for one in tasks], axis=0)
    low, high = np.quantile(means, [0.025, 0.975])
    assert found.value == pytest.approx(np.mean([one.mean() for one in tasks]), abs=1e-12)
    assert (found.interval.low, found.interval.high) == (pytest.approx(low, abs=0.005), pytest.approx(high, abs=0.005))


@pytest.mark.parametrize(("sizes", "units"), [((100,), 100), ((50, 50, 50, 2850), 200)])
def test_where_nothing_changes_the_interval_is_that_of_documents_never_seen_to(
    sizes: tuple[int, ...], units: int
) -> None:
    found = change(*[answers(numbered(*([1] * size for size in sizes)))] * 2)
    assert found.value == 0
    assert (found.interval.low, found.interval.high) == (-zero_rate_bound(units), zero_rate_bound(units))
    assert found.interval.decides


def test_the_rule_for_equal_documents_holds_however_those_that_change_lie() -> None:
    """Of shares r of tasks with n documents each, such that no change is seen with a chance of alpha/2, none has a mean
    above that for the shortest task's documents, times the tasks."""
    sizes, level = np.array([7, 30, 90]), 0.025
    rng, most = np.random.default_rng(0), 0.0
    for weights in rng.dirichlet([0.3] * 3, 4000):
        shares = 1 - level ** (weights / sizes)
        assert np.prod((1 - shares) ** sizes) == pytest.approx(level)
        most = max(most, float(shares.mean()))
    assert most <= zero_rate_bound(3 * 7)


def test_a_guesser_has_chance() -> None:
    before = answers(numbered([1] * 40, [1] * 40))
    found = change(before, guesser(before))
    assert found.value == pytest.approx(-0.75)
    assert accuracy(guesser(before)).value == pytest.approx(0.25)
    idle = answers(numbered([1, 0, 0, 0] * 10))
    assert change(idle, guesser(idle)).value == pytest.approx(0), "who knows nothing does no better"


@pytest.mark.parametrize(
    "after",
    [
        {"task0": {"0/0": Answer(1.0, 0.5)}},
        {"task0": {"0/0": Answer(1.0, 0.5), "0/1": Answer(math.nan, 0.5)}},
        {},
    ],
)
def test_a_document_without_an_answer_is_never_left_out(after: Answers) -> None:
    before = answers(numbered([1, 0]))
    for first, second in ((before, after), (before, {"task0": after.get("task0", {})})):
        found = change(first, second)
        assert math.isnan(found.value)
        assert not found.interval.decides


def test_nothing_asked_is_no_number() -> None:
    assert math.isnan(change({}, {}).value)
    assert math.isnan(accuracy({"task": {}}).value)


def test_answers_are_read_from_a_score() -> None:
    rows = (
        FactScore("a/0", "a/0", 1.0, kind="group", detail={"choices": 4, "chance": 0.25}),
        FactScore("b/0", "b/0", None, "the log-likelihood of a choice is not finite", "group", {"chance": 0.5}),
        FactScore("c/0", "c/0", None, "the metric returned nothing", "c"),
    )
    found = answers_of(Score("m", "none", "localization_benchmarks", "default", None, None, rows))
    assert found["group"]["a/0"] == Answer(1.0, 0.25)
    assert math.isnan(found["group"]["b/0"].right)
    assert list(found) == ["group", "c"]
    assert math.isnan(found["c"]["c/0"].right)
    assert math.isnan(found["c"]["c/0"].chance)
