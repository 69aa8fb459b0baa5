"""The metrics judged, on the page: every row with its interval, every gap with its reason, whatever the document."""

import copy

import pytest
from dom import Page
from example import judged, render
from made_scores import MODELS
from test_report_odd import sound

from replication import page as published
from uds_bench.audits.metrics.judged_metrics import JUDGED
from uds_bench.audits.metrics.page import diagnostics, faithfulness, ranking, robustness
from uds_bench.audits.metrics.part import HiddenFact, MetricsPart
from uds_bench.claims.report_part import span
from uds_bench.figures.histogram import pools
from uds_bench.figures.scatter import Point, scatter
from uds_bench.figures.svg import Scale
from uds_bench.figures.tables import figures, interval_table, track

RUN = judged()
META = SECTION = RUN["metrics"]
AUDITS = (faithfulness, robustness, ranking, diagnostics)


def body(figure):
    """The rows of the figure's first table, without its head."""
    return Page(str(figure.panels[0])).all("tr")[1:]


def part(meta=META):
    return MetricsPart.model_validate(meta)


def changed(*path, to):
    meta = copy.deepcopy(META)
    target = meta
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = to
    return part(meta)


# ---- rows


def test_every_metric_has_its_row_in_every_table():
    """What the row of one says is in the snapshot of the chapter."""
    for table in (faithfulness.table(part()), *robustness.draw(part())[:2]):
        for row, shown in zip(META["rows"], body(table), strict=True):
            assert shown.text.startswith(row["label"])


@pytest.mark.parametrize("lost", [None, float("nan")])
def test_a_row_without_a_value_says_why(lost):
    why = "idk: not scored; npo under nf4: no finite value"
    meta = copy.deepcopy(META)
    for name in ("faithfulness", "rob"):
        meta["rows"][3] |= {name: lost, f"{name}_low": lost, f"{name}_high": lost, "missing": why}
    for figure in (faithfulness.table(part(meta)), robustness.draw(part(meta))[0]):
        rows = body(figure)
        assert [why in row.text for row in rows] == [i == 3 for i in range(len(JUDGED))]
        assert "–" in rows[3].text
        assert "nan" not in rows[3].text
    label = META["rows"][3]["label"]
    assert f'aria-label="{label}: –"' in str(faithfulness.table(part(meta)).panels[0]), "no dot, and no interval"


def test_a_reason_is_not_told_of_a_row_that_has_its_value():
    """Robustness may lack what faithfulness does not need."""
    meta = copy.deepcopy(META)
    meta["rows"][0] |= {"rob": None, "missing": "idk under nf4: not scored"}
    assert "not scored" not in body(faithfulness.table(part(meta)))[0].text
    assert "not scored" in body(robustness.draw(part(meta))[0])[0].text


# ---- pools


def test_every_metric_has_its_pools_drawn_at_their_values():
    figure = faithfulness.histograms(part())
    assert len(figure.panels) == len(JUDGED)
    for row, panel in zip(META["pools"], figure.panels, strict=True):
        page = Page(str(panel))
        (picture,) = page.all("svg")
        assert picture.attributes["aria-label"].startswith(f"{row['label']}: AUC {row['auc']:.3f}, best cut ")
        assert f"{len(MODELS.positive)} know" in page.all("svg")[0].text
        assert f"{len(MODELS.negative)} never knew" in page.all("svg")[0].text
        for kind, counts in (("own", row["positive"]), ("never", row["negative"])):
            assert len(page.all("rect", kind)) == sum(count > 0 for count in counts)


@pytest.mark.parametrize("key", ["edges", "positive", "negative"])
def test_pools_of_nobody_are_not_drawn(key):
    assert len(faithfulness.histograms(changed("pools", 0, key, to=[])).panels) == len(JUDGED) - 1


def test_knowing_models_rise_and_others_hang_from_the_axis():
    page = Page(str(pools("EM", 0.5, (0.0, 0.5, 1.0), (1, 3), (2, 0), 0.5)))
    own, never = page.all("rect", "own"), page.all("rect", "never")
    assert (len(own), len(never)) == (2, 1)
    heights = [float(e.attributes["height"]) for e in own]
    assert heights[1] == pytest.approx(3 * heights[0], abs=0.05)
    bottoms = {float(e.attributes["y"]) + float(e.attributes["height"]) for e in own}
    assert bottoms == {float(never[0].attributes["y"])}
    (cut,) = page.all("line", "bound")
    assert float(cut.attributes["x1"]) == pytest.approx(Scale(0, 1, 14, 240)(0.5))
    assert not Page(str(pools("EM", None, (0.0, 1.0), (1,), (2,), None))).all("line", "bound")
    assert not Page(str(pools("EM", None, (0.0, 1.0), (1,), (2,), 1.5))).all("line", "bound")


def test_pools_of_one_value_are_drawn():
    page = Page(str(pools("EM", 0.5, (0.3, 0.3), (1,), (1,), 0.3)))
    assert len(page.all("rect")) == 2
    assert "nan" not in str(page.elements)


# ---- points


@pytest.mark.parametrize("attack", ["nf4", "relearn"])
def test_every_candidate_is_a_point_that_counts_or_says_why_not(attack):
    figure = robustness.moves(part(), attack)
    assert len(figure.panels) == len(JUDGED)
    for row, panel in zip((r for r in META["attacks"] if r["attack"] == attack), figure.panels, strict=True):
        page = Page(str(panel))
        hints = {e.text.split(" ")[0]: e.text for e in page.all("title")[1:]}
        circles = page.all("circle")
        assert len(circles) == len(row["points"]) == len(MODELS.candidates)
        for point, circle in zip(row["points"], circles, strict=True):
            assert ("reference" in circle.classes) == bool(point["why"])
            assert point["why"] in hints[point["model"]]
            assert f"{point['before']:.3f} to {point['after']:.3f}" in hints[point["model"]]
        kept = sum(point["kept"] for point in row["points"])
        assert f"{kept} of {len(MODELS.candidates)} count" in page.all("svg")[0].text
        assert len(page.all("path", "mean")) == (attack == "relearn")
        assert len(page.all("line", "bound")) == (attack == "relearn" and bool(row["shift"]))


def test_quantization_moves_no_line():
    """What the retain model does under it is no standard: a metric is to stay where it was."""
    meta = changed("attacks", 0, "shift", to=0.2)
    assert meta.attacks[0].attack == "nf4"
    assert not Page(str(robustness.moves(meta, "nf4").panels[0])).all("line", "bound")


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_candidate_without_a_value_is_told(side):
    first = META["attacks"][0]["points"]
    meta = changed("attacks", 0, "points", to=[first[0] | {side: None}, *first[1:]])
    page = Page(str(robustness.moves(meta, "nf4").panels[0]))
    assert len(page.all("circle")) == len(first) - 1
    (picture,) = page.all("svg")
    assert f"{first[0]['model']} has no value" in picture.attributes["aria-label"]
    assert f"of {len(first)} count, 1 without a value" in picture.text


def test_points_lie_where_their_values_are_and_the_lines_beside_them():
    points = [Point("a", 0.2, 0.4), Point("b", 0.5, 0.5, "it still knows")]
    page = Page(str(scatter("EM", points, 0.25, Point("retain", 0.1, 0.35))))
    x, y = Scale(0, 1, 34, 240), Scale(0, 1, 216, 30)
    for point, circle in zip(points, page.all("circle"), strict=True):
        assert float(circle.attributes["cx"]) == pytest.approx(x(point.before), abs=0.01)
        assert float(circle.attributes["cy"]) == pytest.approx(y(point.after), abs=0.01)
    (dashed,) = page.all("line", "bound")
    ends = [float(dashed.attributes[name]) for name in ("x1", "y1", "x2", "y2")]
    assert ends == pytest.approx([x(0), y(0.25), x(0.75), y(1)], abs=0.01)
    assert not Page(str(scatter("EM", points, None, None))).all("line", "bound")
    assert not Page(str(scatter("EM", points, 5.0, None))).all("line", "bound"), "beyond both axes"


def test_one_point_is_drawn():
    page = Page(str(scatter("EM", [Point("a", -3.0, -3.0)], None, None)))
    assert len(page.all("circle")) == 1
    assert "1 of 1 count" in page.all("svg")[0].text


# ---- ranks


@pytest.mark.parametrize(("shift", "told"), [(2, "▲ 2"), (-1, "▼ 1"), (0, "=")])
def test_a_shift_says_which_way(shift, told):
    assert body(ranking.ranks(changed("ranks", 0, "shift", to=shift)))[0].text.endswith(told)


def test_a_candidate_that_is_not_ranked_says_why():
    meta = changed("no_standing", to=[{"model": "lost", "reason": "lost has no value of em: score them first"}])
    *ranked, lost = body(ranking.standings(meta))
    assert len(ranked) == len(META["standings"])
    assert lost.text.startswith("lost")
    assert "lost has no value of em" in lost.text


# ---- diagnostics


def test_a_threshold_without_an_auc_is_absent():
    row = META["diagnostics"]["tau"][0] | {"auc": None, "low": None, "high": None, "models": []}
    gone = changed("diagnostics", "tau", 0, to=row).diagnostics
    assert body(diagnostics.tau(gone))[0].text.count("–") >= 2


def test_without_words_the_hidden_fact_is_shown_in_counts():
    case = copy.deepcopy(META["diagnostics"]["hidden"])
    for key in ("question", "prefix", "entity"):
        del case[key]
    for told in (case["said"], *(layer[way] for layer in case["layers"] for way in ("lens", "patched"))):
        told.pop("text", None)
    figure = diagnostics.hidden(HiddenFact.model_validate(case))
    assert "Asked" not in figure.caption
    assert "“" not in figure.caption + str(figure.panels[0])
    assert "0 of 1 tokens right" in body(figure)[0].text


def test_a_hidden_fact_that_could_not_be_read_says_why():
    told = {"error": "npo: model.safetensors is cut short"}
    case = {"model": "npo", "fact": "a0/1", "lens": 0.9, "uds": 0.1, "drops": []} | told
    (row,) = body(diagnostics.hidden(HiddenFact.model_validate(case)))
    assert "npo: model.safetensors is cut short" in row.text


def test_the_weights_of_layers_stand_above_each_candidate():
    figure = diagnostics.layers(part().diagnostics)
    assert len(figure.panels) == 4
    for panel in figure.panels:
        names = [e.text for e in Page(str(panel)).all("th") if e.attributes["scope"] == "row"]
        assert names == ["weight", *MODELS.candidates]


# ---- cells


def test_a_track_shows_value_interval_and_mark_where_they_lie():
    page, x = Page(str(track("EM", 0.75, span(0.5, 0.9), mark=0.5))), Scale(0, 1, 6, 184)
    (dot,), (bar,), (mark,) = page.all("circle"), page.all("rect", "bar"), page.all("line", "bound")
    assert float(dot.attributes["cx"]) == pytest.approx(x(0.75), abs=0.01)
    assert float(bar.attributes["x"]) == float(mark.attributes["x1"]) == pytest.approx(x(0.5), abs=0.01)
    assert float(bar.attributes["width"]) == pytest.approx(x(0.9) - x(0.5), abs=0.01)
    bare = Page(str(track("EM", None, None)))
    assert not bare.all("circle")
    assert not bare.all("rect")
    assert bare.all("svg")[0].attributes["aria-label"] == "EM: –"


def test_a_sheet_shows_what_is_absent_as_such():
    (panel,) = interval_table(("name", "", "x"), [("<b>", [figures(None), None, 0.25])])
    page = Page(str(panel))
    assert [e.text for e in page.all("td")] == ["–", "–", "0.250"]
    assert [("absent" in e.classes) for e in page.all("td")] == [True, True, False]
    assert "&lt;b&gt;" in panel
    assert interval_table(("name",), []) == ()


def test_published_tables_are_shown_by_their_claims_alone():
    assert published.CHAPTERS[0].judge(part()) == []
    assert published.CHAPTERS[0].name == "published"


# ---- odd documents


def small():
    """The document with two metrics, quick to draw many times."""
    meta = copy.deepcopy(META)
    for key in ("rows", "unfiltered", "pools", "attacks"):
        meta[key] = [row for row in meta[key] if row["metric"] in ("em", "uds")]
    meta["diagnostics"]["facts"] = meta["diagnostics"]["facts"][:3]
    return meta


SMALL = small()


def test_one_model_of_each_kind_is_enough_for_a_page():
    from made_scores import METHODS, UTILITY, made

    from uds_bench.audits.metrics.document import meta_document
    from uds_bench.audits.metrics.metric_rows import Models, evaluate
    from uds_bench.metrics import METRICS
    from uds_bench.scores import Scores

    models = Models("full", "retain", ("knows0",), ("never0",), ("npo",))
    scores = Scores(made(n, m, attack) for n, attack in models.needed() for m in (*JUDGED, "entity_accuracy"))
    judged_metrics = [METRICS[name] for name in JUDGED]
    rows = {row.metric: row for row in evaluate(scores, judged_metrics, models, utility=UTILITY)}
    meta = {"lacks": ""} | meta_document(rows, rows, models, scores, UTILITY, METHODS)
    drawn, whole = ([one.title for audit in AUDITS for one in audit.draw(part(told))] for told in (meta, META))
    # The layers of the hidden fact and the parts of a block were not read.
    assert drawn == [title for title in whole if title not in ("Observed beside caused", "Parts of a block")]
    sound(render(RUN | {"metrics": meta}))
    assert len(body(faithfulness.table(part(meta)))) == len(JUDGED)
