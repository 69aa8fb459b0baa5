import pytest
from dom import Page
from example import example
from hypothesis import given
from hypothesis import strategies as st
from made_reports import report_of

from uds_bench.audits import registry
from uds_bench.audits.depth import page as depth
from uds_bench.claims.record import Bound, ClaimRecord
from uds_bench.figures.bars import Share, shares
from uds_bench.figures.histogram import bin_counts
from uds_bench.figures.spelling import spell
from uds_bench.figures.svg import Scale, domain, element, ticks
from uds_bench.report.claim import read_claims
from uds_bench.report.number_line import lineups, zone
from uds_bench.report.score_tables import gaps, pivot
from uds_bench.scores import FactScore, Score

FINITE = st.floats(-1e6, 1e6)


def score_of(*facts, **more):
    rows = tuple(FactScore(**{"id": "a", "cluster": "a", "value": None} | fact) for fact in facts)
    names = {"checkpoint": "npo", "attack": "none", "metric": "uds", "variant": "block", "value": None}
    return Score(**names | more, per_fact=rows)


def test_mean_drops_average_each_layer():
    facts = [
        {"detail": {"retain_drops": [1.0, 3.0], "drops": [0.0, 1.0]}},
        {"detail": {"retain_drops": [3.0, 5.0], "drops": [1.0, 2.0]}},
        {"detail": {"retain_drops": [1.0], "drops": [1.0]}},
        {"detail": {"retain_drops": [1.0, None], "drops": [1.0, 1.0]}},
    ]
    assert depth.mean_drops(score_of(*facts)) == ([2.0, 4.0], [0.5, 1.5], 2)
    assert depth.mean_drops(score_of({"detail": {}})) is None


def test_over_unlearning_counts_ratios_above_the_limit():
    facts = [{"id": str(ratio), "detail": {"unclipped": ratio}} for ratio in (0.2, 1.0, 1.05, 1.06, 9.0, None)]
    assert depth.over_unlearned(score_of(*facts)) == Share("npo", ("1.06", "9.0"), 5)


def test_facts_without_layers_are_told_from_facts_without_the_detail():
    facts = [{"id": "a", "detail": {"knowledge_layers": []}}, {"id": "b", "detail": {"knowledge_layers": [0]}}]
    assert depth.without_layers(score_of(*facts, {"id": "c"})) == Share("npo", ("a",), 2)


def test_kinds_are_averaged_over_scored_facts():
    facts = [{"kind": "award", "value": 0.2}, {"kind": "award", "value": 0.4}, {"kind": "award", "value": None}]
    ((name, cells),) = depth.by_kind([score_of(*facts, {"value": 1.0})])
    assert name == "npo"
    assert cells["award"].value == pytest.approx(0.3)
    assert cells["award"].n == 2


def test_depth_draws_the_first_form_of_each_checkpoint_without_attack():
    scores = [
        score_of({"value": 0.5}, variant=variant, attack=attack, value=value)
        for variant, attack, value in (("block", "nf4", 0.2), ("block", "none", 0.5), ("mlp", "none", 0.1))
    ]
    (figure,) = depth.draw(scores)
    assert len(figure.panels) == 1
    assert "mean 0.500" in figure.panels[0]


def test_one_lineup_of_candidates_with_controls_once():
    claims = read_claims(map(ClaimRecord.from_json, example()["claims"]))
    (lineup,) = lineups(registry.chapters()["depth"], claims)
    names = {group.title: [row.claim.record.subject for row in group.rows] for group in lineup.groups}
    assert names == {
        "Stopping the release": ["broken"],
        "Passing": ["npo", "grad_diff"],
        "Set apart: not passes": ["npo_weak", "simnpo", "idk"],
    }
    assert [row.control.name for row in lineup.controls] == ["full2", "retain2"]
    related = {
        row.claim.record.subject: [other.record.id for other in row.related] for g in lineup.groups for row in g.rows
    }
    assert related["simnpo"] == ["depth.hidden"]


def test_intervals_are_drawn_where_they_lie():
    (lineup,) = lineups(registry.chapters()["depth"], read_claims(map(ClaimRecord.from_json, example()["claims"])))
    drawn = next(row for group in lineup.groups for row in group.rows if row.claim.record.subject == "simnpo")
    page = Page(drawn.axis)
    x = Scale(0, 1, 14, 446)
    (dot,), (bar,) = page.all("circle"), page.all("rect", "bar")
    (edge,), (passing,) = page.all("line", "bound"), page.all("rect", "zone")
    span = drawn.claim.record.interval
    assert float(dot.attributes["cx"]) == pytest.approx(x(drawn.claim.record.observed), abs=0.01)
    assert float(bar.attributes["x"]) == pytest.approx(x(span.low), abs=0.01)
    assert float(bar.attributes["width"]) == pytest.approx(x(span.high) - x(span.low), abs=0.01)
    assert float(edge.attributes["x1"]) == float(passing.attributes["x"]) == pytest.approx(x(0.7), abs=0.01)


def test_zones_follow_the_relation():
    infinite = float("inf")
    assert zone(Bound(">=", 0.7, "", ""), "threshold") == (0.7, infinite)
    assert zone(Bound("<", 0.7, "", ""), "threshold") == (-infinite, 0.7)
    assert zone(Bound("", 0.1, "", ""), "equivalence") == (-0.1, 0.1)
    assert zone(Bound("==", 1e-5, "", ""), "identity") is None
    assert zone(Bound(">=", None, "", ""), "threshold") is None


def test_gaps_join_checkpoints_with_the_same_reasons():
    run = report_of(example(), "run")
    (gap,) = gaps(run.scores)
    assert gap.metric == "uds block"
    assert len(gap.checkpoints) == 7
    assert [count for _, count in gap.reasons] == [4]


def test_pivot_keeps_attacks_and_variants_apart():
    scores = [
        score_of(checkpoint="a", attack=attack, variant=variant, value=0.1)
        for attack in ("none", "nf4")
        for variant in ("block", "mlp")
    ]
    found = pivot(scores)
    assert found.subjects == (("a", "none"), ("a", "nf4"))
    assert found.columns == (("uds", "block"), ("uds", "mlp"))
    assert len(found.cells) == 4
    assert found.cell(("a", "none"), ("em", "")) is None


def test_bins_hold_their_lower_edge_and_the_last_holds_the_end():
    assert bin_counts([0.0, 0.1, 0.3, 0.7, 0.999, 1.0], (0, 1)) == [1, 1, 0, 1, 0, 0, 0, 1, 0, 2]


@given(st.lists(FINITE, min_size=1))
def test_bins_lose_no_value(values):
    assert sum(bin_counts(values, (0.0, 1.0))) == len(values)


@given(FINITE, FINITE)
def test_ticks_lie_inside_and_are_few(one, other):
    low, high = min(one, other), max(one, other)
    slack = 1e-6 * max(high - low, 1e-6)
    found = ticks(low, high)
    assert 1 <= len(found) <= 7
    assert all(low - slack <= mark <= high + slack for mark in found)
    assert found == sorted(set(found))


def test_ticks_are_round():
    assert ticks(0, 1) == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert ticks(0, 3) == [0, 1, 2, 3]


@given(st.lists(FINITE, min_size=1))
def test_the_domain_holds_every_value(values):
    low, high = domain(values)
    assert low <= min(values)
    assert max(values) <= high
    assert low < high
    assert domain(values, (0.0, 1.0)) == (min(0.0, *values), max(1.0, *values))


def test_the_scale_stops_at_its_edges():
    x = Scale(0, 2, 10, 20)
    assert [x(value) for value in (-1, 0, 1, 2, 3)] == [10, 10, 15, 20, 20]
    assert Scale(1, 1, 10, 20)(1) == 15


def test_elements_escape_attributes_and_children():
    made = element("text", "<b>", element("i", "&"), class_='"x', stroke_width=2.0, x=None)
    assert made == '<text class="&#34;x" stroke-width="2">&lt;b&gt;<i>&amp;</i></text>'


def test_shares_name_the_facts():
    (panel,) = shares([Share("npo", ("a1", "a2"), 4)])
    assert "2 of 4 (50%)" in panel
    assert "npo: a1, a2" in panel
    assert shares([]) == ()


def test_numbers_are_spelt_so_that_small_ones_do_not_vanish():
    assert [spell(value) for value in (0.0, 0.7, 3.1e-7, -2, None)] == ["0.000", "0.700", "3.1e-07", "-2.000", "–"]
