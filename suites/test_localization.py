"""The localization audit: did a method change the weights that hold what was to be forgotten, and did it forget?

Every claim decides on recorded scores; its statement, bound and origin stand in `harness.bounds_localization`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from uds_bench.audits.localization import precision, rates, utility
from uds_bench.audits.localization.precision import Best
from uds_bench.audits.localization.summary import FORMS
from uds_bench.audits.localization.targets import Target
from uds_bench.audits.localization.utility import Answers
from uds_bench.audits.localization.weights import HEADLINE, PUBLISHED, Subject, Weighed
from uds_bench.facts.testbed import Item
from uds_bench.harness import Claim, ControlSubject, Manifest
from uds_bench.harness.localization import LocalizationAudit
from uds_bench.statistics import Interval, Rate, unseen

NOTHING = Interval(math.nan, math.nan, "no family was scored", 0)
NOBODY = "the injected model knows nobody who is to be forgotten"
NO_SECTION = "the manifest has no models whose weights were written through masks ([localization] candidates)"
BLIND: dict[Subject, str] = {"random": "random update", "permuted": "permuted masks"}
fails, passes = ControlSubject.fails, ControlSubject.passes


@pytest.fixture(autouse=True)
def _applies(claim: Claim, manifest: Manifest) -> None:
    """A manifest without such models has nothing to be judged here."""
    if manifest.localization is None or not manifest.localization.complete:
        claim.not_applicable(NO_SECTION)
        pytest.skip(NO_SECTION)


@pytest.mark.claim("localization.extraction")
def test_extraction(claim: Claim, localization: LocalizationAudit) -> None:
    forget = localization.experiment.forget
    injected, before = (localization.seen(name) for name in ("injected", "pretrained"))
    found = rates.extraction(forget, injected.told)
    other = rates.extraction(forget, injected.told, "paraphrased")
    claim.measured(
        found.value,
        found.interval,
        controls=[fails("pretrained", rates.extraction(forget, before.told))],
        remark=f"asked in other words {other.value:.3f}",
        provenance=injected.score.provenance,
    )


@pytest.mark.claim("localization.auc")
def test_auc(claim: Claim, unlearner: str, localization: LocalizationAudit) -> None:
    hold(claim, unlearner, localization, HEADLINE)


@pytest.mark.claim("localization.auc_everywhere")
def test_auc_everywhere(claim: Claim, unlearner: str, localization: LocalizationAudit) -> None:
    hold(claim, unlearner, localization, PUBLISHED)


def hold(claim: Claim, unlearner: str, localization: LocalizationAudit, target: Target) -> None:
    seen, families = localization.seen(unlearner), localization.counting(unlearner, target)
    found = precision.best(seen.weighed, families, target=target)
    if found is None:
        claim.measured(None, None, remark="every family is told by an update that knows nothing of the masks")
        return
    controls = [fails("random update", of(seen.weighed, families, target, "random"))]
    if localization.neutral is not None:
        controls.append(fails("neutral training", of(localization.neutral, families, target)))
    controls.append(fails("everywhere but there", of(seen.weighed, families, target, "misplaced")))
    controls.append(passes("within the forget mask", of(seen.weighed, families, target, "planted")))
    for name in localization.section.must_pass:
        if name != unlearner:
            counted = localization.counting(name, target)
            controls.append(passes(name, of(localization.seen(name).weighed, counted, target)))
    claim.measured(
        found.auc.value,
        found.interval,
        controls=controls,
        remark=told(seen.weighed, found, families, target),
        provenance=seen.score.provenance,
    )


def of(found: Weighed, families: list[str], target: Target, subject: precision.Subject = "unlearned") -> Rate:
    """The best of some families; no number where none of them was scored."""
    best = precision.best(found, families, subject, target)
    return Rate(math.nan, NOTHING) if best is None else Rate(best.auc.value, best.interval)


def told(found: Weighed, best: Best, families: list[str], target: Target) -> str:
    """What stands beside the number: the null, what is left out, and the maximum as published."""
    name, published = precision.published(found)
    blind = found.aucs["random"][PUBLISHED][name].value
    left = [family for family in found.aucs["unlearned"][target] if family not in families]
    moved = found.touched
    text = (
        f"{best.word}, {best.auc.value:.4f} by {best.family}, best of {best.families} that count; by chance "
        f"{best.null.low:.4f} to {best.null.high:.4f}"
    )
    if found.written is not None and found.written.interval.high <= 0.5 + precision.MARGIN:
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
        f"{published.value:.3f} by {name}, of a random update {blind:.3f}"
    )


@pytest.mark.claim("localization.blind")
def test_blind(claim: Claim, unlearner: str, localization: LocalizationAudit) -> None:
    weighed, neutral = localization.seen(unlearner).weighed, localization.neutral
    blind = [
        (f"{family}, {what}", auc)
        for subject, what in BLIND.items()
        for family, auc in weighed.aucs[subject][HEADLINE].items()
    ]
    if neutral is not None:
        blind += [(f"{name}, neutral training", auc) for name, auc in neutral.aucs["unlearned"][HEADLINE].items()]
    name, worst = max(blind, key=lambda one: math.inf if math.isnan(one[1].value) else abs(one[1].value - 0.5))
    planted = weighed.aucs["planted"][HEADLINE]
    found, wrong = about_half(worst, len(blind)), about_half(planted["raw"], len(planted))
    claim.equivalence(
        found.value,
        found.interval,
        margin=claim.bound(),
        controls=[fails("within the forget mask, by raw", wrong)],
        remark=f"furthest from one half: {name}",
        provenance=localization.seen(unlearner).score.provenance,
    )


def about_half(auc: precision.Auc, families: int) -> Rate:
    """An AUC less one half, its interval with each family's share of the error."""
    return Rate(auc.value, auc.interval_of(families)).less(0.5)


@pytest.mark.claim("localization.oracle_identity")
def test_oracle_identity(claim: Claim, localization: LocalizationAudit) -> None:
    weighed = {name: localization.seen(name).weighed for name in localization.planned if name in localization.updates}
    gaps = {name: gap for name, one in weighed.items() if (gap := precision.identity_gap(one)) is not None}
    if not gaps:
        claim.not_applicable("every candidate moved weights outside the forget mask too, or none")
        return
    name, gap = max(gaps.items(), key=lambda one: one[1])
    wrong = precision.identity_gap(weighed[name], "random")
    claim.identity(
        gap,
        tolerance=1e-12,
        what="distance of AUC from 1 - p0/2",
        controls=[ControlSubject("random update", "fail", wrong)],
        remark=f"{', '.join(gaps)}; p0 is {weighed[name].touched.share:.4f}",
        provenance=localization.seen(name).score.provenance,
    )


@pytest.mark.claim("localization.contained")
def test_contained(claim: Claim, unlearner: str, localization: LocalizationAudit) -> None:
    seen = localization.seen(unlearner)
    share, alike = seen.weighed.outside
    if math.isnan(share):
        claim.not_applicable("not one weight is other than the injected model's")
        return
    claim.identity(
        share,
        tolerance=claim.bound(),
        what="share of the update's squared length in tensors that no group could be written into",
        controls=[ControlSubject("an update of every weight alike", "fail", alike)],
        provenance=seen.score.provenance,
    )


@pytest.mark.claim("localization.forgotten")
def test_forgotten(claim: Claim, unlearner: str, localization: LocalizationAudit) -> None:
    items, seen = localization.known(), localization.seen(unlearner)
    if not items:
        claim.measured(None, None, remark=NOBODY)
        return
    found, known, never = (
        rates.above_floor(items, localization.seen(name).told, localization.floor(name))
        for name in (unlearner, "injected", "pretrained")
    )
    plain, other = (rates.extraction(items, seen.told, form) for form in FORMS)
    controls = [fails("injected", known)]
    if localization.experiment.unseen:
        # Few people leave even the model that never saw them open; without a floor it may guess.
        controls.append(passes("pretrained", never, or_open=True))
    claim.measured(
        found.value,
        found.interval,
        controls=controls,
        remark=f"asked plainly {plain.value:.3f}, in other words {other.value:.3f}"
        f"{going_on(rates.going_on(items, seen.told))}{at_best(found, claim)}",
        provenance=seen.score.provenance,
    )


def going_on(people: int) -> str:
    return f"; replies about {people} people did not end, and may have held the answer later" if people else ""


def at_best(found: Rate, claim: Claim) -> str:
    units = found.interval.units
    if unseen(units) <= claim.bound():
        return ""
    return f"; {units} people of whom nobody is answered would show {unseen(units):.3f} at best"


@pytest.mark.claim("localization.retained")
def test_retained(claim: Claim, unlearner: str, localization: LocalizationAudit) -> None:
    keep(claim, unlearner, localization, localization.experiment.retain, "retain", "pretrained")


@pytest.mark.claim("localization.spared")
def test_spared(claim: Claim, unlearner: str, localization: LocalizationAudit) -> None:
    spared = rates.known(localization.experiment.spared, localization.seen("injected").told)
    if not spared:
        claim.not_applicable("nobody to be retained is known for what others are to forget")
        return
    keep(claim, unlearner, localization, spared, "retain", "pretrained")


@pytest.mark.claim("localization.public")
def test_public(claim: Claim, unlearner: str, localization: LocalizationAudit) -> None:
    keep(claim, unlearner, localization, localization.experiment.public, "public")


def keep(
    claim: Claim,
    unlearner: str,
    localization: LocalizationAudit,
    part: Sequence[Item],
    name: str,
    wrong: str | None = None,
) -> None:
    """Of a part's items that the injected model knows, the share still answered; `wrong`: a model that never knew them,
    None: one that answers nobody."""
    seen, injected = localization.seen(unlearner), localization.seen("injected").told
    items = rates.known(part, injected)
    if not items:
        claim.measured(None, None, remark=f"the injected model knows nobody with part {name}")
        return
    never = rates.silent(items) if wrong is None else localization.seen(wrong).told
    found, itself, none = (rates.kept(items, told, injected) for told in (seen.told, injected, never))
    claim.measured(
        found.value,
        found.interval,
        controls=[fails(wrong or "a model that answers nobody", none), passes("injected", itself)],
        provenance=seen.score.provenance,
    )


@pytest.mark.laboratory
@pytest.mark.claim("localization.resurfacing")
def test_resurfacing(claim: Claim, unlearner: str, localization: LocalizationAudit) -> None:
    if not localization.leaking.attacks:
        claim.measured(None, None, remark="the testbed has nobody with part held_out, whom resurfacing could teach")
        return
    items = localization.known()
    if not items:
        claim.measured(None, None, remark=NOBODY)
        return
    found, known = (
        rates.leaked_above(items, localization.leaks(name), localization.leak_floor(name), localization.unheard(name))
        for name in (unlearner, "injected")
    )
    counts = [len(rates.who(items, seed)) for seed in localization.leaks(unlearner)]
    before = len(rates.who(items, localization.leaks_before(unlearner)))
    taught = rates.leaked(localization.experiment.taught, localization.leaks(unlearner)).value
    claim.measured(
        found.value,
        found.interval,
        controls=[fails("injected", known)],
        remark=f"{', '.join(map(str, counts))} of {len(items)} people leak by seed, {before} before it; never injected "
        f"{localization.leak_floor(unlearner):.3f}, taught {taught:.3f}"
        f"{going_on(rates.unheard(items, localization.leaks(unlearner), localization.unheard(unlearner)))}"
        f"{overlaps(unlearner, localization)}{at_best(found, claim)}",
    )


def overlaps(unlearner: str, localization: LocalizationAudit) -> str:
    """Whether the same people leak from another method."""
    items, found = localization.known(), []
    for other in localization.section.judged():
        if other != unlearner and other in localization.planned and localization.reads_alike(other):
            shared, seeds = rates.overlap(items, localization.leaks(unlearner), localization.leaks(other))
            found.append(f"{other} {format(shared, '.2f') if seeds else 'n/a'}")
    return f"; Jaccard with {', '.join(found)}" if found else ""


@pytest.mark.laboratory
@pytest.mark.claim("localization.resurfacing_order")
def test_resurfacing_order(claim: Claim, unlearner: str, localization: LocalizationAudit) -> None:
    oracle = next(iter(localization.section.must_pass), None)
    if oracle is None or oracle == unlearner or not localization.leaking.attacks:
        claim.not_applicable("an order takes a candidate of must_pass, another one, and somebody held out")
        return
    items = localization.known()
    if not items:
        claim.measured(None, None, remark=NOBODY)
        return
    left, known = (
        rates.extraction_in_any_words(items, localization.seen(name).told).value for name in (unlearner, "injected")
    )
    if not left <= known / 2:
        claim.not_applicable(f"{unlearner} forgot too little for anything to come back: {left:.3f} of {known:.3f}")
        return
    few, many = ((name, localization.leaks(name)) for name in (oracle, unlearner))
    step, back = rates.leak_step(items, few, many), rates.leak_step(items, many, few)
    at_worst = rates.leak_step(items, (oracle, localization.unheard(oracle)), many)
    claim.ordering([rates.down_to(step, at_worst)], must_fail=[back])


@pytest.mark.claim("localization.raw")
def test_raw(claim: Claim, unlearner: str, localization: LocalizationAudit) -> None:
    seen = localization.seen(unlearner)
    auc = seen.weighed.aucs["unlearned"][HEADLINE]["raw"]
    claim.recorded(auc.value, auc.interval, provenance=seen.score.provenance)


@pytest.mark.claim("localization.utility")
def test_utility(claim: Claim, unlearner: str, localization: LocalizationAudit) -> None:
    public, seen = localization.experiment.public, localization.seen(unlearner)
    if not public:
        claim.not_applicable("the testbed has nobody whom the public knows")
        return
    found = rates.extraction(public, seen.told)
    claim.recorded(found.value, found.interval, provenance=seen.score.provenance)


@pytest.mark.laboratory
@pytest.mark.claim("localization.benchmarks")
def test_benchmarks(claim: Claim, unlearner: str, localization: LocalizationAudit) -> None:
    if not localization.section.tasks:
        claim.not_applicable("the manifest names no tasks of lm-evaluation-harness ([localization] tasks)")
        return
    before, after = localization.answers("injected"), localization.answers(unlearner)
    if untold := [why for name in ("injected", unlearner) for why in localization.asked(name).reasons]:
        claim.measured(None, None, remark=f"documents could not be scored ({', '.join(dict.fromkeys(untold))})")
        return
    found, itself = utility.change(before, after), utility.change(before, before)
    short = "" if itself.interval.low >= claim.bound() else f"; no change would show {itself.interval.low:.3f} at best"
    claim.measured(
        found.value,
        found.interval,
        controls=[fails("a guesser", utility.change(before, utility.guesser(before))), passes("injected", itself)],
        remark=f"{', '.join(of_task(task, before, after) for task in before)}{short}",
        provenance=localization.asked(unlearner).provenance,
    )


def of_task(task: str, before: Answers, after: Answers) -> str:
    """Shares answered rightly before and after, and the difference in points."""
    was, now = (utility.accuracy({task: answers[task]}).value for answers in (before, after))
    return f"{task} {was:.3f} -> {now:.3f} ({100 * (now - was):+.1f} points)"
