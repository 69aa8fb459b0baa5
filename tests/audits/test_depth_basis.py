"""What the fit of a map lets a number of depth decide, on scores written by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from uds_bench.audits.depth import basis
from uds_bench.audits.depth.claims import LEAST_FIT
from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.facts import FactSet, load_facts
from uds_bench.metrics import METRICS
from uds_bench.metrics.metric import Measured
from uds_bench.metrics.subject import ReferenceModels, Subject
from uds_bench.scores import FactScore, Score
from uds_bench.statistics import Interval, Rate
from uds_bench.verdicts import Cause, Decision, Verdict, decide_identity
from uds_bench.zoo.specimens import folder

GOOD, POOR = LEAST_FIT + 0.3, LEAST_FIT - 0.1
LIMIT = 0.5


def scored(own: float | None, yardstick: float | None) -> Score:
    told = {"fit": own, "retain_fit": yardstick}
    notes = {name: [GOOD, fit] for name, fit in told.items() if fit is not None}
    return replace(Score("any", "none", "uds", "aligned", 0.8, None, ()), notes=notes)


def decided(verdict: Verdict) -> Decision:
    return Decision(verdict, 0.6, Interval(0.55, 0.65, "by hand", 20), "observed 0.600")


@pytest.mark.parametrize(
    ("own", "yardstick", "open_"),
    [
        (GOOD, GOOD, set()),
        (POOR, GOOD, {Verdict.PASS}),
        (math.nan, GOOD, {Verdict.PASS}),
        (None, GOOD, {Verdict.PASS}),
        (GOOD, POOR, {Verdict.PASS, Verdict.FAIL}),
        (GOOD, math.nan, {Verdict.PASS, Verdict.FAIL}),
        (GOOD, None, {Verdict.PASS, Verdict.FAIL}),
    ],
)
def test_states_that_do_not_fit_decide_nothing(own: float | None, yardstick: float | None, open_: set[Verdict]) -> None:
    """But what is recovered although the candidate's fit badly is known; of the retain model's both sides are blind."""
    for verdict in (Verdict.PASS, Verdict.FAIL):
        found = basis.readable(decided(verdict), scored(own, yardstick))
        assert found.verdict is (Verdict.UNDECIDED if verdict in open_ else verdict)
        assert (found.cause is Cause.BASIS) == (verdict in open_)


def words(low: float, high: float, units: int = 20) -> Rate:
    return Rate((low + high) / 2, Interval(low, high, "by hand", units))


SAYS, SAYS_NOTHING, BETWEEN, FEW = words(0.6, 0.9), words(0.1, 0.4), words(0.4, 0.6), words(0.6, 0.9, units=2)


@pytest.mark.parametrize(
    ("carried", "fit", "said", "verdict", "told"),
    [
        (Verdict.PASS, GOOD, SAYS, Verdict.PASS, "kept"),
        (Verdict.PASS, GOOD, BETWEEN, Verdict.UNDECIDED, "kept, or silenced"),
        (Verdict.PASS, GOOD, SAYS_NOTHING, Verdict.FAIL, "silenced"),
        (Verdict.PASS, POOR, SAYS, Verdict.UNDECIDED, "another basis"),
        (Verdict.PASS, math.nan, SAYS, Verdict.UNDECIDED, "another basis"),
        (Verdict.FAIL, GOOD, SAYS, Verdict.UNDECIDED, "another basis"),
        (Verdict.FAIL, GOOD, BETWEEN, Verdict.UNDECIDED, "destroyed, or in another basis"),
        (Verdict.FAIL, GOOD, SAYS_NOTHING, Verdict.FAIL, "destroyed"),
        (Verdict.PASS, GOOD, FEW, Verdict.UNDECIDED, "not decided"),
        (Verdict.UNDECIDED, GOOD, SAYS, Verdict.UNDECIDED, "not decided"),
    ],
)
def test_what_is_kept_is_carried_and_said(
    carried: Verdict, fit: float, said: Rate, verdict: Verdict, told: str
) -> None:
    found = basis.kept(decided(carried), fit, said, full=1.0, share=LIMIT)
    assert found.verdict is verdict
    assert found.text.rpartition(": ")[2] == told


def spared_of(drawn: list[list[Any]]) -> Score:
    """All whom everybody is asked about are told."""
    rows = tuple(FactScore(f"{at}", f"a{at}", 1.0, detail={"correct": 1.0}) for at in range(20))
    return replace(scored(GOOD, GOOD), per_fact=rows, notes={"fit": [GOOD], "drawn": drawn})


@pytest.mark.parametrize(
    ("own", "full", "people", "verdict"),
    [
        (1.0, 1.0, 40, Verdict.PASS),
        (0.0, 1.0, 40, Verdict.FAIL),
        (None, 1.0, 40, Verdict.UNDECIDED),
        (0.0, 1.0, 2, Verdict.PASS),  # so few that the full model would not be seen to keep them
        (0.0, 0.0, 40, Verdict.PASS),  # nor does it
    ],
)
def test_people_drawn_for_a_model_are_kept_as_well(
    own: float | None, full: float, people: int, verdict: Verdict
) -> None:
    """Who keeps those alone that everybody is asked about has destroyed the rest."""
    drawn = [[f"b{at}", at % 2 if own is None else own, full] for at in range(people)]
    found = basis.kept_of_all(decided(Verdict.PASS), spared_of(drawn), full=1.0, share=LIMIT)
    assert found.verdict is verdict
    assert ("of people drawn for it: " in found.text) is (verdict is not Verdict.PASS)


def test_where_the_full_model_says_nothing_nothing_is_decided() -> None:
    assert basis.kept(decided(Verdict.PASS), GOOD, SAYS, full=0.0, share=LIMIT).verdict is Verdict.UNDECIDED


@pytest.fixture(scope="module")
def references() -> dict[str, Any]:
    return {name: load(CheckpointSpec(str(folder(name)))) for name in ("full", "retain")}


@pytest.mark.parametrize(("each", "verdict"), [(1, Verdict.UNDECIDED), (2, Verdict.PASS)])
def test_text_at_fewer_positions_than_states_are_wide_leaves_the_map_open(
    references: dict[str, Any], each: int, verdict: Verdict
) -> None:
    """One question of each of two people: any turn of what they leave open fits as well. Two, and there is one map."""
    facts = load_facts("authors")
    kept = [
        fact
        for person in facts.split("retain").clusters[:2]
        for fact in [fact for fact in facts if fact.cluster == person][:each]
    ]
    some = FactSet([*list(facts.split("forget"))[:8], *kept])
    known = ReferenceModels(references.__getitem__, {name: one.digest for name, one in references.items()}, some)
    subject = Subject(references["retain"], known)
    own, turned = (scored_by(METRICS["uds"].compute(subject, variant)) for variant in ("aligned", "turned"))
    found = basis.unique(decide_identity(basis.largest_gap(own, turned), 0.0, 1e-5, "largest difference"), own)
    assert found.verdict is verdict
    if verdict is Verdict.UNDECIDED:
        width = references["full"].model.config.hidden_size
        assert own.notes["positions"] < width
        assert (found.cause, found.advice) == (Cause.UNITS, basis.MORE_TEXT)
        assert f"needs {own.notes['positions'] + own.notes['open']} positions or more, of about " in found.text


def scored_by(found: Measured) -> Score:
    return SimpleNamespace(per_fact=found.values, notes=found.notes)


def test_a_difference_where_the_map_is_known_stays_a_fault() -> None:
    for gap, still in ((1.0, 0), (math.nan, 9)):
        score = replace(scored(GOOD, GOOD), notes={"open": still, "positions": 90, "people": 2})
        assert basis.unique(decide_identity(gap, 0.0, 1e-5, "difference"), score).verdict is Verdict.FAIL


def test_in_16_bits_a_difference_counts_beyond_rounding() -> None:
    def score(drop: float, **notes: float) -> Any:
        return SimpleNamespace(per_fact=[SimpleNamespace(id="a", detail={"drops": [drop]})], notes=notes)

    assert basis.largest_gap(score(1.0), score(1.5)) == 0.5
    assert basis.largest_gap(score(1.0), score(1.5, rounding=0.25)) == 0.25
    assert basis.largest_gap(score(1.0), score(1.5, rounding=2.0)) == 0.0
    assert math.isnan(basis.largest_gap(score(1.0), score(1.5, rounding=math.nan)))
    assert math.isnan(basis.largest_gap(score(math.nan), score(1.5, rounding=0.25)))
