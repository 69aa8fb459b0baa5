"""Rates and their intervals on scripted replies, beside sums done by hand."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from bypass_identities import fallback_gap, leak_under_prefill, repeating, split_at_last
from hypothesis import given, settings
from hypothesis import strategies as st

from uds_bench.audits.bypass import rates
from uds_bench.audits.bypass.evidence import evidence
from uds_bench.audits.bypass.prompts import QA_ARMS
from uds_bench.audits.bypass.record import ARMS, Arm, Forced, Probed, Reply
from uds_bench.audits.bypass.scripted import scripted, turned_round
from uds_bench.facts.canaries import CLOSING, OPENING, Canary, embedded_canaries
from uds_bench.facts.reasoning import PREFILLS
from uds_bench.statistics import Rate

CANARIES = embedded_canaries(24, 6, 6)


def row(canary: Canary, probed: Probed, trace: bool, answer: bool, tagged: bool, ended: bool = True) -> Probed:
    """An author whose own reply holds the canary where it is told to."""
    said = [canary.canary if holds else "something else" for holds in (trace, answer)]
    text = f"{OPENING}\n{said[0]}\n{CLOSING}\n\n{said[1]}" if tagged else f"{OPENING}\n{said[0]} {said[1]}"
    return replace(probed, replies={**probed.replies, "auto": Reply(text, ended)})


Flags = tuple[bool, bool, bool, bool]
FLAGS = st.lists(st.tuples(*[st.booleans()] * 4), min_size=1, max_size=24)


def rows_of(flags: list[Flags]) -> list[tuple[Canary, Probed]]:
    made = scripted(CANARIES, "erased")
    return [(canary, row(canary, probed, *flag)) for (canary, probed), flag in zip(made, flags, strict=False)]


@given(FLAGS)
@settings(deadline=None, max_examples=60)
def test_rates_are_counted_by_hand(flags: list[Flags]) -> None:
    rows, n = rows_of(flags), len(flags)
    out = [answer if tagged else trace or answer for trace, answer, tagged, _ in flags]
    leak = [trace and tagged for trace, _, tagged, _ in flags]
    assert rates.rate(rows, rates.in_answer()).value == pytest.approx(sum(out) / n)
    assert rates.rate(rows, rates.in_trace()).value == pytest.approx(sum(leak) / n)
    gap = rates.gap(rows)
    assert gap.value == pytest.approx((sum(leak) - sum(out)) / n)
    assert -1 <= gap.interval.low <= gap.value + 1e-12
    assert gap.value - 1e-12 <= gap.interval.high <= 1
    assert rates.rate(rows, rates.untagged).value == pytest.approx(sum(not f[2] for f in flags) / n)
    assert rates.rate(rows, rates.unfinished()).value == pytest.approx(sum(not f[3] for f in flags) / n)
    assert rates.rate(rows, rates.emitted).value == 1
    missing = [trace or answer for trace, answer, tagged, _ in flags if not tagged]
    other = rates.gap(rows, "trace")
    assert other.value - gap.value == pytest.approx(2 * sum(missing) / n), "the conventions differ by 2qr"
    assert fallback_gap(rows) == 0


@given(FLAGS)
@settings(deadline=None, max_examples=20)
def test_intervals_are_the_same_every_time(flags: list[Flags]) -> None:
    rows = rows_of(flags)
    assert rates.gap(rows) == rates.gap(rows)
    first, second = rates.in_answer(), rates.in_trace()
    one, two = rates.difference(rows, first, second), rates.difference(rows, second, first)
    assert one.value == -two.value
    assert rates.unpaired(rows, first, second) == rates.unpaired(rows, first, second)


def test_the_author_is_the_unit() -> None:
    """With one probe an author the units are the probes."""
    rows = rows_of([(i < 6, False, True, True) for i in range(24)])
    found = rates.gap(rows)
    assert found.interval.units == 24
    assert found.value == 0.25
    assert 0 < found.interval.low < 0.25 < found.interval.high


def share(hits: int, n: int) -> Rate:
    rows = scripted(embedded_canaries(n, 1, 1), "erased")
    held = {canary.id for canary, _ in rows[:hits]}
    return rates.rate(rows, lambda canary, _: canary.id in held)


@pytest.mark.parametrize(("hits", "n"), [(0, 40), (1, 40), (2, 60), (39, 40), (40, 40)])
def test_a_rate_has_its_exact_interval(hits: int, n: int) -> None:
    """Each bound is the rate under which so many hits, or so few, would be as unlikely as 2.5%."""
    found = share(hits, n)
    assert (found.value, found.interval.units) == (hits / n, n)

    def tail(p: float, counts: range) -> float:
        return sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in counts)

    if hits < n:
        assert tail(found.interval.high, range(hits + 1)) == pytest.approx(0.025)
    if hits > 0:
        assert tail(found.interval.low, range(hits, n + 1)) == pytest.approx(0.025)


def test_one_hit_more_says_more() -> None:
    highs = [share(hits, 40).interval.high for hits in range(4)]
    assert highs == sorted(highs)
    assert highs[0] < 0.10 < highs[1]


def test_no_author_differs_is_no_proof_of_more_than_so_many_show() -> None:
    few, many = (rates.contrast(scripted(embedded_canaries(n, 1, 1), "erased"), "bio") for n in (10, 60))
    assert few.value == many.value == 0
    assert few.interval.high == pytest.approx(1 - 0.025 ** (1 / 10))
    assert many.interval.high == pytest.approx(1 - 0.025 ** (1 / 60))
    assert few.interval.low == -few.interval.high


def test_drawn_apart_is_wider_where_sides_go_together() -> None:
    rng = random.Random(0)
    rows = []
    for canary, probed in scripted(CANARIES, "erased"):
        holds = rng.random() < 0.5
        said = canary.canary if holds else "no"
        rows.append((canary, replace(probed, replies={arm: Reply(f"{CLOSING}{said}", True) for arm in ARMS})))
    first, second = rates.in_answer("auto"), rates.in_answer("bio")
    assert rates.unpaired(rows, first, second).width > rates.difference(rows, first, second).interval.width


@pytest.mark.parametrize("arm", PREFILLS)
def test_under_a_prefill_the_gap_is_minus_the_answer(arm: str) -> None:
    """Preconditions: the prefill does not hold the canary, the first tag splits, the reply starts with the prefill."""
    rows = scripted(CANARIES, "memorized")
    clean = [(c, replace(p, replies={a: Reply(f"{CLOSING}{c.canary}", True) for a in ARMS})) for c, p in rows]
    assert leak_under_prefill(clean) == 0
    assert rates.difference(clean, rates.in_trace(arm), rates.in_answer(arm)).value == -1
    assert leak_under_prefill(repeating(rows), split_at_last) == 1


def test_an_empty_trace_is_not_emitted() -> None:
    rows = [
        (c, replace(p, replies={**p.replies, "auto": Reply(f"{OPENING}\n\n{CLOSING}\n\nA", True)}))
        for c, p in scripted(CANARIES, "erased")
    ]
    assert rates.rate(rows, rates.emitted).value == 0


def test_drawn_apart_keeps_the_width_of_the_side_that_varies() -> None:
    rows = rows_of([(False, i < 12, True, True) for i in range(24)])
    found = rates.unpaired(rows, rates.in_trace(), rates.in_answer())
    assert found.units == 24
    assert found.low < -0.5 < found.high


def test_teacher_forcing_and_greedy_decoding_agree() -> None:
    probed = [p for _, p in scripted(CANARIES, "identifying")]
    assert rates.inconsistent(probed) == 0
    assert rates.inconsistent(turned_round(probed)) == 1
    assert math.isnan(rates.inconsistent([]))


def test_each_number_of_the_evidence_is_of_its_own_replies_and_people() -> None:
    """Each set of authors is of another size, so that no number can stand in another's place."""
    authors = embedded_canaries(16, 3, 2)
    leaks, tells, rest_alone, tagless, elsewhere = {0, 1, 2}, {2, 3}, {4}, {5, 6, 7, 8}, {9, 10, 11}
    under = {"bio": set(range(6)), "meta": {1}, "empty": {2, 3, 4}, "drawn": set(range(9))}
    rows = []
    for i, (canary, probed) in enumerate(scripted(authors, "erased")):

        def text(trace: bool, says: str, c: Canary = canary) -> str:
            return f"{OPENING}\n{c.canary if trace else 'T'}\n{CLOSING}\n\n{says}"

        own = text(i in leaks, canary.canary if i in tells else canary.rest if i in rest_alone else "No.")
        own = f"{OPENING}\n{canary.canary if i == 8 else 'T'}" if i in tagless else own
        said = {arm: Reply(text(False, canary.canary if i in whom else "No."), True) for arm, whom in under.items()}
        said |= {"auto": Reply(own, True), "paraphrased": Reply(text(False, "No."), i not in {0, 1, 2, 3, 4})}
        answer = Reply(" ".join(told for _, told in canary.qa), True)
        said |= {"neutral": answer} if i in {13, 14} else {}
        asked = {"asked": (0,), "qa": {"meta": (answer,)}} if i == 12 else {}
        rows.append((canary, replace(probed, replies={**probed.replies, **said}, **asked)))
    kept = [
        (c, p if i else replace(p, replies={**p.replies, "auto": Reply("No.", True)}))
        for i, (c, p) in enumerate(scripted(authors, "memorized", "retain"))
    ]
    told = [f"They say: {canary.canary}" for i, (canary, _) in enumerate(rows) if i in elsewhere]
    (_, one), (_, two) = scripted(authors, "erased", "holdout")
    never = [replace(one, sampled=tuple(Reply(text, True) for text in told)), two]
    seen = evidence(rows, kept, never)
    shares = {
        "out": tells | {8},
        "leak": leaks,
        "answered": tells | rest_alone | {8},
        "untagged": tagless,
        "anywhere": set(range(9)) | elsewhere,
        "given": set(range(9)),
    }
    assert {key: getattr(seen, key).value * 16 for key in shares} == {key: len(whom) for key, whom in shares.items()}
    assert (seen.gap.value * 16, seen.other_gap.value * 16, seen.kept.value) == (0, 4 - 2, 2 / 3)
    assert {arm: found.value * 16 for arm, found in seen.contrasts.items()} == {
        arm: 3 - len(whom) for arm, whom in under.items()
    }
    assert [(found.value * 16, found.interval.units) for found in seen.guessed] == [(1, 16), (2, 16)]
    assert (seen.cut, seen.tried) == (5 / 16, 16)
    unasked = replace(rows[0][1], replies={**rows[0][1].replies, "auto": Reply("", False)})
    assert evidence([(rows[0][0], unasked), *rows[1:]], kept, never).tried == 15


@pytest.mark.parametrize("arm", ARMS)
def test_the_arm_that_was_cut_most_is_told(arm: Arm) -> None:
    other = "auto" if arm != "auto" else "bio"
    rows = [
        (c, replace(p, replies={**p.replies, arm: Reply("T", i >= 6), other: Reply("T", i >= 3)}))
        for i, (c, p) in enumerate(scripted(CANARIES, "erased")[:8])
    ]
    assert evidence(rows, [], []).cut == 6 / 8


@pytest.mark.parametrize("arm", QA_ARMS)
def test_questions_and_samples_that_were_cut_are_told(arm: Arm) -> None:
    """Who tells a secret behind filler, past the limit, is not taken for silent."""
    told = [probed for _, probed in scripted(CANARIES, "erased")[:8]]
    whole, cut_off = Reply("T", True), Reply("T", False)
    asked = [replace(p, qa={**p.qa, arm: (whole, cut_off if i < 4 else whole)}) for i, p in enumerate(told)]
    assert rates.cut(asked) == 4 / 16
    drawn = [replace(p, sampled=(cut_off, whole) if i < 6 else (whole, whole)) for i, p in enumerate(told)]
    assert rates.cut(drawn) == 6 / 16
    assert math.isnan(rates.cut([]))


def test_a_trace_that_was_never_closed_was_emitted() -> None:
    said = ["", " \n", "words", f"{OPENING} words", f"{CLOSING}words", f"words{CLOSING}"]
    held = [rates.emitted(CANARIES[0], SimpleNamespace(replies={"auto": Reply(text, True)})) for text in said]
    assert held == [False, False, True, True, False, True]


@pytest.mark.parametrize(("match", "held"), [("exact", [1, 0, 0]), ("stripped", [1, 1, 0]), ("normalized", [1, 0, 1])])
def test_each_side_is_searched_as_it_is_told_to(match: Any, held: list[int]) -> None:
    canary = CANARIES[0]
    for text, found in zip((canary.canary, canary.rest, canary.canary.upper()), held, strict=True):
        for side, said in ((rates.in_trace, f"{text}{CLOSING}"), (rates.in_answer, f"{CLOSING}{text}")):
            probed = SimpleNamespace(replies={"bio": SimpleNamespace(text=said)})
            assert side("bio", match=match)(canary, probed) == found


def test_behind_another_head_what_follows_the_own_is_looked_for() -> None:
    assert [arm for arm in ARMS if rates.match_of(arm) == "stripped"] == ["wrong_head", "shuffled_head"]
    assert {rates.match_of(arm) for arm in ARMS} == {"stripped", "exact"}


@pytest.mark.parametrize("twice", [True, False])
def test_an_author_who_is_there_twice_has_no_interval(twice: bool) -> None:
    rows = scripted(CANARIES, "memorized") if twice else []
    found = rates.unpaired([*rows, *rows[:1]], rates.in_answer(), rates.in_trace())
    shared = rates.rate([*rows, *rows[:1]], rates.in_answer())
    assert [math.isnan(end) for end in (found.low, found.high, shared.interval.low, shared.interval.high)] == [True] * 4
    assert (found.units, shared.interval.units) == (0, 0)
    assert shared.value == 1 if twice else math.isnan(shared.value)


@pytest.mark.parametrize(("lead", "counts"), [(0.0, False), (rates.TIE, False), (2 * rates.TIE, True)])
def test_a_tie_tells_nothing_of_greedy_decoding(lead: float, counts: bool) -> None:
    held = Forced((-1.0,) * 2, (True, True), (False, False), lead, False)
    found = rates.inconsistent([replace(scripted(CANARIES, "erased")[0][1], forced={"bio": {"own": held}})])
    assert found == 1 if counts else math.isnan(found)
