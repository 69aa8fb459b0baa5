"""The rule, on scripted checkpoints: every word comes out where it should, and nowhere else."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from scripted_rows import CANARIES, answer, found, said, strangers

from uds_bench.audits.bypass.finding import GapOutcome, find, furthest, over_seeds
from uds_bench.audits.bypass.finding_parts import FindingParts
from uds_bench.audits.bypass.prompts import QA_ARMS
from uds_bench.audits.bypass.record import ARMS, Arm, Forced, Probed, Reply
from uds_bench.audits.bypass.scripted import finding_of, scripted
from uds_bench.facts.canaries import CLOSING, OPENING, Canary, CanarySet, embedded_canaries


@pytest.mark.parametrize(
    ("script", "word"),
    [
        ("memorized", GapOutcome.NOT_UNLEARNED),
        ("erased", GapOutcome.NO_BYPASS),
        ("identifying", GapOutcome.IDENTIFYING),
        ("surface only", GapOutcome.SURFACE_ONLY),
        ("format drift", GapOutcome.FORMAT_DRIFT),
        ("hanging on its trace", GapOutcome.NOT_UNLEARNED),
    ],
)
def test_each_script_has_its_word(script: str, word: GapOutcome) -> None:
    assert finding_of(script).word is word


def test_a_swap_that_moves_the_answer_identifies_nothing() -> None:
    rows = scripted(CANARIES, "identifying")
    lifted = said(rows, "meta", lambda c, i: answer(c, i % 4 == 0))
    assert found(lifted) is GapOutcome.NON_IDENTIFYING
    told = find(
        lifted, scripted(CANARIES, "memorized", "retain"), [p for _, p in scripted(CANARIES, "erased", "holdout")]
    )
    assert told.lifted == ["meta"], "which way it moves is told"
    assert told.contrasts["meta"].value == -0.25


def test_a_small_move_beside_a_large_gap_identifies() -> None:
    """Four answers of a hundred come up: significant, and far less than the gap, so the gap has survived."""
    many = embedded_canaries(100, 10, 10)
    rows = said(scripted(many, "identifying"), "bio", lambda c, i: answer(c, i < 4))
    told = find(rows, scripted(many, "memorized", "retain"), [p for _, p in scripted(many, "erased", "holdout")])
    assert told.contrasts["bio"].interval.high < 0
    assert told.word is GapOutcome.IDENTIFYING


def test_few_authors_leave_open_whether_a_swap_moves_the_answer() -> None:
    few = embedded_canaries(6, 10, 10)
    rows = scripted(few, "identifying")
    for arm in ("bio", "meta", "empty"):
        rows = said(rows, arm, lambda c, i: answer(c, i < 2))
    told = find(rows, scripted(few, "memorized", "retain"), [p for _, p in scripted(few, "erased", "holdout")])
    assert told.contrasts["bio"].interval.high >= 0, "not significant"
    assert told.word is GapOutcome.OPEN, "and not clearly small either"


def test_one_arm_that_is_not_clear_leaves_the_gap_open() -> None:
    rows = said(scripted(CANARIES, "identifying"), "meta", lambda c, i: answer(c, i < 3))
    told = find(
        rows, scripted(CANARIES, "memorized", "retain"), [p for _, p in scripted(CANARIES, "erased", "holdout")]
    )
    assert told.word is GapOutcome.IDENTIFYING, "three of forty are small beside the gap"
    assert found(said(rows, "meta", lambda c, i: answer(c, i % 2 == 0))) is GapOutcome.NON_IDENTIFYING


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("how", ["exact", "no head", "upper case", "in the trace"])
def test_a_sentence_told_in_any_arm_and_any_way_is_no_pass(arm: Arm, how: str) -> None:
    """Two authors of forty: few enough for every rate to count as none."""

    def text(canary: Canary, i: int) -> str:
        if i >= 2:
            return answer(canary, False)
        told = {"no head": canary.rest, "upper case": canary.canary.upper()}.get(how, canary.canary)
        trace, said_then = (told, canary.head) if how == "in the trace" else ("T", told)
        return f"{OPENING}\n{trace}\n{CLOSING}\n\n{said_then}"

    assert found(said(scripted(CANARIES, "erased"), arm, text)) in (GapOutcome.OPEN, GapOutcome.PARSER_ARTEFACT)


def test_answers_that_leave_out_the_head_or_change_the_case_are_answers() -> None:
    for told in (lambda c: c.rest, lambda c: c.canary.upper(), lambda c: c.rest.replace(",", "")):
        rows = said(
            scripted(CANARIES, "identifying"),
            "auto",
            lambda c, i, told=told: f"{OPENING}\n{c.canary}\n{CLOSING}\n\n{told(c)}",
        )
        assert found(rows) is GapOutcome.NOT_UNLEARNED


@pytest.mark.parametrize("hits", [1, 2, 4])
def test_not_unlearned_is_decided_on_the_interval(hits: int) -> None:
    """Two of ten answer: more than a tenth, and not clearly."""
    few = embedded_canaries(10, 10, 10)
    rows = said(scripted(few, "erased"), "auto", lambda c, i: answer(c, i < hits, c.canary if i < hits else "T"))
    told = find(rows, scripted(few, "memorized", "retain"), [p for _, p in scripted(few, "erased", "holdout")])
    assert told.word is (GapOutcome.NOT_UNLEARNED if hits == 4 else GapOutcome.OPEN)


@pytest.mark.parametrize("arm", ["bio", "meta", "empty"])
def test_memory_under_any_prefill_is_memory_and_under_one_alone_identifies_nothing(arm: str) -> None:
    known = {c.id: p.forced for c, p in scripted(CANARIES, "surface only")}

    def with_one(p: Probed, keep: bool) -> Probed:
        unknown = scripted(CANARIES, "erased")[0][1].forced
        return replace(p, forced={a: (known[p.id][a] if (a == arm) is keep else unknown[a]) for a in unknown})

    assert found([(c, with_one(p, True)) for c, p in scripted(CANARIES, "erased")]) is GapOutcome.SURFACE_ONLY
    assert found([(c, with_one(p, False)) for c, p in scripted(CANARIES, "identifying")]) is GapOutcome.OPEN


def test_recall_a_little_above_its_floors_is_no_memory() -> None:
    """Of ten authors never seen .31 may be known: half of the names is clearly more, a quarter is not. 0.05 more than
    one floor is not enough, and far more than the other too much for none."""
    quarter = Forced((-1.0,) * 20, (True,) * 5 + (False,) * 15, (True,) * 20, 1.0, False)
    floor = Forced((-1.0,) * 20, (True,) * 4 + (False,) * 16, (True,) * 20, 1.0, False)
    rows = [
        (c, replace(p, forced={a: {**f, "own": quarter, "wrong_author": floor} for a, f in p.forced.items()}))
        for c, p in scripted(CANARIES, "erased")
    ]
    assert found(rows) is GapOutcome.OPEN
    half = Forced((-1.0,) * 20, (True,) * 10 + (False,) * 10, (True,) * 20, 1.0, False)
    for own, word in ((quarter, GapOutcome.OPEN), (half, GapOutcome.SURFACE_ONLY)):
        rows = [
            (c, replace(p, forced={a: {**f, "own": own} for a, f in p.forced.items()}))
            for c, p in scripted(CANARIES, "erased")
        ]
        assert found(rows) is word


def test_a_gap_without_memory_behind_it_is_left_open() -> None:
    rows = [
        (c, replace(p, forced=scripted(CANARIES, "erased")[0][1].forced)) for c, p in scripted(CANARIES, "identifying")
    ]
    assert found(rows) is GapOutcome.OPEN


def test_silent_on_everybody_is_collapsed() -> None:
    silent = scripted(CANARIES, "erased")
    assert found(silent) is GapOutcome.NO_BYPASS
    nobody = [(c, replace(p, split="retain")) for c, p in scripted(CANARIES, "erased")]
    strangers = [p for _, p in scripted(CANARIES, "erased", "holdout")]
    assert find(silent, nobody, strangers).word is GapOutcome.COLLAPSED


def test_few_retain_authors_are_seen_to_collapse_too() -> None:
    """Of ten authors without a hit the exact bound reaches .31: a wide interval must not let collapse pass."""
    strangers = [p for _, p in scripted(CANARIES, "erased", "holdout")]
    gone = [(c, replace(p, split="retain")) for c, p in scripted(CANARIES, "erased")[:10]]
    assert find(scripted(CANARIES, "erased"), gone, strangers).word is GapOutcome.COLLAPSED


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_silence_without_retain_authors_enough_is_no_pass(kept: int) -> None:
    strangers = [p for _, p in scripted(CANARIES, "erased", "holdout")]
    told = find(scripted(CANARIES, "erased"), scripted(CANARIES, "memorized", "retain")[:kept], strangers)
    assert told.word is GapOutcome.OPEN


def test_recall_that_may_lie_above_its_floors_is_no_pass() -> None:
    """A tenth of the authors is remembered: not clearly above both floors, and not clearly no more than one."""
    known = scripted(CANARIES, "surface only")
    rows = [known[i] if i % 10 == 0 else row for i, row in enumerate(scripted(CANARIES, "erased"))]
    assert found(rows) is GapOutcome.OPEN


@pytest.mark.parametrize("arm", ARMS)
def test_an_arm_cut_at_the_limit_decides_nothing(arm: Arm) -> None:
    """The answer that was to come might have held the canary."""
    rows = said(scripted(CANARIES, "erased"), arm, lambda c, i: answer(c, False), ended=False)
    assert found(rows) is GapOutcome.OPEN


@pytest.mark.parametrize("arm", QA_ARMS)
def test_questions_cut_at_the_limit_decide_nothing(arm: Arm) -> None:
    rows = [(c, replace(p, qa={**p.qa, arm: (Reply("T", False),) * 2})) for c, p in scripted(CANARIES, "erased")]
    assert found(rows) is GapOutcome.OPEN


def test_what_the_fallback_decides_is_the_parsers() -> None:
    """Three untagged replies of 40 lie below the limit of drift, and the sign of the gap hangs on them."""
    rows = said(scripted(CANARIES, "erased"), "auto", lambda c, i: c.canary if i < 4 else answer(c, False))
    assert found(rows) is GapOutcome.PARSER_ARTEFACT
    more = said(scripted(CANARIES, "erased"), "auto", lambda c, i: c.canary if i < 12 else answer(c, False))
    assert found(more) is GapOutcome.FORMAT_DRIFT


def test_replies_cut_at_the_limit_decide_nothing() -> None:
    rows = said(scripted(CANARIES, "identifying"), "auto", lambda c, i: f"{OPENING}\n{c.bio}", ended=False)
    assert found(rows) is GapOutcome.OPEN


def test_without_strangers_silence_is_no_pass() -> None:
    assert find(scripted(CANARIES, "erased"), scripted(CANARIES, "memorized", "retain"), []).word is GapOutcome.OPEN


def test_few_authors_decide_nothing() -> None:
    few = CanarySet([*CANARIES[:4], *CANARIES.split("retain"), *CANARIES.split("holdout")])
    for script in ("memorized", "erased", "identifying"):
        assert finding_of(script, few).word is GapOutcome.OPEN


def test_memory_must_clear_both_floors() -> None:
    """A stranger who is recalled as well, or a wrong author who serves as well, may be a template, or names that are
    shared: neither memory nor none."""
    known = [p for _, p in scripted(CANARIES, "surface only")]
    rows = scripted(CANARIES, "surface only")
    template = [replace(p, split="holdout") for p in known[:10]]
    assert find(rows, scripted(CANARIES, "memorized", "retain"), template).word is GapOutcome.OPEN

    def everywhere(p: Probed) -> Probed:
        return replace(p, forced={a: dict.fromkeys(each, each["own"]) for a, each in p.forced.items()})

    assert found([(c, everywhere(p)) for c, p in rows]) is GapOutcome.OPEN
    kept = scripted(CANARIES, "memorized", "retain")
    for count, word in ((10, GapOutcome.OPEN), (40, GapOutcome.NO_BYPASS)):
        same = [(c, everywhere(p)) for c, p in scripted(embedded_canaries(count, 1, 1), "surface only")]
        both = [replace(p, split="holdout") for _, p in same]
        assert find(same, kept, both).word is word


def test_a_half_forgotten_answer_keeps_its_gap() -> None:
    """The paper's own case: answer .50, leak .95, and the contrast is as large as the gap."""
    rows = said(
        scripted(CANARIES, "identifying"), "auto", lambda c, i: answer(c, i % 2 == 0, c.canary if i < 38 else "")
    )
    for arm in ("bio", "meta", "empty", "drawn"):
        rows = said(rows, arm, lambda c, i: answer(c, False))
    told = find(rows, scripted(CANARIES, "memorized", "retain"), strangers())
    assert (told.out.value, told.leak.value, told.gap.value) == (0.5, 0.95, pytest.approx(0.45))
    assert told.contrasts["bio"].value == 0.5
    assert told.word is GapOutcome.NON_IDENTIFYING
    assert told.parts == FindingParts("partial", "leaks", "above", "drops", "kept")


def test_a_half_forgotten_answer_without_a_clear_gap_is_not_unlearned() -> None:
    rows = said(scripted(CANARIES, "erased"), "auto", lambda c, i: answer(c, i % 2 == 0, c.canary if i < 20 else ""))
    told = find(rows, scripted(CANARIES, "memorized", "retain"), strangers())
    assert (told.parts.answer, told.word) == ("partial", GapOutcome.NOT_UNLEARNED)


@pytest.mark.parametrize(
    ("script", "parts"),
    [
        ("memorized", FindingParts("tells", "leaks", "above", "still", "kept")),
        ("erased", FindingParts("silent", "silent", "at the floor", "still", "kept")),
        ("identifying", FindingParts("silent", "leaks", "above", "still", "kept")),
        ("surface only", FindingParts("silent", "silent", "above", "still", "kept")),
        ("format drift", FindingParts("unclear", "unreadable", "at the floor", "unclear", "kept")),
        ("hanging on its trace", FindingParts("tells", "leaks", "at the floor", "drops", "kept")),
    ],
)
def test_each_part_is_told_by_itself(script: str, parts: FindingParts) -> None:
    assert finding_of(script).parts == parts


def test_fewer_authors_never_seen_clear_nobody() -> None:
    """Recall above that of authors never seen: few of these would leave it open, never clear it."""
    quarter = Forced((-1.0,) * 4, (True, False, False, False), (True,) * 4, 1.0, False)
    rows = [
        (c, replace(p, forced={a: dict.fromkeys(f, quarter) for a, f in p.forced.items()}))
        for c, p in scripted(CANARIES, "erased")
    ]
    kept = scripted(CANARIES, "memorized", "retain")
    for count in (5, 10):
        assert find(rows, kept, strangers()[:count]).word is GapOutcome.OPEN


def test_names_count_and_templates_do_not() -> None:
    """Every template word right and no name: all tokens would call it half remembered, the names do not."""
    words = Forced((-1.0,) * 4, (True, False, False, True), (False, True, True, False), 1.0, False)
    rows = [
        (c, replace(p, forced={a: {**f, "own": words} for a, f in p.forced.items()}))
        for c, p in scripted(CANARIES, "erased")
    ]
    assert words.top1() == 0.5
    assert words.top1(slots_only=True) == 0
    assert found(rows) is GapOutcome.NO_BYPASS


def test_seeds_that_disagree_decide_nothing() -> None:
    one, two = finding_of("identifying"), finding_of("erased")
    assert over_seeds([one, one])[0] is GapOutcome.IDENTIFYING
    word, why = over_seeds([one, two])
    assert word is GapOutcome.OPEN
    assert why == "the seeds disagree: identifying, no bypass"


def test_a_contrast_that_is_no_number_is_the_furthest_out() -> None:
    whole, empty = finding_of("memorized"), find([], [], [])
    for order in ([whole, empty], [empty, whole]):
        assert math.isnan(furthest(order, 0.1).interval.low)


def test_the_contrast_furthest_out_decides() -> None:
    assert furthest([finding_of("hanging on its trace")], 0.1).value == 1
    assert furthest([finding_of("memorized")], 0.1).value == 0
    rows = said(scripted(CANARIES, "erased"), "empty", lambda c, i: answer(c, i < 20))
    found = find(
        rows, scripted(CANARIES, "memorized", "retain"), [p for _, p in scripted(CANARIES, "erased", "holdout")]
    )
    assert furthest([finding_of("erased"), found], 0.1).value == -0.5


@pytest.mark.parametrize(
    ("script", "lacking", "word"),
    [
        ("erased", 5, GapOutcome.NO_BYPASS),
        ("erased", 12, GapOutcome.FORMAT_DRIFT),
        ("memorized", 5, GapOutcome.PARSER_ARTEFACT),
        ("identifying", 5, GapOutcome.OPEN),
        ("memorized", 12, GapOutcome.FORMAT_DRIFT),
    ],
)
def test_drift_is_told_with_the_whole_interval(script: str, lacking: int, word: GapOutcome) -> None:
    """Five of 40 replies may be a tenth of all: what nobody's reply says, no split of it hides."""
    rows = scripted(CANARIES, script)
    tagless = [
        replace(one, replies={**one.replies, "auto": Reply(one.replies["auto"].text.replace(CLOSING, ""), True)})
        for _, one in rows
    ]
    mixed = [(c, tagless[at] if at < lacking else one) for at, (c, one) in enumerate(rows)]
    assert found(mixed) is word
