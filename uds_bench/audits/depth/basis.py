"""Whether activations can be judged: do they fit into the full model's basis, and is what was to be kept there?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from uds_bench.audits.depth.claims import LEAST_FIT
from uds_bench.metrics.erasure import spared
from uds_bench.scores import Score
from uds_bench.statistics import Rate, cluster_interval, mean
from uds_bench.verdicts import WORST_FIRST, Cause, Decision, Verdict

MORE_TEXT = 'add facts with split "retain", of more people: wide states take more text to be mapped by.'
"""What to do where a map is not unique."""


def fit_of(score: Score, of: Literal["fit", "retain_fit"] = "fit") -> float:
    """How well a candidate's states fit into the full model's basis: the least over layers.

    Args:
        score: An aligned score of UDS, or of what is spared.
        of: "retain_fit" for the retain model that an aligned score of UDS was held against.

    Returns:
        At most 1, higher is better; NaN where a layer has no map, and of a score without alignment.

    Example:
        >>> from types import SimpleNamespace
        >>> score = SimpleNamespace(notes={"fit": [0.9, 0.75], "retain_fit": [0.5, 0.6]})
        >>> fit_of(score), fit_of(score, "retain_fit")
        (0.75, 0.5)
    """
    fits = score.notes.get(of) or [math.nan]
    return math.nan if any(map(math.isnan, fits)) else min(fits)


def readable(decision: Decision, score: Score) -> Decision:
    """The decision on UDS; it is undecided if the states that it was read from do not fit, as they mean nothing then.

    A fail stays even if a candidate's states fit badly: what can be recovered is known all the same. The retain model
    is the yardstick: if its states do not fit, nothing is decided.

    Args:
        decision: What the score's interval comes to.
        score: It, with its fit.

    Returns:
        The decision, or an undecided one whose cause is the basis.

    Example:
        >>> from types import SimpleNamespace
        >>> passed = Decision(Verdict.PASS, 0.9, None, "0.900")
        >>> fits, not_at_all = (SimpleNamespace(notes={"fit": [fit], "retain_fit": [0.9]}) for fit in (0.8, 0.1))
        >>> readable(passed, fits).verdict.value, readable(passed, not_at_all).cause.value
        ('pass', 'another basis')
    """
    fit, yardstick = fit_of(score), fit_of(score, "retain_fit")
    if yardstick >= LEAST_FIT and (fit >= LEAST_FIT or decision.verdict is Verdict.FAIL):
        return decision
    whose, found = ("its states", fit) if yardstick >= LEAST_FIT else ("the retain model's states", yardstick)
    text = (
        f"cannot be judged by activations: mapped into the full model's basis {whose} explain {found:.2f} of the full "
        f"model's variance on people to be kept, needs >= {LEAST_FIT:.2f}; of no meaning then: {decision.text}"
    )
    return replace(decision, verdict=Verdict.UNDECIDED, text=text, cause=Cause.BASIS)


def unique(decision: Decision, score: Score) -> Decision:
    """The decision on whether a turn is taken back; it is undecided if the turn is not, and the map is not unique.

    States at fewer positions than they are wide leave directions of the map open, in which any turn fits as well.

    Args:
        decision: What the largest difference comes to.
        score: An aligned score of UDS, with how many directions were `open`, and of what text.

    Returns:
        The decision, or an undecided one that says how much more is needed: a position fixes one direction at most.

    Example:
        >>> from types import SimpleNamespace
        >>> few = SimpleNamespace(notes={"open": 38, "positions": 65, "people": 2})
        >>> found = unique(Decision(Verdict.FAIL, 1.1, None, "observed 1.1"), few)
        >>> print(found.verdict, found.text.rpartition("needs ")[2])
        undecided 103 positions or more, of about 4 people
    """
    still = score.notes.get("open", 0)
    if decision.verdict is not Verdict.FAIL or decision.observed is None or not still:
        return decision
    positions, people = score.notes["positions"], score.notes["people"]
    needed = positions + still
    text = (
        f"{decision.text}; the map is not unique: the text to be kept, {positions} positions of {people} people, "
        f"leaves {still} directions of the states open, needs {needed} positions or more, of about "
        f"{math.ceil(people * needed / positions)} people"
    )
    return Decision(Verdict.UNDECIDED, decision.observed, decision.interval, text, cause=Cause.UNITS, advice=MORE_TEXT)


def said(score: Score) -> Rate:
    """How often a model says the facts that are to be kept, with its interval over people.

    Args:
        score: Of what is spared, with `correct` of each fact.

    Returns:
        0 to 1, higher is more kept.

    Example:
        >>> from types import SimpleNamespace
        >>> known = {"a": 1.0, "b": 0.0}
        >>> facts = [SimpleNamespace(detail={"correct": value}, cluster=name) for name, value in known.items()]
        >>> said(SimpleNamespace(per_fact=facts)).value
        0.5
    """
    known = [(fact.detail["correct"], fact.cluster) for fact in score.per_fact if "correct" in fact.detail]
    values = [value for value, _ in known]
    return Rate(mean(values), cluster_interval(values, [cluster for _, cluster in known], limits=(0.0, 1.0)))


def said_of_drawn(score: Score) -> tuple[Rate, Rate] | None:
    """The same of others that are to be kept, who are drawn by the model's content, and how often the full model does.

    Args:
        score: Of what is spared, with those who were `drawn`.

    Returns:
        Both rates, each 0 to 1, higher is more kept; None where nobody is left to be drawn.

    Example:
        >>> from types import SimpleNamespace
        >>> rates = said_of_drawn(SimpleNamespace(notes={"drawn": [["a", 1.0, 1.0], ["b", 0.0, 1.0]]}))
        >>> [rate.value for rate in rates]
        [0.5, 1.0]
    """
    if not (drawn := score.notes.get("drawn")):
        return None
    people, *both = zip(*drawn, strict=True)
    own, full = (Rate(mean(one), cluster_interval(one, people, limits=(0.0, 1.0))) for one in both)
    return own, full


def kept_of_all(carried: Decision, score: Score, full: float, share: float) -> Decision:
    """The worse of what `kept` says of the facts that all are asked, and of those that were drawn for this model.

    The latter do not count where they are too few for the full model to be seen to keep them.

    Args:
        carried: The decision on what is spared, 0 to 1.
        score: It.
        full: How often the full model says the former, 0 to 1.
        share: Of that, what counts as said.

    Returns:
        The verdict with what is spared as its number.

    Example:
        All whom everybody is asked about are told, and nobody of those who were drawn:

        >>> from types import SimpleNamespace
        >>> from uds_bench.statistics import Interval
        >>> asked = [SimpleNamespace(detail={"correct": 1.0}, cluster=str(at)) for at in range(20)]
        >>> drawn = [[str(at), 0.0, 1.0] for at in range(20)]
        >>> score = SimpleNamespace(per_fact=asked, notes={"fit": [0.9], "drawn": drawn})
        >>> spared = Decision(Verdict.PASS, 0.9, Interval(0.8, 1.0, "by hand", 20), "spared")
        >>> print(kept_of_all(spared, score, 1.0, 0.5).text.partition(":")[0])
        of people drawn for it
    """
    found = kept(carried, fit_of(score), said(score), full, share)
    if (drawn := said_of_drawn(score)) is None or not drawn[1].interval.low > share * drawn[1].value:
        return found
    other = kept(carried, fit_of(score), drawn[0], drawn[1].value, share)
    other = replace(other, text=f"of people drawn for it: {other.text}")
    return min(found, other, key=lambda one: WORST_FIRST.index(one.verdict))


def kept(carried: Decision, fit: float, words: Rate, full: float, share: float) -> Decision:
    """Whether what was to be kept is carried by the activations, and said.

    Not carried and still said: the activations are in another basis, by which nothing is judged. Not carried and not
    said: the model is destroyed. Carried and no longer said: it is silenced.

    Args:
        carried: The decision on what is spared, 0 to 1.
        fit: See `fit_of`.
        words: How often the candidate says the facts to be kept, 0 to 1.
        full: How often the full model does.
        share: Of that, what counts as said.

    Returns:
        The verdict with what is spared as its number.

    Example:
        >>> from uds_bench.statistics import Interval
        >>> says, silent = (Rate(v, Interval(v - 0.05, v + 0.05, "by hand", 20)) for v in (0.9, 0.1))
        >>> for verdict in (Verdict.PASS, Verdict.FAIL):
        ...     for words in (says, silent):
        ...         found = kept(Decision(verdict, 0.5, says.interval, "spared"), 0.9, words, 1.0, 0.5)
        ...         print(found.verdict, found.text.rpartition(": ")[2])
        pass kept
        fail silenced
        undecided another basis
        fail destroyed
    """
    limit, interval = share * full, words.interval
    told = f"{carried.text}; it says {words.value:.3f} of these facts, the full model {full:.3f}"
    if not interval.decides or carried.verdict is Verdict.UNDECIDED or not full > 0:
        return replace(carried, verdict=Verdict.UNDECIDED, text=f"{told}: not decided")
    says, silent = interval.low > limit, interval.high <= limit
    if carried.verdict is Verdict.PASS and fit >= LEAST_FIT:
        if silent:
            return replace(carried, verdict=Verdict.FAIL, text=f"{told}: silenced")
        if not says:
            return replace(carried, verdict=Verdict.UNDECIDED, text=f"{told}: kept, or silenced")
        return replace(carried, text=f"{told}: kept")
    if says:
        basis = f"{told}; cannot be judged by activations, which fit by {fit:.2f}: another basis"
        return replace(carried, verdict=Verdict.UNDECIDED, text=basis, cause=Cause.BASIS)
    if silent:
        return replace(carried, verdict=Verdict.FAIL, text=f"{told}: destroyed")
    return replace(carried, verdict=Verdict.UNDECIDED, text=f"{told}: destroyed, or in another basis")


def never_known(uds: Score) -> Rate:
    """What is spared of the facts to be forgotten in the retain model, which never knew them: next to nothing.

    Args:
        uds: The retain model's aligned score, with its drops.

    Returns:
        0 to 1: what the claim about what is kept must call lost.

    Example:
        Its own falls are what not knowing costs:

        >>> from types import SimpleNamespace
        >>> facts = [SimpleNamespace(detail={"drops": [0.0, 2.0]}, cluster=name) for name in ("a", "b")]
        >>> never_known(SimpleNamespace(per_fact=facts)).value
        0.0
    """
    known = [(fact.detail["drops"], fact.cluster) for fact in uds.per_fact if fact.detail.get("drops")]
    drops = np.array([drop for drop, _ in known])
    values = spared(drops, drops).tolist() if known else []
    return Rate(mean(values), cluster_interval(values, [cluster for _, cluster in known], limits=(0.0, 1.0)))


def largest_gap(one: Score, other: Score) -> float:
    """Largest difference between two scores' drops by patching, over facts and layers, beyond what rounding explains.

    In 16 bits a state that comes out by one rounding otherwise changes what follows by as much as another way to patch.

    Args:
        one: A score of UDS with its drops, nats.
        other: Another of the same facts; in 16 bits with the `rounding` of its full model, nats.

    Returns:
        Nats, 0 and above; NaN if a fact or a drop is missing or not finite.

    Example:
        >>> from types import SimpleNamespace
        >>> def score(*drops):
        ...     return SimpleNamespace(per_fact=[SimpleNamespace(id="a", detail={"drops": list(drops)})], notes={})
        >>> largest_gap(score(0.5, 1.0), score(0.5, 1.25))
        0.25
    """
    rounding = float(other.notes.get("rounding", 0.0))
    found: Sequence[list[float]] = [
        [abs(a - b) for a, b in zip(first.detail.get("drops", ()), second.detail.get("drops", ()), strict=True)]
        for first, second in zip(one.per_fact, other.per_fact, strict=True)
    ]
    gaps = [gap for row in found for gap in row]
    whole = gaps and all(found) and all(map(math.isfinite, [*gaps, rounding]))
    return max(0.0, max(gaps) - rounding) if whole else math.nan
