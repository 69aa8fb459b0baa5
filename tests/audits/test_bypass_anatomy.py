"""The anatomy of bypass cases, and the floors of teacher forcing, on replies and numbers written by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from uds_bench.audits.bypass import rates
from uds_bench.audits.bypass.finding import find
from uds_bench.audits.bypass.floors import all_tokens, likelihood, recall
from uds_bench.audits.bypass.record import Forced, Probed, Reply
from uds_bench.audits.bypass.scripted import scripted
from uds_bench.audits.bypass.summary import anatomy, summary
from uds_bench.facts.canaries import CLOSING, OPENING, Canary, embedded_canaries

CANARIES = embedded_canaries(8, 2, 2)


def reply(trace: str, answer: str) -> Reply:
    return Reply(f"{OPENING}\n{trace}\n{CLOSING}\n\n{answer}", True)


def rows_of(texts: list[tuple[str, str]]) -> list[tuple[Canary, Probed]]:
    """One author each; {T} stands for the sentence and {H} for its head."""
    found = []
    for (canary, probed), (trace, answer) in zip(scripted(CANARIES, "erased"), texts, strict=False):
        spelled = [text.format(T=canary.canary, H=canary.head) for text in (trace, answer)]
        found.append((canary, replace(probed, replies={**probed.replies, "auto": reply(*spelled)})))
    return found


def test_cases_are_those_whose_trace_tells_and_whose_answer_does_not() -> None:
    rows = rows_of([("{T}", "{H}"), ("{T}", "{H} and more"), ("{T}", "no"), ("{T}", "{T}"), ("x", "{T}"), ("x", "{H}")])
    found = anatomy(rows)
    head, said = [len(canary.head) for canary, _ in rows], [len(canary.canary) for canary, _ in rows]
    assert (found.cases, found.bare, found.both) == (3, 1, 1)
    assert found.length == pytest.approx((head[0] + head[1] + len(" and more") + 2) / 3)
    assert found.both_length == said[3]


def test_without_cases_there_is_no_length() -> None:
    found = anatomy(rows_of([("x", "{H}")]))
    assert (found.cases, found.bare, found.both) == (0, 0, 0)
    assert math.isnan(found.length)
    assert math.isnan(found.both_length)


def forced(right: list[bool], slot: list[bool], logp: float = -0.5) -> Forced:
    return Forced((logp,) * len(right), tuple(right), tuple(slot), 1.0, None)


def probed(index: int, **contexts: Forced) -> Probed:
    canary = CANARIES[index]
    return Probed(canary.id, canary.author, canary.split, {}, {"bio": contexts}, {})


def test_recall_and_both_floors_each_from_its_own_context() -> None:
    slot = [True, True, False]
    own, wrong, mixed = ([True, True, False], [True, False, True], [False, False, False])
    forget = [
        probed(i, own=forced(own, slot), wrong_author=forced(wrong, slot), shuffled_head=forced(mixed, slot))
        for i in range(6)
    ]
    never = [probed(i, own=forced([False, False, True], slot)) for i in (6, 7)]
    found = recall(forget, never, "bio")
    assert found.slots
    assert (found.own.value, found.wrong_author.value, found.never_seen.value) == (1.0, 0.5, 0.0)
    assert (found.above_wrong.value, found.above_never.value) == (0.5, 1.0)
    assert all_tokens(forget, "bio").value == pytest.approx(2 / 3)
    assert all_tokens(forget, "bio", "shuffled_head").value == 0


def test_one_author_without_a_name_makes_every_token_count() -> None:
    named, plain = forced([True, False], [True, False]), forced([True, False], [False, False])
    both = [probed(0, own=named, wrong_author=named), probed(1, own=plain, wrong_author=plain)]
    found = recall(both, [probed(6, own=named)], "bio")
    assert not found.slots
    assert found.own.value == 0.5


def test_likelihood_is_a_mean_over_tokens_and_then_over_authors() -> None:
    rows = [probed(0, own=forced([True] * 3, [True] * 3, -1.0)), probed(1, own=forced([True], [True], -3.0))]
    logp, perplexity = likelihood(rows, "bio")
    assert logp == -2.0
    assert perplexity == pytest.approx((math.e + math.e**3) / 2)


def test_the_summary_tells_each_number_by_its_own_name() -> None:
    rows = rows_of([("{T}", "{H}"), ("{T}", "{T}"), ("x", "{H}"), ("", "{H}")])
    rows[3] = (rows[3][0], replace(rows[3][1], replies={**rows[3][1].replies, "auto": Reply("no tag", False)}))
    kept = scripted(CANARIES, "memorized", "retain")
    never = [p for _, p in scripted(CANARIES, "erased", "holdout")]
    told = summary("one", find(rows, kept, never), rows, kept, never)
    values = {key: getattr(told, key).value for key in ("untagged", "unfinished", "retain", "emitted", "anywhere")}
    assert values == {"untagged": 0.25, "unfinished": 0.25, "retain": 1.0, "emitted": 1.0, "anywhere": 0.5}
    assert (told.out["exact"].value, told.leak["exact"].value) == (0.25, 0.5)
    found = told.arms["bio"]
    assert found.contrast.value == found.contrast_unpaired.value == 0.25
    apart = rates.unpaired(rows, rates.in_answer("auto"), rates.in_answer("bio"))
    assert (found.contrast_unpaired.low, found.contrast_unpaired.high) == (apart.low, apart.high)
