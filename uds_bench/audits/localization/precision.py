"""What the AUCs of an update come to: families whose controls hold, the best of them, and a word for it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from uds_bench.audits.localization.auc import Auc, null_band
from uds_bench.audits.localization.claims import LOCALIZED, MARGIN
from uds_bench.audits.localization.families import FAMILIES
from uds_bench.audits.localization.names import HEADLINE, PUBLISHED, Subject, Target
from uds_bench.statistics import Interval
from uds_bench.verdicts import Decision, Verdict

if TYPE_CHECKING:
    from uds_bench.audits.localization.weights import WeightScores


class PrecisionOutcome(StrEnum):
    """`localized`: the lower limit clears the bound; `not localized`: the whole interval is about one half."""

    LOCALIZED = "localized"
    BLIND = "not localized"
    BETWEEN = "partly localized"
    OPEN = "open"


@dataclass(frozen=True)
class Best:
    """The family that finds most, and its AUC; `interval` and `null` give each of `families` its share of the error."""

    family: str
    auc: Auc
    families: int

    @property
    def interval(self) -> Interval:
        """Bounds of the AUC within 0 to 1, wider the more families it was chosen from."""
        return self.auc.interval_of(self.families)

    @property
    def null(self) -> Interval:
        """Where an AUC that knows nothing of the labels lies, chosen from as many families."""
        return null_band(self.auc.positives, self.auc.negatives, self.families)

    @property
    def word(self) -> PrecisionOutcome:
        """What the interval says: it clears the bound, is about one half, lies between the two, or leaves it open."""
        low, high = self.interval.low, self.interval.high
        if low >= LOCALIZED:
            return PrecisionOutcome.LOCALIZED
        if low >= 0.5 - MARGIN and high <= 0.5 + MARGIN:
            return PrecisionOutcome.BLIND
        return PrecisionOutcome.BETWEEN if low > 0.5 + MARGIN and high < LOCALIZED else PrecisionOutcome.OPEN


def counting(found: WeightScores, neutral: WeightScores | None, target: Target = HEADLINE) -> list[str]:
    """The families that none of three updates is told by, against a target: the random one, neutral training, and one
    of everything but the forget mask, which reversals and the composite may take for one that went back on injection
    there. A contrast has no neutral control, as there is no second neutral training: it counts by the random one, and
    where what it is held against is not told by the masks itself.
    """
    kept = []
    for family in found.aucs["unlearned"][target]:
        contrast = family in FAMILIES and FAMILIES[family].needs_control
        if contrast and found.unmasked is not None and not _is_blind(found.unmasked):
            continue
        holds = _is_blind(found.aucs.get("random", {}).get(target, {}).get(family))
        if neutral is not None and family in neutral.aucs["unlearned"][target]:
            holds = holds and _is_blind(neutral.aucs["unlearned"][target][family])
        misplaced = found.aucs["misplaced"][target].get(family)
        if holds and misplaced is not None and misplaced.value <= 0.5 + MARGIN:
            kept.append(family)
    return kept


def _is_blind(auc: Auc | None) -> bool:
    """Whether an AUC is about one half; not so where there is none."""
    return auc is not None and abs(auc.value - 0.5) <= MARGIN


def best(
    found: WeightScores, families: Iterable[str], subject: Subject = "unlearned", target: Target = HEADLINE
) -> Best | None:
    """The maximum over some families on a target; None where none of them counts.

    Args:
        found: The AUCs of an update and of its controls.
        families: Those that count.
        subject: The update, or a control.
        target: The weights to be found.

    Returns:
        The family with the highest AUC, and how many it was chosen from.

    Source: Lacuna, appendix E; its share of the error is ours.

    Example:
        >>> from types import SimpleNamespace
        >>> aucs = {"raw": Auc(4, 2, 2), "qtile": Auc(7, 2, 2), "eratio": Auc(8, 2, 2)}
        >>> found = best(SimpleNamespace(aucs={"unlearned": {HEADLINE: aucs}}), ["raw", "qtile"])
        >>> found.family, found.auc.value, found.families
        ('qtile', 0.875, 2)
    """
    there = found.aucs[subject][target]
    listed = [family for family in families if family in there]
    if not listed:
        return None
    name = max(listed, key=lambda family: there[family].value)
    return Best(name, there[name], len(listed))


def published(found: WeightScores, subject: Subject = "unlearned") -> Best:
    """The maximum over all families and the composite against all other weights, as the paper reports it.

    Args:
        found: The AUCs of an update and of its controls.
        subject: The update, or a control.

    Returns:
        The family, and its AUC, 0 to 1; higher is more precise.

    Source: Lacuna, section 4.2 and appendix E.
    """
    best_of_all = best(found, found.aucs[subject][PUBLISHED], subject, PUBLISHED)
    assert best_of_all is not None  # magnitudes are always scored
    return best_of_all


def moves_nothing(found: WeightScores) -> bool:
    """Whether no group's weights are other than the injected model's."""
    return found.touched.untouched == found.touched.wanted and not found.touched.elsewhere


def masks_of_another(found: WeightScores) -> bool:
    """Whether injection moved the forget masks' weights no further than those of no mask: masks that were drawn after
    an update tell that update, whatever it did."""
    return found.written is not None and found.written.interval.high <= 0.5 + MARGIN


def identity_gap(found: WeightScores, subject: Subject = "unlearned") -> float | None:
    """How far AUC(raw) is from 1 - p0/2, p0 being the share of wanted weights that were left.

    Args:
        found: The AUCs of an update, and what it touched.
        subject: The update, or a control.

    Returns:
        0 where the identity holds; None where the update moved others too, or nothing: nothing follows.

    Source: Lacuna, section 4.2.

    Example:
        Of four wanted weights two were left, and no other was moved: 1 - (2 / 4) / 2 is 6 of 8 half wins:

        >>> from types import SimpleNamespace
        >>> touched = SimpleNamespace(wanted=4, untouched=2, elsewhere=0, share=0.5)
        >>> identity_gap(SimpleNamespace(touched=touched, aucs={"unlearned": {HEADLINE: {"raw": Auc(6, 2, 2)}}}))
        0.0
    """
    if found.touched.elsewhere or moves_nothing(found):
        return None
    return abs(found.aucs[subject][HEADLINE]["raw"].value - (1 - found.touched.share / 2))


def decide_elsewhere(elsewhere: float, bound: float) -> Decision:
    """Whether an update's length lies in its place.

    Args:
        elsewhere: See `WeightScores.elsewhere`: 0 within the masks, 1 as an update at random.
        bound: The most that may lie elsewhere, as such a share.

    Returns:
        PASS or FAIL, as there is no interval of one update; UNDECIDED where nothing moved.

    Example:
        >>> [decide_elsewhere(share, 0.5).verdict.value for share in (0.25, 1.5, math.nan)]
        ['pass', 'fail', 'undecided']
    """
    if math.isnan(elsewhere):
        told = "not one weight is other than the injected model's, or every weight is in a forget mask"
        return Decision(Verdict.UNDECIDED, None, None, told)
    text = f"outside the forget masks lies {elsewhere:.3f} of what an update at random has there, needs <= {bound:.3f}"
    if elsewhere <= bound:
        return Decision(Verdict.PASS, elsewhere, None, text)
    return Decision(Verdict.FAIL, elsewhere, None, f"{text}: short by {elsewhere - bound:.3f}", elsewhere - bound)
