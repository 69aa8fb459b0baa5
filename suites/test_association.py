"""The association audit: which facts about people does a model hold, and are those forgotten who asked to be?

Every claim decides on recorded ranks; its statement, bound and origin stand in `harness.bounds_association`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from uds_bench.audits.association import controls
from uds_bench.audits.association.asked import Asked
from uds_bench.audits.association.examiner import held_beside, ranks_of
from uds_bench.audits.association.rates import Held, Reading, by_luck, lost, more, nothing_of, over
from uds_bench.facts.web_presence import LESSER_KNOWN, WELL_KNOWN
from uds_bench.harness import Claim, Control, ControlSubject, Manifest
from uds_bench.harness.association import AssociationAudit, Seen
from uds_bench.harness.bounds_association import COHORTS
from uds_bench.statistics import Rate
from uds_bench.verdicts import Step

NO_SECTION = "the manifest has no model whose memory of people is audited ([association] model)"
NO_CANDIDATE = "the manifest has no unlearned model ([association] candidates)"
NOBODY = "nobody is to be forgotten ([association] forgotten or forget_set)"
NAMED = 5
"""People whom a message names."""
fails, passes = ControlSubject.fails, ControlSubject.passes


@pytest.fixture(autouse=True)
def _applies(claim: Claim, manifest: Manifest) -> None:
    """A manifest without such a model has nothing to be judged here."""
    if manifest.association is None or manifest.association.model is None:
        claim.not_applicable(NO_SECTION)
        pytest.skip(NO_SECTION)


@pytest.mark.claim("association.forgotten")
def test_forgotten(claim: Claim, eraser: str | None, association: AssociationAudit) -> None:
    requested = association.inquiry.requested
    if eraser is None or not requested:
        claim.not_applicable(NO_CANDIDATE if eraser is None else NOBODY)
        return
    reading, found = held_on(association, eraser)
    known = [fails("the model before unlearning", held_on(association, "model")[1])]
    known += [fails(name, held_on(association, name)[1]) for name in association.section.must_fail]
    if association.section.retain is not None:
        # What luck gives of so many people lies near the bound: this model must not be clearly above it.
        known.append(passes("a model that never saw them", held_on(association, "retain")[1], or_open=True))
    held = association.seen(eraser).held
    claim.measured(
        found.value,
        found.interval,
        controls=known,
        preconditions=[in_the_same_tokens(association, eraser)],
        remark=f"{reading}; {told(requested, held)}; of the never-seen {told(association.inquiry.unseen, held)}; "
        f"every phrasing still shows something of {still_held(requested, held)}",
        provenance=association.seen(eraser).score.provenance,
    )


def held_on(association: AssociationAudit, model: str) -> tuple[str, Rate]:
    """How much more a model holds of those who are to be forgotten than of the never-seen: the worst reading.

    The floor is the model's own, and no higher than luck: that of a model to which the never-seen were told would clear
    anybody.
    """
    inquiry = association.inquiry
    return controls.most_above(inquiry.requested, inquiry.unseen, association.seen(model).held)


def in_the_same_tokens(association: AssociationAudit, eraser: str) -> Control:
    """A tokenizer that spells names otherwise hides weights that were never changed."""
    same = association.seen(eraser).score.notes["rendered"] == association.seen().score.notes["rendered"]
    return Control("the candidate's tokens are the model's", "pass", "pass" if same else "fail", None, None, same)


def still_held(rows: Sequence[Asked], held: Mapping[str, Held]) -> str:
    """Whom to look at first: the gate is of all who ask together, and each of them asked for themselves."""
    people = list(dict.fromkeys(one.cluster for one in rows if held[one.id].every))
    return ", ".join(people[:NAMED]) + (f" and {len(people) - NAMED} more" if len(people) > NAMED else "") or "nobody"


def told(rows: Sequence[Asked], held: Mapping[str, Held]) -> str:
    mean, some, first = (over(rows, held, reading).value for reading in ("mean", "some", "first"))
    return f"M {mean:.3f}, any {some:.3f}, said first {first:.3f}"


@pytest.mark.claim("association.retained")
def test_retained(claim: Claim, eraser: str | None, association: AssociationAudit) -> None:
    inquiry, before = association.inquiry, association.seen().held
    known = [one for one in inquiry.kept if before[one.id].some]
    if eraser is None or not known:
        claim.not_applicable(NO_CANDIDATE if eraser is None else "the model holds nothing of anybody else")
        return
    after = association.seen(eraser).held
    found = lost(known, before, after, "most")
    claim.measured(
        found.value,
        found.interval,
        controls=[
            fails("people never seen in their place", more((known, before), (inquiry.unseen, after), "most")),
            passes("the model before unlearning", lost(known, before, before, "most"), or_open=True),
        ],
        preconditions=[in_the_same_tokens(association, eraser)],
        remark=f"of what it held {told(known, before)}; now {told(known, after)}",
        provenance=association.seen(eraser).score.provenance,
    )


@pytest.mark.claim("association.never_seen")
def test_never_seen(claim: Claim, association: AssociationAudit) -> None:
    inquiry, seen = association.inquiry, association.seen()
    found, known = (controls.less_luck(rows, seen.held) for rows in (inquiry.unseen, famous(association)))
    people = len({one.cluster for one in inquiry.unseen})
    wrong = len({one.cluster for one in inquiry.unseen if seen.held[one.id].some})
    every = over(inquiry.unseen, seen.held, "every").value
    claim.measured(
        found.value,
        found.interval,
        controls=[fails("well-known people", known)],
        remark=f"{told(inquiry.unseen, seen.held)}, all {every:.3f}, by luck {by_luck(inquiry.unseen, seen.held):.3f}; "
        f"a forget set would name {wrong} of {people}",
        provenance=seen.score.provenance,
    )


def famous(association: AssociationAudit) -> Sequence[Asked]:
    """Whom the model is to know best: the well-known, or everybody where no cohort is called so."""
    return association.inquiry.cohorts.get(WELL_KNOWN) or association.inquiry.seen


@pytest.mark.claim("association.cohorts")
def test_cohorts(claim: Claim, association: AssociationAudit) -> None:
    cohorts, seen = association.inquiry.cohorts, association.seen()
    if not {WELL_KNOWN, LESSER_KNOWN} <= set(cohorts):
        claim.not_applicable(f"no people of the cohorts {WELL_KNOWN} and {LESSER_KNOWN}")
        return
    readings: tuple[Reading, ...] = ("mean", "strength")

    def steps(lower: str, higher: str) -> list[Step]:
        found = [(r, more((cohorts[higher], seen.held), (cohorts[lower], seen.held), r)) for r in readings]
        return [Step(f"{r} of {lower}", f"{r} of {higher}", one.value, one.interval) for r, one in found]

    none = {name: len(nothing_of(rows, seen.held)) for name, rows in cohorts.items()}
    claim.ordering(
        steps(LESSER_KNOWN, WELL_KNOWN),
        must_fail=steps(WELL_KNOWN, LESSER_KNOWN),
        remark="nothing held of " + ", ".join(f"{count} {name}" for name, count in none.items()),
        provenance=seen.score.provenance,
    )


@pytest.mark.laboratory
@pytest.mark.claim("association.scale")
def test_scale(claim: Claim, association: AssociationAudit) -> None:
    if association.section.smaller is None:
        claim.not_applicable("no smaller model to hold it against ([association] smaller)")
        return
    compared(claim, association, "a smaller model", association.seen("smaller"))


@pytest.mark.laboratory
@pytest.mark.claim("association.bits.{bits}")
@pytest.mark.parametrize("bits", ["two", "one"])
def test_bits(claim: Claim, bits: str, association: AssociationAudit) -> None:
    if association.section.model and association.section.model.quantization is not None:
        claim.not_applicable("the model is quantized already")
        return
    compared(claim, association, f"{bits} bits", association.under({"two": "bits2", "one": "bits1"}[bits]))


def compared(claim: Claim, association: AssociationAudit, name: str, other: Seen) -> None:
    """Whether the model holds more of the people whom it may know than another does."""
    rows, seen = famous(association), association.seen()
    up, down = (lost(rows, *pair) for pair in ((seen.held, other.held), (other.held, seen.held)))
    claim.ordering(
        [Step(name, "the model", up.value, up.interval)],
        must_fail=[Step("the model", name, down.value, down.interval)],
        remark=f"M {over(rows, seen.held).value:.3f} and {over(rows, other.held).value:.3f}",
        provenance=other.score.provenance,
    )


@pytest.mark.laboratory
@pytest.mark.claim("association.nf4")
def test_nf4(claim: Claim, association: AssociationAudit) -> None:
    if association.section.model and association.section.model.quantization is not None:
        claim.not_applicable("the model is quantized already")
        return
    rows, seen = association.inquiry.seen, association.seen()
    four, one = (lost(rows, seen.held, association.under(name).held) for name in ("nf4", "bits1"))
    claim.equivalence(
        four.value,
        four.interval,
        margin=claim.bound(),
        controls=[fails("1 bit", one)],
        remark=f"M {over(rows, seen.held).value:.3f} and {over(rows, association.under('nf4').held).value:.3f}",
        provenance=association.under("nf4").score.provenance,
    )


@pytest.mark.laboratory
@pytest.mark.claim("association.context")
def test_context(claim: Claim, association: AssociationAudit) -> None:
    behind = association.behind
    if not behind:
        claim.not_applicable("of nobody more than one thing is known")
        return
    score = association.in_context
    bare, context = held_beside(score, behind)
    rows = [one for one in behind if one.subject.cohort == WELL_KNOWN] or list(behind)
    up, down = (lost(rows, *pair) for pair in ((bare, context), (context, bare)))
    claim.ordering(
        [Step("behind other facts", "alone", up.value, up.interval)],
        must_fail=[Step("alone", "behind other facts", down.value, down.interval)],
        remark=f"M {over(rows, bare).value:.3f} alone and {over(rows, context).value:.3f} behind other facts; z* "
        f"{over(rows, bare, 'strength').value:.2f} and {over(rows, context, 'strength').value:.2f}",
        provenance=score.provenance,
    )


@pytest.mark.claim("association.strength_bounds")
def test_strength_bounds(claim: Claim, association: AssociationAudit) -> None:
    seen = association.seen()
    ranks = ranks_of(seen.score)
    claim.identity(
        controls.out_of_bounds(association.inquiry.asked, ranks, seen.held),
        tolerance=0.0,
        what="rankings of which z* or M is what it cannot be",
        controls=[
            ControlSubject(
                "ten times z*",
                "fail",
                controls.out_of_bounds(association.inquiry.asked, controls.firmer(ranks), seen.held),
            )
        ],
        provenance=seen.score.provenance,
    )


@pytest.mark.claim("association.alpha_cancels")
def test_alpha_cancels(claim: Claim, association: AssociationAudit) -> None:
    nobody = association.seen().score.notes["nobody"]
    if not nobody:
        claim.not_applicable("no similar names are asked about (alpha 0)")
        return
    claim.identity(
        nobody["1.0"],
        tolerance=claim.bound(),
        what="nats by which sentences about nobody move a score",
        controls=[ControlSubject("alpha 0.5", "fail", nobody["0.5"])],
        provenance=association.seen().score.provenance,
    )


@pytest.mark.claim("association.memorized.{cohort}")
@pytest.mark.parametrize("cohort", COHORTS)
def test_memorized(claim: Claim, cohort: str, association: AssociationAudit) -> None:
    record(claim, cohort, "mean", association)


@pytest.mark.claim("association.strength.{cohort}")
@pytest.mark.parametrize("cohort", COHORTS)
def test_strength(claim: Claim, cohort: str, association: AssociationAudit) -> None:
    record(claim, cohort, "strength", association)


def record(claim: Claim, cohort: str, reading: Reading, association: AssociationAudit) -> None:
    rows = association.inquiry.cohorts.get(COHORTS[cohort], ())
    if not rows:
        claim.not_applicable(f"no people of the cohort {COHORTS[cohort]}")
        return
    found = over(rows, association.seen().held, reading)
    claim.recorded(found.value, found.interval, provenance=association.seen().score.provenance)
