"""The anatomy of bypass cases, and the floors of teacher forcing, on replies and numbers written by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from made_reports import values_of

from uds_bench.audits.bypass import rates
from uds_bench.audits.bypass.finding import Finding, find
from uds_bench.audits.bypass.floors import all_tokens, likelihood, recall
from uds_bench.audits.bypass.rates import Rows
from uds_bench.audits.bypass.record import ARMS, CONTEXTS, FORCED, Forced, Probed, Reply
from uds_bench.audits.bypass.scripted import scripted
from uds_bench.audits.bypass.summary import anatomy, summary
from uds_bench.facts.canaries import CLOSING, OPENING, Canary, embedded_canaries
from uds_bench.statistics import zero_rate_bound

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
    assert found.length is found.both_length is None


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


def test_a_floor_is_of_those_who_have_it() -> None:
    """Of four authors one was forced behind no other; a stranger knows a quarter, and another was not forced."""
    slot = [True] * 4
    right = [[True] * known + [False] * (4 - known) for known in range(5)]
    forget = [probed(i, own=forced(right[3], slot), wrong_author=forced(right[1 + i], slot)) for i in range(3)]
    forget.append(probed(3, own=forced(right[4], slot)))
    found = recall(forget, [probed(6, own=forced(right[1], slot))], "bio")
    assert (found.own.value, found.wrong_author.value, found.never_seen.value) == (3.25 / 4, 0.5, 0.25)
    assert found.above_wrong.value == pytest.approx((0.5 + 0.25 + 0) / 3)
    assert found.above_never.value == pytest.approx(3.25 / 4 - 0.25)
    assert found.above_wrong.interval.low < found.above_wrong.value < found.above_wrong.interval.high
    assert (found.above_wrong.interval.units, found.own.interval.units, found.above_never.interval.units) == (3, 4, 1)
    lacking = recall(forget, [probed(6, own=forced(right[1], slot)), probed(7)], "bio")
    assert not lacking.slots, "of one who was not forced no name is known"
    assert lacking.never_seen == found.never_seen


def test_recall_has_ends_and_so_has_what_is_above_a_floor() -> None:
    """All is known of twelve authors and nothing behind another's head, or of strangers: as much as twelve can show."""
    every, none = forced([True], [True]), forced([False], [True])
    forget = [replace(probed(0, own=every, wrong_author=none), author=f"a{at}") for at in range(12)]
    never = [replace(probed(6, own=none), author=f"s{at}") for at in range(12)]
    found, bound = recall(forget, never, "bio"), pytest.approx(zero_rate_bound(12))
    assert (1 - found.own.interval.low, found.own.interval.high) == (bound, 1)
    for floor in (found.wrong_author, found.never_seen):
        assert (floor.interval.low, floor.interval.high) == (0, bound)
    assert 1 - found.above_wrong.interval.low == pytest.approx(2 * zero_rate_bound(12)), "-1 to 1 is twice as wide"
    assert found.above_wrong.interval.high == 1
    assert 1 - found.above_never.interval.low == pytest.approx(math.hypot(*[zero_rate_bound(12)] * 2))
    assert found.above_never.interval.high == 1
    turned = recall(never, forget, "bio").above_never.interval
    assert (turned.low, turned.high) == pytest.approx((-1, -found.above_never.interval.low))


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


def summary_of(found: Finding, rows: Rows, kept: Rows, never: Sequence[Probed]) -> dict[str, Any]:
    """As the report's JSON has it."""
    return values_of(summary("one", found, rows, kept, never))


def test_the_summary_tells_each_number_by_its_own_name() -> None:
    rows = rows_of([("{T}", "{H}"), ("{T}", "{T}"), ("x", "{H}"), ("", "{H}")])
    rows[3] = (rows[3][0], replace(rows[3][1], replies={**rows[3][1].replies, "auto": Reply("no tag", False)}))
    kept = scripted(CANARIES, "memorized", "retain")
    never = [p for _, p in scripted(CANARIES, "erased", "holdout")]
    told = summary_of(find(rows, kept, never), rows, kept, never)
    values = {key: told[key]["value"] for key in ("untagged", "unfinished", "retain", "emitted", "anywhere")}
    assert values == {"untagged": 0.25, "unfinished": 0.25, "retain": 1.0, "emitted": 1.0, "anywhere": 0.5}
    assert (told["out"]["exact"]["value"], told["leak"]["exact"]["value"]) == (0.25, 0.5)
    contrast = told["arms"]["bio"]
    assert contrast["contrast"]["value"] == contrast["contrast_unpaired"]["value"] == 0.25
    apart = rates.unpaired(rows, rates.in_answer("auto"), rates.in_answer("bio"))
    assert (contrast["contrast_unpaired"]["low"], contrast["contrast_unpaired"]["high"]) == (apart.low, apart.high)


def test_the_summary_repeats_the_finding_and_nobody_is_no_number() -> None:
    rows, kept = scripted(CANARIES, "hanging on its trace"), scripted(CANARIES, "memorized", "retain")
    never = [p for _, p in scripted(CANARIES, "erased", "holdout")]
    found = find(rows, kept, never)
    told = summary_of(found, rows, kept, never)
    assert (told["word"], told["why"], told["n"]) == (str(found.word), found.why, len(rows))
    assert told["parts"] == vars(found.parts)
    same = {"given": found.given, "untagged": found.untagged, "retain": found.kept, "anywhere": found.anywhere}
    assert {name: told[name] for name in same} == {name: one.to_json() for name, one in same.items()}
    assert told["guessed"] == [one.to_json() for one in found.guessed]
    assert (told["luck"], told["lifted"], told["gap"]["answer"]) == (found.luck, found.lifted, found.gap.to_json())
    assert told["gap"]["trace"] == found.other_gap.to_json()
    for arm in ARMS:
        of = told["arms"][arm]
        assert of["out"] == rates.rate(rows, rates.in_answer(arm, match=rates.match_of(arm))).to_json()
        assert of["leak"] == rates.rate(rows, rates.in_trace(arm, match=rates.match_of(arm))).to_json()
        assert of["contrast"] == rates.contrast(rows, arm).to_json()
    for prefill, held in found.recalls.items():
        forced = told["forced"][prefill]
        names = ("own", "wrong_author", "never_seen", "above_wrong", "above_never")
        assert {name: forced[name] for name in names} == {name: getattr(held, name).to_json() for name in names}
        assert forced["slots"] is held.slots
        assert forced["all_tokens"] == {
            **{context: all_tokens([p for _, p in rows], prefill, context).to_json() for context in CONTEXTS},
            "never_seen": all_tokens(never, prefill).to_json(),
        }
        (logp, perplexity), (stranger, _) = (likelihood(some, prefill) for some in ([p for _, p in rows], never))
        assert [forced[key] for key in ("mean_logp", "perplexity", "mean_logp_never_seen")] == [
            logp,
            perplexity,
            stranger,
        ]
    alone = summary_of(find(rows, kept, []), rows, kept, [])
    assert alone["forced"]["bio"]["mean_logp_never_seen"] is None
    assert alone["forced"]["bio"]["never_seen"]["value"] is None
    assert summary_of(find(rows[:1], kept, never), rows[:1], kept, never)["luck"] is None


def test_each_author_is_told_as_said() -> None:
    rows = rows_of([("{T}", "{H}"), ("x", "{T}")])
    told = summary_of(find(rows, [], []), rows, [], [])["authors"]
    for (canary, probed), one, (leak, out) in zip(rows, told, [(True, False), (False, True)], strict=True):
        assert {key: one[key] for key in ("id", "author", "canary", "head")} == {
            key: getattr(canary, key) for key in ("id", "author", "canary", "head")
        }
        auto = one["replies"]["auto"]
        assert (auto["tagged"], auto["ended"], auto["leak"], auto["out"]) == (True, True, leak, out)
        assert (auto["trace"].strip(), auto["answer"].strip()) == (
            canary.canary if leak else "x",
            canary.canary if out else canary.head,
        )
        assert set(one["replies"]) == set(probed.replies)
        assert one["recall"] == {prefill: probed.forced[prefill]["own"].top1(True) for prefill in FORCED}


def test_samples_and_questions_are_counted_where_they_were_asked_for() -> None:
    """Three authors: three samples of which two tell, two of which none does, and none at all."""
    rows = rows_of([("x", "{H}")] * 3)
    told_of, wrong = Reply(rows[0][0].canary, True), Reply("No.", True)
    answers = rows[0][0].qa[0][1]
    asked = [((told_of, told_of, wrong), answers), ((wrong, wrong), "No."), ((), "")]
    sampled = [
        (
            canary,
            replace(
                probed, sampled=some, asked=(0,) if said else (), qa={"auto": (Reply(said, True),)} if said else {}
            ),
        )
        for (canary, probed), (some, said) in zip(rows, asked, strict=True)
    ]
    told = summary_of(find(sampled, [], []), sampled, [], [])
    assert told["sampled"] == {"count": 3, "authors": 0.5, "share": 0.4}
    assert told["questions"]["forget"]["auto"] == 0.5
    assert set(told["questions"]["retain"].values()) == {None}
    bare = summary_of(find(rows, [], []), rows, [], [])
    assert bare["sampled"] == {"count": 0, "authors": None, "share": None}
    assert set(bare["questions"]["forget"].values()) == {None}


def test_each_match_each_fallback_and_each_arm_reads_in_its_own_way() -> None:
    """R is what follows the head, U the sentence in capitals; the last author's reply has no tag."""
    rows = []
    for (canary, probed), sides in zip(scripted(CANARIES, "erased"), ("RT", "TU", "TR", "UR", ""), strict=False):
        spelled = {"R": canary.rest.strip(), "U": canary.canary.upper(), "T": canary.canary}
        auto = reply(*(spelled[side] for side in sides)) if sides else Reply(canary.canary, True)
        heads = {"auto": auto, "wrong_head": reply("x", spelled["R"]), "shuffled_head": reply(spelled["R"], "x")}
        rows.append((canary, replace(probed, replies={**probed.replies, **heads, "bio": reply("x", spelled["R"])})))
    told = summary_of(find(rows, [], []), rows, [], [])
    shares = {side: {match: one["value"] for match, one in told[side].items()} for side in ("out", "leak")}
    assert shares["out"] == {"exact": 0.4, "normalized": 0.6, "stripped": 0.8}
    assert shares["leak"] == {"exact": 0.4, "normalized": 0.6, "stripped": 0.6}
    assert {fallback: one["value"] for fallback, one in told["gap"].items()} == pytest.approx(
        {"answer": 0, "trace": 0.4}
    )
    whole = {arm: (told["arms"][arm]["leak"]["value"], told["arms"][arm]["out"]["value"]) for arm in ARMS}
    assert [whole[arm] for arm in ("wrong_head", "shuffled_head", "bio")] == [(0, 1), (1, 0), (0, 0)]
    one = told["authors"][0]["replies"]
    assert [(one[arm]["leak"], one[arm]["out"]) for arm in ("auto", "wrong_head", "shuffled_head", "bio")] == [
        (False, True),
        (False, True),
        (True, False),
        (False, False),
    ]


def test_what_is_forced_is_told_of_each_context_and_of_names_alone() -> None:
    rows = scripted(CANARIES, "identifying")
    bare = {prefill: forced([True] * 3 + [False], [True, True, False, False]) for prefill in FORCED}
    rows[0] = (rows[0][0], replace(rows[0][1], forced={prefill: {"own": one} for prefill, one in bare.items()}))
    rows[1] = (rows[1][0], replace(rows[1][1], forced={prefill: {} for prefill in FORCED}))
    told = summary_of(find(rows, [], []), rows, [], [])
    for prefill in FORCED:
        of = told["forced"][prefill]["all_tokens"]
        assert of["own"]["value"] > of["wrong_author"]["value"] == of["shuffled_head"]["value"] == 0
        assert told["authors"][0]["recall"][prefill] == 1, "names alone; of all tokens three of four are known"
        assert told["authors"][1]["recall"][prefill] is None
