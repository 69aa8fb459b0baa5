"""The metrics judged, on the page: every row with its interval, every gap with its reason, whatever the document."""

import copy
import re

import pytest
from dom import Page
from example import judged, render
from hypothesis import given, settings
from hypothesis import strategies as st
from made_scores import MODELS
from test_report_odd import ATTACK, JUNK, places, poisoned

from replication import page as published
from uds_bench.audits.metrics.judged import JUDGED
from uds_bench.audits.metrics.page import diagnostics, faithfulness, ranking, robustness
from uds_bench.figures.ledger import figures, ledger, track
from uds_bench.figures.pools import pools
from uds_bench.figures.reading import Interval
from uds_bench.figures.scatter import Point, scatter
from uds_bench.figures.svg import Scale

RUN = judged()
META = RUN["metrics"]
AUDITS = (faithfulness, robustness, ranking, diagnostics)
TITLES = [
    "Faithfulness of every metric",
    "The pools, metric by metric",
    "Robustness of every metric",
    "Robustness without the filters",
    "Quantization (NF4), before and after",
    "Relearning, before and after",
    "Methods ranked, without and with UDS",
    "Axes of each candidate",
    "Observed beside caused",
    "What the threshold of knowledge layers changes",
    "Which layers decide",
    "Parts of a block",
    "Depth by length of the entity",
    "Depth by knowledge layers",
]


def body(figure):
    """The rows of the figure's first table, without its head."""
    return Page(str(figure.panels[0])).all("tr")[1:]


def changed(*path, to):
    meta = copy.deepcopy(META)
    target = meta
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = to
    return meta


@pytest.fixture(scope="module")
def html():
    return render(RUN)


def test_every_figure_stands_on_the_page_and_says_in_words_what_it_shows(html):
    page = Page(html)
    assert page.unbalanced == []
    titles = [e.text for e in page.all("figcaption")][5:]
    assert [next(t for t in TITLES if words.startswith(f"{t}.")) for words in titles] == TITLES
    pictures = page.all("svg")
    assert len(pictures) > 3 * len(JUDGED)
    assert all(e.attributes["role"] == "img" and len(e.attributes["aria-label"]) > 10 for e in pictures)
    for figure in (figure for audit in AUDITS for figure in audit.CHAPTER.judge(META)):
        panels = Page("".join(map(str, figure.panels)))
        assert panels.all("table") or panels.all("svg"), figure.title
        assert len(figure.caption) > 40


def test_the_page_needs_nothing_from_outside(html):
    page = Page(html)
    assert not [e for e in page.elements for name in e.attributes if name in ("src", "srcset", "data", "xlink:href")]
    assert all(e.attributes["href"].startswith("#") for e in page.all("a"))
    assert not page.all("link")
    assert not re.search(r"@import|url\(|https?:", html)


def test_a_run_that_judged_nothing_has_none_of_it():
    for meta in ({}, {"lacks": "no pools"}, None, [], 3):
        assert [
            figure for audit in AUDITS for figure in audit.CHAPTER.judge(meta if isinstance(meta, dict) else {})
        ] == []
        page = Page(render(RUN | {"metrics": meta}))
        assert not any(title in e.text for title in TITLES for e in page.all("figcaption"))


# ---- rows


def test_all_twenty_rows_have_their_auc_with_its_interval():
    rows = body(faithfulness.table(META))
    assert len(rows) == len(JUDGED)
    for row, shown in zip(META["rows"], rows, strict=True):
        assert shown.text.startswith(row["label"])
        assert f"{row['faithfulness']:.3f}{row['faithfulness_low']:.3f}..{row['faithfulness_high']:.3f}" in shown.text
        assert f"{row['cut']:.3f}" in shown.text
        assert all(row[key] in shown.text for key in ("category", "tags", "direction"))
    tracks = Page(str(faithfulness.table(META).panels[0])).all("svg")
    assert [e.attributes["aria-label"].split(": ")[0] for e in tracks] == [row["label"] for row in META["rows"]]
    assert all(", 95% interval " in e.attributes["aria-label"] for e in tracks)


@pytest.mark.parametrize(("place", "part"), [(0, "rows"), (1, "unfiltered")])
def test_all_twenty_rows_have_q_r_rob_and_overall_with_intervals(place, part):
    rows = body(robustness.CHAPTER.judge(META)[place])
    assert len(rows) == len(JUDGED)
    for row, shown in zip(META[part], rows, strict=True):
        assert shown.text.startswith(row["label"])
        for name in ("q", "r", "rob", "overall"):
            assert f"{row[name]:.3f}{row[f'{name}_low']:.3f}..{row[f'{name}_high']:.3f}" in shown.text, name
        assert f"{row['one_sided_q']:.3f}" in shown.text
        known = [row[f"n_{word}"] for word in ("kept", "useless", "knowing")]
        assert f"{known[0]} of {sum(known)}" in shown.text
        assert (f"{known[1]} useless" in shown.text) == (known[1] > 0)
        assert (f"{known[2]} still know" in shown.text) == (known[2] > 0)


@pytest.mark.parametrize("lost", [None, float("nan"), "0.5", []])
def test_a_row_without_a_value_says_why(lost):
    why = "idk: not scored; npo under nf4: no finite value"
    meta = copy.deepcopy(META)
    for name in ("faithfulness", "rob"):
        meta["rows"][3] |= {name: lost, f"{name}_low": lost, f"{name}_high": lost, "missing": why}
    for figure in (faithfulness.table(meta), robustness.CHAPTER.judge(meta)[0]):
        rows = body(figure)
        assert [why in row.text for row in rows] == [i == 3 for i in range(len(JUDGED))]
        assert "–" in rows[3].text
        assert "nan" not in rows[3].text
    label = META["rows"][3]["label"]
    assert f'aria-label="{label}: –"' in str(faithfulness.table(meta).panels[0]), "no dot, and no interval"


def test_a_reason_is_not_told_of_a_row_that_has_its_value():
    """Robustness may lack what faithfulness does not need."""
    meta = copy.deepcopy(META)
    meta["rows"][0] |= {"rob": None, "missing": "idk under nf4: not scored"}
    assert "not scored" not in body(faithfulness.table(meta))[0].text
    assert "not scored" in body(robustness.CHAPTER.judge(meta)[0])[0].text


# ---- pools


def test_every_metric_has_its_pools_drawn_at_their_values():
    figure = faithfulness.histograms(META)
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
@pytest.mark.parametrize("odd", [None, [], [None, 1], "many", {"a": 1}])
def test_pools_that_cannot_be_read_are_not_drawn(key, odd):
    assert len(faithfulness.histograms(changed("pools", 0, key, to=odd)).panels) == len(JUDGED) - 1


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
    figure = robustness.moves(META, attack)
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
    assert meta["attacks"][0]["attack"] == "nf4"
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


def test_every_method_has_its_rank_without_and_with_uds():
    rows = body(ranking.ranks(META))
    for row, shown in zip(META["ranks"], rows, strict=True):
        assert shown.text.startswith(row["method"])
        assert f"{row['overall_without']:.3f}{row['rank_without']}{row['best_without']}" in shown.text
        assert f"{row['overall']:.3f}{row['rank']}{row['best']}" in shown.text


@pytest.mark.parametrize(("shift", "told"), [(2, "▲ 2"), (-1, "▼ 1"), (0, "="), (None, "–")])
def test_a_shift_says_which_way(shift, told):
    assert body(ranking.ranks(changed("ranks", 0, "shift", to=shift)))[0].text.endswith(told)


def test_a_candidate_that_is_not_ranked_says_why():
    meta = changed("no_standing", to=[{"model": "lost", "reason": "lost has no value of em: score them first"}])
    rows = body(ranking.standings(meta))
    assert len(rows) == len(META["standings"]) + 1
    assert rows[-1].text.startswith("lost")
    assert "lost has no value of em" in rows[-1].text
    for row, shown in zip(META["standings"], rows, strict=False):
        for axis in ("mem", "mia", "uds", "privacy", "utility", "overall"):
            assert f"{row[axis]:.3f}" in shown.text


# ---- diagnostics


def test_the_sweep_of_tau_has_an_auc_with_its_interval_a_row():
    found = META["diagnostics"]
    rows = body(diagnostics.tau(found))
    for row, shown in zip(found["tau"], rows, strict=True):
        assert shown.text.startswith(f"τ = {row['tau']:.3f}")
        assert f"{row['auc']:.3f}{row['low']:.3f}..{row['high']:.3f}" in shown.text
    gone = copy.deepcopy(found)
    gone["tau"][0] |= {"auc": None, "low": None, "high": None, "models": []}
    assert body(diagnostics.tau(gone))[0].text.count("–") >= 2


def test_the_hidden_fact_is_shown_layer_by_layer():
    case = META["diagnostics"]["hidden"]
    figure = diagnostics.hidden({"hidden": case})
    rows = body(figure)
    assert [row.text.split(" ")[0] for row in rows] == ["layer"] * 4 + ["its"]
    assert "“an essayist” (0 of 1 tokens right)“a poet” (1 of 1 tokens right)" in rows[3].text
    assert f"{case['drops'][3]:.3f}" in rows[3].text
    assert "What is Ada Vorn? Ada Vorn is" in figure.caption


def test_without_words_the_hidden_fact_is_shown_in_counts():
    case = copy.deepcopy(META["diagnostics"]["hidden"])
    for key in ("question", "prefix", "entity"):
        del case[key]
    for told in (case["said"], *(layer[way] for layer in case["layers"] for way in ("lens", "patched"))):
        told.pop("text", None)
    figure = diagnostics.hidden({"hidden": case})
    assert "Asked" not in figure.caption
    assert "“" not in figure.caption + str(figure.panels[0])
    assert "0 of 1 tokens right" in body(figure)[0].text


def test_a_hidden_fact_that_could_not_be_read_says_why():
    case = {"model": "npo", "fact": "a0/1", "lens": 0.9, "uds": 0.1, "error": "npo: model.safetensors is cut short"}
    (row,) = body(diagnostics.hidden({"hidden": case}))
    assert "npo: model.safetensors is cut short" in row.text


def test_the_weights_of_layers_stand_above_each_candidate():
    figure = diagnostics.layers(META["diagnostics"])
    assert len(figure.panels) == 4
    for panel in figure.panels:
        names = [e.text for e in Page(str(panel)).all("th") if e.attributes["scope"] == "row"]
        assert names == ["weight", *MODELS.candidates]


# ---- cells


def test_a_track_shows_value_interval_and_mark_where_they_lie():
    page, x = Page(str(track("EM", 0.75, Interval(0.5, 0.9), mark=0.5))), Scale(0, 1, 6, 184)
    (dot,), (bar,), (mark,) = page.all("circle"), page.all("rect", "bar"), page.all("line", "bound")
    assert float(dot.attributes["cx"]) == pytest.approx(x(0.75), abs=0.01)
    assert float(bar.attributes["x"]) == float(mark.attributes["x1"]) == pytest.approx(x(0.5), abs=0.01)
    assert float(bar.attributes["width"]) == pytest.approx(x(0.9) - x(0.5), abs=0.01)
    bare = Page(str(track("EM", None, None)))
    assert not bare.all("circle")
    assert not bare.all("rect")
    assert bare.all("svg")[0].attributes["aria-label"] == "EM: –"


def test_a_ledger_shows_what_is_absent_as_such():
    (panel,) = ledger(("name", "", "x"), [("<b>", [figures(None), None, 0.25])])
    page = Page(str(panel))
    assert [e.text for e in page.all("td")] == ["–", "–", "0.250"]
    assert [("absent" in e.classes) for e in page.all("td")] == [True, True, False]
    assert "&lt;b&gt;" in panel
    assert ledger(("name",), []) == ()


def test_published_tables_are_shown_by_their_claims_alone():
    assert published.CHAPTERS[0].judge(META) == []
    assert published.CHAPTERS[0].name == "published"


# ---- odd documents


def test_nothing_of_the_document_becomes_markup():
    run = RUN | {"metrics": poisoned(META, ATTACK), "claims": [], "scores": []}
    for row in run["metrics"]["attacks"]:
        row["attack"] = row["attack"].removesuffix(ATTACK)
    html = render(run)
    page = Page(html)
    assert html.count("&lt;script&gt;") > 100
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert page.all("img") == []
    assert page.unbalanced == []


@pytest.mark.parametrize("key", [key for key, value in META.items() if isinstance(value, (list, dict))])
@pytest.mark.parametrize("odd", [None, [], {}, [None, 3, "x"], "text"])
def test_a_part_may_be_of_another_kind(key, odd):
    meta = changed(key, to=odd)
    for audit in AUDITS:
        for figure in audit.CHAPTER.judge(meta):
            assert Page("".join(map(str, figure.panels))).unbalanced == []


def small():
    """The document with two metrics, quick to draw many times."""
    meta = copy.deepcopy(META)
    for key in ("rows", "unfiltered", "pools", "attacks"):
        meta[key] = [row for row in meta[key] if row["metric"] in ("em", "uds")]
    meta["diagnostics"]["facts"] = meta["diagnostics"]["facts"][:3]
    return meta


SMALL = small()
PLACES = [path for path in places(SMALL) if path]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), JUNK), min_size=1, max_size=4))
def test_any_part_of_the_document_may_be_odd(changes):
    meta = copy.deepcopy(SMALL)
    for (*path, last), junk in changes:
        target = meta
        for key in path:
            inside = isinstance(target, dict) and key in target
            listed = isinstance(target, list) and isinstance(key, int) and key < len(target)
            target = target[key] if inside or listed else None
        if isinstance(target, dict) or (isinstance(target, list) and isinstance(last, int) and last < len(target)):
            target[last] = junk
    drawn = "".join(str(panel) for audit in AUDITS for figure in audit.CHAPTER.judge(meta) for panel in figure.panels)
    page = Page(drawn)
    assert page.unbalanced == []
    names = ("x", "y", "cx", "cy", "x1", "x2", "y1", "y2", "width", "height", "d", "style")
    assert not any(w in v for e in page.elements for n, v in e.attributes.items() if n in names for w in ("nan", "inf"))


def test_one_model_of_each_kind_is_enough_for_a_page():
    from made_scores import METHODS, UTILITY, made

    from uds_bench.audits.metrics.document import meta_document
    from uds_bench.audits.metrics.evaluation import Models, evaluate
    from uds_bench.metrics import METRICS
    from uds_bench.scores import Scores

    models = Models("full", "retain", ("knows0",), ("never0",), ("npo",))
    scores = Scores(made(n, m, attack) for n, attack in models.needed() for m in (*JUDGED, "entity_accuracy"))
    judged_metrics = [METRICS[name] for name in JUDGED]
    rows = {row.metric: row for row in evaluate(scores, judged_metrics, models, utility=UTILITY)}
    meta = meta_document(rows, rows, models, scores, UTILITY, METHODS)
    page = Page(render(RUN | {"metrics": meta}))
    assert page.unbalanced == []
    told = [words.text.split(".")[0] for words in page.all("figcaption")][5:]
    # The layers of the hidden fact and the parts of a block were not read.
    assert told == [title for title in TITLES if title not in ("Observed beside caused", "Parts of a block")]
    assert len(body(faithfulness.table(meta))) == len(JUDGED)
