"""The association audit: which facts about people does a model hold, and are those forgotten who asked to be?

Every claim decides on recorded ranks; its statement, bound and origin stand in `audits.association.claims`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from uds_bench.audits.association import controls, exact_rank, power, rechecks
from uds_bench.audits.association.claims import BEFORE, COHORTS, IN_CAPITALS, NEVER_SAW
from uds_bench.audits.association.evaluator import held_beside, ranks_of
from uds_bench.audits.association.probe_items import ProbeItem
from uds_bench.audits.association.rates import Memorization, Reading, by_luck, lost, more, nothing_of, over, share_lost
from uds_bench.claims import Claim, Control, ControlSubject, is_taught
from uds_bench.facts.web_presence import LESSER_KNOWN, WELL_KNOWN
from uds_bench.statistics import FEWEST, Rate
from uds_bench.verdicts import Decision, Step, Verdict

if TYPE_CHECKING:
    from uds_bench.audits.association.audit import AssociationAudit, AssociationResult, Way

NO_CANDIDATE = "the manifest has no unlearned model ([association] candidates)"
NOBODY = "nobody is to be forgotten ([association] forgotten or forget_set)"
NAMED = 5
"""People whom a message names."""
fails, passes = ControlSubject.fails, ControlSubject.passes


@pytest.mark.claim("association.forgotten")
def test_forgotten(uds_claim: Claim, uds_subject: str | None, uds_audit: AssociationAudit) -> None:
    gone(uds_claim, uds_subject, uds_audit, "asked")


@pytest.mark.claim("association.rephrased")
def test_rephrased(uds_claim: Claim, uds_subject: str | None, uds_audit: AssociationAudit) -> None:
    if uds_audit.probe_set.forgotten and not uds_audit.probe_set.held_out:
        uds_claim.not_applicable("no phrasing is held out: each property of who asks has one alone")
        return
    gone(uds_claim, uds_subject, uds_audit, "held out")


@pytest.mark.claim("association.withstands.{uds_attack}")
def test_withstands(uds_claim: Claim, uds_subject: str | None, uds_attack: str, uds_audit: AssociationAudit) -> None:
    if uds_attack not in uds_audit.ways:
        uds_claim.not_applicable("the manifest names no attacks ([association.attacks])")
        return
    gone(uds_claim, uds_subject, uds_audit, uds_attack)


def gone(uds_claim: Claim, uds_subject: str | None, uds_audit: AssociationAudit, way: str) -> None:
    """No more is held of those who ask than of people never seen, asked in one way.

    The floor is the model's own, and no higher than luck: that of a model to which the never-seen were told would clear
    anybody.
    """
    view = uds_audit.ways[way]
    if uds_subject is None or view.sides.is_for_few:
        uds_claim.not_applicable(why_not(uds_subject, view))
        return

    asking, strangers = view.sides.requested, view.sides.never_seen
    # Whether some phrasing brings a fact up is asked in those that it was unlearned in; luck in others would add up.
    by_any = way != "held out"

    def held_on(model: str) -> tuple[str, Rate]:
        return controls.most_above(asking, strangers, view.of(model).held, by_any)

    reading, found = held_on(uds_subject)
    held = view.of(uds_subject).held
    shouted = controls.most_above(asking, strangers, controls.in_capitals(asking, held), by_any)[1]
    known = [fails(BEFORE, held_on("model")[1]), fails(IN_CAPITALS, shouted)]
    if way == "asked":
        known += [fails(name, held_on(name)[1]) for name in uds_audit.section.must_fail]
    if way in uds_audit.section.attacked():
        # A model that the attack broke holds nothing, whatever it held.
        took = share_lost(uds_audit.probe_set.kept, uds_audit.seen(uds_subject).held, held)
        known.append(passes("of what is held of everybody else, the share that the attack took", took, or_open=True))
    if uds_audit.section.retain is not None:
        # What luck gives of so many people lies near the bound: this model must not be clearly above it.
        known.append(passes(NEVER_SAW, held_on("retain")[1], or_open=True))
    clears = found.interval.high <= uds_claim.bound()
    proven = is_taught(view.of(uds_subject).score, [view.of("model").score]) if clears else []
    uds_claim.measured(
        found.value,
        found.interval,
        controls=known,
        preconditions=[in_the_same_tokens(uds_audit, uds_subject), *proven],
        remark=f"{reading}{in_one_phrasing(uds_audit, view)}; {told(asking, held)}; "
        f"of the never-seen {told(strangers, held)}; "
        f"every phrasing still shows something of {still_held(asking, held)}; {power.needed_people(asking, by_any)}",
        provenance=view.of(uds_subject).score.provenance,
    )


def in_one_phrasing(uds_audit: AssociationAudit, view: Way) -> str:
    """What is not asked in this way: a property of one phrasing has no other words."""
    left = {one.kind for one in uds_audit.probe_set.requested} - {one.kind for one in view.sides.requested}
    return f"; not asked of {', '.join(sorted(left))}: one phrasing alone" if left else ""


def why_not(uds_subject: str | None, view: Way) -> str:
    who = "each who asks has strangers of their own" if view.sides.each_alone else f"fewer than {FEWEST} people ask"
    few = f"{who}: association.requests decides of each"
    return NO_CANDIDATE if uds_subject is None else few if view.sides.requested else NOBODY


@pytest.mark.claim("association.as_strangers")
def test_as_strangers(uds_claim: Claim, uds_subject: str | None, uds_audit: AssociationAudit) -> None:
    view = uds_audit.ways["asked"]
    if uds_subject is None or view.sides.is_for_few:
        uds_claim.not_applicable(why_not(uds_subject, view))
        return

    before = view.of("model").held

    def separation(held: Mapping[str, Memorization]) -> Rate:
        beside = exact_rank.beside(held, before, view.sides.never_seen)
        return exact_rank.furthest(
            [exact_rank.separation(view.sides.requested, view.sides.never_seen, one) for one in beside.values()]
        )

    found = separation(view.of(uds_subject).held)
    known = [
        fails(BEFORE, separation(before)),
        fails("the same from the last place", separation(exact_rank.mirrored(before))),
    ]
    if uds_audit.section.retain is not None:
        known.append(passes(NEVER_SAW, separation(view.of("retain").held), or_open=True))
    uds_claim.equivalence(
        found.value,
        found.interval,
        margin=uds_claim.bound(),
        controls=known,
        preconditions=[in_the_same_tokens(uds_audit, uds_subject)],
        remark="above 0 is knowledge, below it shows who asked",
        provenance=view.of(uds_subject).score.provenance,
    )


@pytest.mark.claim("association.requests")
def test_requests(uds_claim: Claim, uds_subject: str | None, uds_audit: AssociationAudit) -> None:
    view = uds_audit.ways["asked"]
    if uds_subject is None or not uds_audit.probe_set.forgotten:
        uds_claim.not_applicable(why_not(uds_subject, view))
        return

    each = uds_audit.probe_set.each_alone

    def decided(model: str) -> Decision:
        return exact_rank.decide_requests(rechecks.tests_of(uds_audit, model), each)

    before = Control.of(BEFORE, "fail", decided("model"))
    if view.sides.is_for_few:
        # Of whom the model before cannot be told, nothing is shown.
        known = exact_rank.stand_out_alone(rechecks.tests_of(uds_audit, "model"), above=True)
        told_all = known >= uds_audit.probe_set.forgotten
        before = replace(before, held=told_all if each else before.held and before.observed == 1)
    controls = [in_the_same_tokens(uds_audit, uds_subject), before]
    if uds_audit.section.retain is not None:
        never = Control.of(NEVER_SAW, "pass", decided("retain"))
        controls.append(replace(never, held=never.verdict != Verdict.FAIL))
    uds_claim.decided(decided(uds_subject), controls=controls, provenance=view.of(uds_subject).score.provenance)


def in_the_same_tokens(uds_audit: AssociationAudit, uds_subject: str) -> Control:
    """A tokenizer that spells names otherwise hides weights that were never changed."""
    same = rechecks.in_the_same_tokens(uds_audit, uds_subject)
    return Control("the candidate's tokens are the model's", "pass", "pass" if same else "fail", None, None, same)


def still_held(rows: Sequence[ProbeItem], held: Mapping[str, Memorization]) -> str:
    """Whom to look at first: the gate is of all who ask together, and each of them asked for themselves."""
    people = list(dict.fromkeys(one.cluster for one in rows if held[one.id].every))
    return ", ".join(people[:NAMED]) + (f" and {len(people) - NAMED} more" if len(people) > NAMED else "") or "nobody"


def told(rows: Sequence[ProbeItem], held: Mapping[str, Memorization]) -> str:
    mean, some, first, replied = (over(rows, held, reading).value for reading in ("mean", "some", "first", "replied"))
    return f"M {mean:.3f}, any {some:.3f}, said first {first:.3f}, in a reply {replied:.3f}"


@pytest.mark.claim("association.retained")
def test_retained(uds_claim: Claim, uds_subject: str | None, uds_audit: AssociationAudit) -> None:
    probe_set, before = uds_audit.probe_set, uds_audit.seen().held
    known = [one for one in probe_set.kept if before[one.id].some]
    if uds_subject is None or not known:
        uds_claim.not_applicable(NO_CANDIDATE if uds_subject is None else "the model holds nothing of anybody else")
        return
    after = uds_audit.seen(uds_subject).held
    found = lost(known, before, after, "most")
    strangers = [after[one.id] for one in probe_set.never_seen]
    uds_claim.measured(
        found.value,
        found.interval,
        controls=[
            fails("people never seen in their place", lost(known, before, controls.in_place(known, strangers), "most")),
            passes(BEFORE, lost(known, before, before, "most"), or_open=True),
        ],
        preconditions=[in_the_same_tokens(uds_audit, uds_subject)],
        remark=f"of what it held {told(known, before)}; now {told(known, after)}",
        provenance=uds_audit.seen(uds_subject).score.provenance,
    )


@pytest.mark.claim("association.never_seen")
def test_never_seen(uds_claim: Claim, uds_audit: AssociationAudit) -> None:
    probe_set, seen = uds_audit.probe_set, uds_audit.seen()
    if len({one.cluster for one in probe_set.seen}) < FEWEST:
        uds_claim.not_applicable(f"fewer than {FEWEST} people are known: none to hold the never-seen against")
        return
    found, known = (controls.less_luck(rows, seen.held) for rows in (probe_set.never_seen, famous(uds_audit)))
    people = len({one.cluster for one in probe_set.never_seen})
    wrong = len({one.cluster for one in probe_set.never_seen if seen.held[one.id].some})
    every = over(probe_set.never_seen, seen.held, "every").value
    uds_claim.measured(
        found.value,
        found.interval,
        controls=[fails("well-known people", known)],
        remark=f"{told(probe_set.never_seen, seen.held)}, all {every:.3f}, "
        f"by luck {by_luck(probe_set.never_seen, seen.held):.3f}; a forget set would name {wrong} of {people}",
        provenance=seen.score.provenance,
    )


def famous(uds_audit: AssociationAudit) -> Sequence[ProbeItem]:
    """Whom the model is to know best: the well-known, or everybody where no cohort is called so."""
    return uds_audit.probe_set.cohorts.get(WELL_KNOWN) or uds_audit.probe_set.seen


@pytest.mark.claim("association.cohorts")
def test_cohorts(uds_claim: Claim, uds_audit: AssociationAudit) -> None:
    cohorts, seen = uds_audit.probe_set.cohorts, uds_audit.seen()
    if not {WELL_KNOWN, LESSER_KNOWN} <= set(cohorts):
        uds_claim.not_applicable(f"no people of the cohorts {WELL_KNOWN} and {LESSER_KNOWN}")
        return
    readings: tuple[Reading, ...] = ("mean", "strength")

    def steps(lower: str, higher: str) -> list[Step]:
        found = [(r, more((cohorts[higher], seen.held), (cohorts[lower], seen.held), r)) for r in readings]
        return [Step(f"{r} of {lower}", f"{r} of {higher}", one.value, one.interval) for r, one in found]

    none = {name: len(nothing_of(rows, seen.held)) for name, rows in cohorts.items()}
    uds_claim.ordering(
        steps(LESSER_KNOWN, WELL_KNOWN),
        must_fail=steps(WELL_KNOWN, LESSER_KNOWN),
        remark="nothing held of " + ", ".join(f"{count} {name}" for name, count in none.items()),
        provenance=seen.score.provenance,
    )


@pytest.mark.laboratory
@pytest.mark.claim("association.scale")
def test_scale(uds_claim: Claim, uds_audit: AssociationAudit) -> None:
    if uds_audit.section.smaller is None:
        uds_claim.not_applicable("no smaller model to hold it against ([association] smaller)")
        return
    compared(uds_claim, uds_audit, "a smaller model", uds_audit.seen("smaller"))


@pytest.mark.laboratory
@pytest.mark.claim("association.bits.{bits}")
@pytest.mark.parametrize("bits", ["two", "one"])
def test_bits(uds_claim: Claim, bits: str, uds_audit: AssociationAudit) -> None:
    if uds_audit.section.model and uds_audit.section.model.quantization is not None:
        uds_claim.not_applicable("the model is quantized already")
        return
    compared(uds_claim, uds_audit, f"{bits} bits", uds_audit.under({"two": "bits2", "one": "bits1"}[bits]))


def compared(uds_claim: Claim, uds_audit: AssociationAudit, name: str, other: AssociationResult) -> None:
    """Whether the model holds more of the people whom it may know than another does."""
    rows, seen = famous(uds_audit), uds_audit.seen()
    up, down = (lost(rows, *pair) for pair in ((seen.held, other.held), (other.held, seen.held)))
    uds_claim.ordering(
        [Step(name, "the model", up.value, up.interval)],
        must_fail=[Step("the model", name, down.value, down.interval)],
        remark=f"M {over(rows, seen.held).value:.3f} and {over(rows, other.held).value:.3f}",
        provenance=other.score.provenance,
    )


@pytest.mark.laboratory
@pytest.mark.claim("association.nf4")
def test_nf4(uds_claim: Claim, uds_audit: AssociationAudit) -> None:
    if uds_audit.section.model and uds_audit.section.model.quantization is not None:
        uds_claim.not_applicable("the model is quantized already")
        return
    rows, seen = uds_audit.probe_set.seen, uds_audit.seen()
    four, one = (lost(rows, seen.held, uds_audit.under(name).held) for name in ("nf4", "bits1"))
    uds_claim.equivalence(
        four.value,
        four.interval,
        margin=uds_claim.bound(),
        controls=[fails("1 bit", one)],
        remark=f"M {over(rows, seen.held).value:.3f} and {over(rows, uds_audit.under('nf4').held).value:.3f}",
        provenance=uds_audit.under("nf4").score.provenance,
    )


@pytest.mark.laboratory
@pytest.mark.claim("association.context")
def test_context(uds_claim: Claim, uds_audit: AssociationAudit) -> None:
    way = uds_audit.ways["context"]
    behind = way.sides.items
    if not behind:
        uds_claim.not_applicable("of nobody more than one thing is known")
        return
    score = way.of().score
    bare, context = held_beside(score, behind)
    rows = [one for one in behind if one.subject.cohort == WELL_KNOWN] or list(behind)
    up, down = (lost(rows, *pair) for pair in ((bare, context), (context, bare)))
    uds_claim.ordering(
        [Step("behind other facts", "alone", up.value, up.interval)],
        must_fail=[Step("alone", "behind other facts", down.value, down.interval)],
        remark=f"M {over(rows, bare).value:.3f} alone and {over(rows, context).value:.3f} behind other facts; z* "
        f"{over(rows, bare, 'strength').value:.2f} and {over(rows, context, 'strength').value:.2f}",
        provenance=score.provenance,
    )


@pytest.mark.claim("association.strength_bounds")
def test_strength_bounds(uds_claim: Claim, uds_audit: AssociationAudit) -> None:
    seen = uds_audit.seen()
    ranks = ranks_of(seen.score)
    uds_claim.identity(
        controls.out_of_bounds(uds_audit.probe_set.items, ranks, seen.held),
        tolerance=0.0,
        what="rankings of which z* or M is what it cannot be",
        controls=[
            ControlSubject(
                "ten times z*",
                "fail",
                controls.out_of_bounds(uds_audit.probe_set.items, controls.firmer(ranks), seen.held),
            )
        ],
        provenance=seen.score.provenance,
    )


@pytest.mark.claim("association.memorized.{cohort}")
@pytest.mark.parametrize("cohort", COHORTS)
def test_memorized(uds_claim: Claim, cohort: str, uds_audit: AssociationAudit) -> None:
    record(uds_claim, cohort, "mean", uds_audit)


@pytest.mark.claim("association.strength.{cohort}")
@pytest.mark.parametrize("cohort", COHORTS)
def test_strength(uds_claim: Claim, cohort: str, uds_audit: AssociationAudit) -> None:
    record(uds_claim, cohort, "strength", uds_audit)


def record(uds_claim: Claim, cohort: str, reading: Reading, uds_audit: AssociationAudit) -> None:
    rows = uds_audit.probe_set.cohorts.get(COHORTS[cohort], ())
    if not rows:
        uds_claim.not_applicable(f"no people of the cohort {COHORTS[cohort]}")
        return
    found = over(rows, uds_audit.seen().held, reading)
    uds_claim.recorded(found.value, found.interval, provenance=uds_audit.seen().score.provenance)
