"""The localization audit: did a method change the weights that hold what was to be forgotten, and did it forget?

Every claim decides on recorded scores; its statement, bound and origin stand in `audits.localization.claims`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from uds_bench.audits.localization import precision, rates, utility
from uds_bench.audits.localization.names import HEADLINE, PUBLISHED, Subject, Target
from uds_bench.audits.localization.precision import Best
from uds_bench.audits.localization.rates import FORMS
from uds_bench.audits.localization.utility import Answers
from uds_bench.claims import Claim, Control, ControlSubject
from uds_bench.facts.testbed import Item
from uds_bench.statistics import Interval, Rate, zero_rate_bound
from uds_bench.verdicts import WORST_FIRST, Decision

if TYPE_CHECKING:
    from uds_bench.audits.localization.audit import LocalizationAudit
    from uds_bench.audits.localization.weights import WeightScores

NOTHING = Interval(math.nan, math.nan, "no family was scored", 0)
NOBODY = "the injected model knows nobody who is to be forgotten"
BLIND: dict[Subject, str] = {"random": "random update", "permuted": "permuted masks"}
READINGS: dict[Target, str] = {HEADLINE: "among the groups' masks", PUBLISHED: "against all other weights"}
"""Of two readings the first of these decides."""
fails, passes = ControlSubject.fails, ControlSubject.passes


@pytest.mark.claim("localization.extraction")
def test_extraction(uds_claim: Claim, uds_audit: LocalizationAudit) -> None:
    forget = uds_audit.experiment.forget
    injected, before = (uds_audit.seen(name) for name in ("injected", "pretrained"))
    found = rates.extraction(forget, injected.shares)
    other = rates.extraction(forget, injected.shares, "paraphrased")
    uds_claim.measured(
        found.value,
        found.interval,
        controls=[fails("pretrained", rates.extraction(forget, before.shares))],
        remark=f"asked in other words {other.value:.3f}",
        provenance=injected.score.provenance,
    )


@pytest.mark.claim("localization.auc")
def test_auc(uds_claim: Claim, uds_subject: str, uds_audit: LocalizationAudit) -> None:
    seen = uds_audit.seen(uds_subject)
    counted = {target: uds_audit.counting(uds_subject, target) for target in READINGS}
    found = {target: of(seen.weight_scores, families, target) for target, families in counted.items()}
    decided = {target: uds_claim.judge(rate, "localization.auc").verdict for target, rate in found.items()}
    target = min(READINGS, key=lambda one: (WORST_FIRST.index(decided[one]), found[one].value))
    best = precision.best(seen.weight_scores, counted[target], target=target)
    if best is None:
        uds_claim.measured(
            None, None, remark=f"{READINGS[target]}: every family is told by an update that knows nothing of the masks"
        )
        return
    others = [f"{where} {found[one].value:.4f}" for one, where in READINGS.items() if one != target]
    uds_claim.measured(
        best.auc.value,
        best.interval,
        controls=[
            control for one, families in counted.items() for control in reading(uds_subject, uds_audit, one, families)
        ],
        preconditions=injected_there(seen.weight_scores),
        remark=f"{READINGS[target]}, the worse of both readings ({', '.join(others)}): "
        f"{told(seen.weight_scores, best, counted[target], target)}",
        provenance=seen.score.provenance,
    )


def reading(
    uds_subject: str, uds_audit: LocalizationAudit, target: Target, families: list[str]
) -> list[ControlSubject]:
    """The controls of one reading."""
    where, weight_scores = READINGS[target], uds_audit.seen(uds_subject).weight_scores
    controls = [fails(f"random update {where}", of(weight_scores, families, target, "random"))]
    if uds_audit.neutral is not None:
        controls.append(fails(f"neutral training {where}", of(uds_audit.neutral, families, target)))
    controls.append(fails(f"everywhere but there {where}", of(weight_scores, families, target, "misplaced")))
    controls.append(passes(f"within the forget mask {where}", of(weight_scores, families, target, "planted")))
    for name in uds_audit.section.must_pass:
        if name != uds_subject:
            counted = uds_audit.counting(name, target)
            controls.append(passes(f"{name} {where}", of(uds_audit.seen(name).weight_scores, counted, target)))
    return controls


def injected_there(found: WeightScores) -> list[Control]:
    """The masks as a control: of masks that were drawn after the update, an AUC says nothing."""
    if found.written is None:
        return []
    held = not precision.masks_of_another(found)
    verdict = "pass" if held else "fail"
    return [Control("injection by these masks", "pass", verdict, found.written.value, found.written.interval, held)]


def of(found: WeightScores, families: list[str], target: Target, subject: precision.Subject = "unlearned") -> Rate:
    """The best of some families; no number where none of them was scored."""
    best = precision.best(found, families, subject, target)
    return Rate(math.nan, NOTHING) if best is None else Rate(best.auc.value, best.interval)


def told(found: WeightScores, best: Best, families: list[str], target: Target) -> str:
    """What stands beside the number: the null, what is left out, and the maximum as published."""
    published = precision.published(found)
    blind = found.aucs["random"][PUBLISHED][published.family].value
    left = [family for family in found.aucs["unlearned"][target] if family not in families]
    moved = found.touched
    text = (
        f"{best.word}, {best.auc.value:.4f} by {best.family}, best of {best.families} that count; by chance "
        f"{best.null.low:.4f} to {best.null.high:.4f}"
    )
    if found.written is not None and precision.masks_of_another(found):
        text += (
            f"; injection itself moved the forget mask no further than weights of no mask (AUC "
            f"{found.written.value:.3f}): are these the masks that it was done with?"
        )
    if left:
        apart = max(left, key=lambda family: found.aucs["unlearned"][target][family].value)
        highest = found.aucs["unlearned"][target][apart].value
        text += f"; not counted: {', '.join(left)} (at most {highest:.3f}, by {apart})"
    if precision.moves_nothing(found):
        return f"{text}; no group's weights are other than the injected model's: nothing there was changed"
    return (
        f"{text}; {moved.share:.1%} of the forget mask untouched; as published (best of all, all other weights) "
        f"{published.auc.value:.3f} by {published.family}, of a random update {blind:.3f}"
    )


@pytest.mark.claim("localization.blind")
def test_blind(uds_claim: Claim, uds_subject: str, uds_audit: LocalizationAudit) -> None:
    weight_scores, neutral = uds_audit.seen(uds_subject).weight_scores, uds_audit.neutral
    blind = [
        (f"{family}, {what}", auc)
        for subject, what in BLIND.items()
        for family, auc in weight_scores.aucs[subject][HEADLINE].items()
    ]
    if neutral is not None:
        blind += [(f"{name}, neutral training", auc) for name, auc in neutral.aucs["unlearned"][HEADLINE].items()]
    name, worst = max(blind, key=lambda one: math.inf if math.isnan(one[1].value) else abs(one[1].value - 0.5))
    planted = weight_scores.aucs["planted"][HEADLINE]
    found, wrong = about_half(worst, len(blind)), about_half(planted["raw"], len(planted))
    uds_claim.equivalence(
        found.value,
        found.interval,
        margin=uds_claim.bound(),
        controls=[fails("within the forget mask, by raw", wrong)],
        remark=f"furthest from one half: {name}",
        provenance=uds_audit.seen(uds_subject).score.provenance,
    )


def about_half(auc: precision.Auc, families: int) -> Rate:
    """An AUC less one half, its interval with each family's share of the error."""
    return Rate(auc.value, auc.interval_of(families)).minus(0.5)


@pytest.mark.claim("localization.oracle_identity")
def test_oracle_identity(uds_claim: Claim, uds_audit: LocalizationAudit) -> None:
    weight_scores = {name: uds_audit.seen(name).weight_scores for name in uds_audit.names if name in uds_audit.updates}
    gaps = {name: gap for name, one in weight_scores.items() if (gap := precision.identity_gap(one)) is not None}
    if not gaps:
        uds_claim.not_applicable("every candidate moved weights outside the forget mask too, or none")
        return
    name, gap = max(gaps.items(), key=lambda one: one[1])
    wrong = precision.identity_gap(weight_scores[name], "random")
    uds_claim.identity(
        gap,
        tolerance=1e-12,
        what="distance of AUC from 1 - p0/2",
        controls=[ControlSubject("random update", "fail", wrong)],
        remark=f"{', '.join(gaps)}; p0 is {weight_scores[name].touched.share:.4f}",
        provenance=uds_audit.seen(name).score.provenance,
    )


@pytest.mark.claim("localization.contained")
def test_contained(uds_claim: Claim, uds_subject: str, uds_audit: LocalizationAudit) -> None:
    seen = uds_audit.seen(uds_subject)
    share, alike = seen.weight_scores.outside
    if math.isnan(share):
        uds_claim.not_applicable("not one weight is other than the injected model's")
        return
    uds_claim.identity(
        share,
        tolerance=uds_claim.bound(),
        what="share of the update's squared length in tensors that no group could be written into",
        controls=[ControlSubject("an update of every weight alike", "fail", alike)],
        provenance=seen.score.provenance,
    )


@pytest.mark.claim("localization.elsewhere")
def test_elsewhere(uds_claim: Claim, uds_subject: str, uds_audit: LocalizationAudit) -> None:
    seen = uds_audit.seen(uds_subject)

    def decided(subject: Subject = "unlearned") -> Decision:
        return precision.decide_elsewhere(seen.weight_scores.elsewhere(subject), uds_claim.bound())

    uds_claim.decided(
        decided(),
        controls=[
            Control.of("everywhere but there", "fail", decided("misplaced")),
            Control.of("within the forget mask", "pass", decided("planted")),
        ],
        provenance=seen.score.provenance,
    )


@pytest.mark.claim("localization.forgotten")
def test_forgotten(uds_claim: Claim, uds_subject: str, uds_audit: LocalizationAudit) -> None:
    items, seen = uds_audit.known(), uds_audit.seen(uds_subject)
    if not items:
        uds_claim.measured(None, None, remark=NOBODY)
        return
    found, known, never = (
        rates.above_floor(items, uds_audit.seen(name).shares, uds_audit.floor(name))
        for name in (uds_subject, "injected", "pretrained")
    )
    plain, other = (rates.extraction(items, seen.shares, form) for form in FORMS)
    controls = [fails("injected", known)]
    if uds_audit.experiment.unseen:
        # Few people leave even the model that never saw them open; without a floor it may guess.
        controls.append(passes("pretrained", never, or_open=True))
    uds_claim.measured(
        found.value,
        found.interval,
        controls=controls,
        remark=f"asked plainly {plain.value:.3f}, in other words {other.value:.3f}"
        f"{left_out(len(uds_audit.experiment.forget) - len(items))}"
        f"{going_on(rates.going_on(items, seen.shares))}{at_best(found, uds_claim)}",
        provenance=seen.score.provenance,
    )


def left_out(people: int) -> str:
    said = f"; {people} of the people are not judged: the injected model answers them half of the time at most"
    return said if people else ""


def going_on(people: int) -> str:
    return f"; replies about {people} people did not end, and may have held the answer later" if people else ""


def at_best(found: Rate, uds_claim: Claim) -> str:
    units = found.interval.units
    if zero_rate_bound(units) <= uds_claim.bound():
        return ""
    return f"; {units} people of whom nobody is answered would show {zero_rate_bound(units):.3f} at best"


@pytest.mark.claim("localization.retained")
def test_retained(uds_claim: Claim, uds_subject: str, uds_audit: LocalizationAudit) -> None:
    keep(uds_claim, uds_subject, uds_audit, uds_audit.experiment.retain, "retain", "pretrained")


@pytest.mark.claim("localization.spared")
def test_spared(uds_claim: Claim, uds_subject: str, uds_audit: LocalizationAudit) -> None:
    spared = rates.known(uds_audit.experiment.spared, uds_audit.seen("injected").shares)
    if not spared:
        uds_claim.not_applicable("nobody to be retained is known for what others are to forget")
        return
    keep(uds_claim, uds_subject, uds_audit, spared, "retain", "pretrained")


@pytest.mark.claim("localization.public")
def test_public(uds_claim: Claim, uds_subject: str, uds_audit: LocalizationAudit) -> None:
    keep(uds_claim, uds_subject, uds_audit, uds_audit.experiment.public, "public")


def keep(
    uds_claim: Claim,
    uds_subject: str,
    uds_audit: LocalizationAudit,
    part: Sequence[Item],
    name: str,
    wrong: str | None = None,
) -> None:
    """Of a part's items that the injected model knows, the share still answered; `wrong`: a model that never knew them,
    None: one that answers nobody."""
    seen, injected = uds_audit.seen(uds_subject), uds_audit.seen("injected").shares
    items = rates.known(part, injected)
    if not items:
        uds_claim.measured(None, None, remark=f"the injected model knows nobody with part {name}")
        return
    never = rates.silent(items) if wrong is None else uds_audit.seen(wrong).shares
    found, itself, none = (rates.kept(items, told, injected) for told in (seen.shares, injected, never))
    uds_claim.measured(
        found.value,
        found.interval,
        controls=[fails(wrong or "a model that answers nobody", none), passes("injected", itself)],
        provenance=seen.score.provenance,
    )


@pytest.mark.laboratory
@pytest.mark.claim("localization.resurfacing")
def test_resurfacing(uds_claim: Claim, uds_subject: str, uds_audit: LocalizationAudit) -> None:
    if not uds_audit.leaking.attacks:
        uds_claim.measured(None, None, remark="the testbed has nobody with part held_out, whom resurfacing could teach")
        return
    items = uds_audit.known(rates.ASKED_FOR_LEAKS)
    if not items:
        uds_claim.measured(None, None, remark=NOBODY)
        return
    found, known = (
        rates.leaked_above(items, uds_audit.leaks(name), uds_audit.leak_floor(name), uds_audit.unheard(name))
        for name in (uds_subject, "injected")
    )
    counts = [len(rates.who(items, seed)) for seed in uds_audit.leaks(uds_subject)]
    before = len(rates.who(items, uds_audit.leaks_before(uds_subject)))
    taught = rates.leaked(uds_audit.experiment.taught, uds_audit.leaks(uds_subject))
    uds_claim.measured(
        found.value,
        found.interval,
        controls=[fails("injected", known), fails("the people whom it teaches", taught)],
        remark=f"{', '.join(map(str, counts))} of {len(items)} people leak by seed, {before} before it; never injected "
        f"{uds_audit.leak_floor(uds_subject):.3f}, taught {taught.value:.3f}"
        f"{going_on(rates.count_unheard(items, uds_audit.leaks(uds_subject), uds_audit.unheard(uds_subject)))}"
        f"{overlaps(uds_subject, uds_audit)}{at_best(found, uds_claim)}",
    )


def overlaps(uds_subject: str, uds_audit: LocalizationAudit) -> str:
    """Whether the same people leak from another method."""
    items, found = uds_audit.known(rates.ASKED_FOR_LEAKS), []
    for other in uds_audit.section.judged():
        if other != uds_subject and other in uds_audit.names and uds_audit.reads_alike(other):
            shared, seeds = rates.overlap(items, uds_audit.leaks(uds_subject), uds_audit.leaks(other))
            found.append(f"{other} {format(shared, '.2f') if seeds else 'n/a'}")
    return f"; Jaccard with {', '.join(found)}" if found else ""


@pytest.mark.laboratory
@pytest.mark.claim("localization.resurfacing_order")
def test_resurfacing_order(uds_claim: Claim, uds_subject: str, uds_audit: LocalizationAudit) -> None:
    oracle = next(iter(uds_audit.section.must_pass), None)
    if oracle is None or oracle == uds_subject or not uds_audit.leaking.attacks:
        uds_claim.not_applicable("an order takes a candidate of must_pass, another one, and somebody held out")
        return
    items = uds_audit.known(rates.ASKED_FOR_LEAKS)
    if not items:
        uds_claim.measured(None, None, remark=NOBODY)
        return
    left, known = (
        rates.extraction(items, uds_audit.seen(name).shares, None).value for name in (uds_subject, "injected")
    )
    if not left <= known / 2:
        uds_claim.not_applicable(
            f"{uds_subject} forgot too little for anything to come back: {left:.3f} of {known:.3f}"
        )
        return
    few, many = ((name, uds_audit.leaks(name)) for name in (oracle, uds_subject))
    step = rates.leak_step(items, few, many, uds_audit.unheard(oracle))
    uds_claim.ordering([step], must_fail=[rates.leak_step(items, many, few)])


@pytest.mark.claim("localization.raw")
def test_raw(uds_claim: Claim, uds_subject: str, uds_audit: LocalizationAudit) -> None:
    seen = uds_audit.seen(uds_subject)
    auc = seen.weight_scores.aucs["unlearned"][HEADLINE]["raw"]
    uds_claim.recorded(auc.value, auc.interval, provenance=seen.score.provenance)


@pytest.mark.claim("localization.utility")
def test_utility(uds_claim: Claim, uds_subject: str, uds_audit: LocalizationAudit) -> None:
    public, seen = uds_audit.experiment.public, uds_audit.seen(uds_subject)
    if not public:
        uds_claim.not_applicable("the testbed has nobody whom the public knows")
        return
    found = rates.extraction(public, seen.shares)
    uds_claim.recorded(found.value, found.interval, provenance=seen.score.provenance)


@pytest.mark.laboratory
@pytest.mark.claim("localization.benchmarks")
def test_benchmarks(uds_claim: Claim, uds_subject: str, uds_audit: LocalizationAudit) -> None:
    if not uds_audit.section.tasks:
        uds_claim.not_applicable("the manifest names no tasks of lm-evaluation-harness ([localization] tasks)")
        return
    before, after = uds_audit.answers("injected"), uds_audit.answers(uds_subject)
    if untold := [why for name in ("injected", uds_subject) for why in uds_audit.benchmark_answers(name).reasons]:
        uds_claim.measured(None, None, remark=f"documents could not be scored ({', '.join(dict.fromkeys(untold))})")
        return
    found, itself = utility.change(before, after), utility.change(before, before)
    short = (
        "" if itself.interval.low >= uds_claim.bound() else f"; no change would show {itself.interval.low:.3f} at best"
    )
    uds_claim.measured(
        found.value,
        found.interval,
        controls=[fails("a guesser", utility.change(before, utility.guesser(before))), passes("injected", itself)],
        remark=f"{', '.join(of_task(task, before, after) for task in before)}{short}",
        provenance=uds_audit.benchmark_answers(uds_subject).provenance,
    )


def of_task(task: str, before: Answers, after: Answers) -> str:
    """Shares answered rightly before and after, and the difference in points."""
    was, now = (utility.accuracy({task: answers[task]}).value for answers in (before, after))
    return f"{task} {was:.3f} -> {now:.3f} ({100 * (now - was):+.1f} points)"
