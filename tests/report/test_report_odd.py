"""Reports that are hostile, partial, or of another kind than today's."""

import copy
import json

from dom import Page
from example import counted, example, render, score
from hypothesis import given, settings
from hypothesis import strategies as st
from made_reports import report_of

from uds_bench.errors import ConfigurationError
from uds_bench.report import write_report

ATTACK = """"'><script>alert(1)</script><img src=x onerror=alert(1)><style>*{display:none}</style>"""


def short() -> dict:
    """The example with few facts and claims, quick to render many times."""
    run = example()
    run["scores"] = [row | {"per_fact": row["per_fact"][:6]} for row in run["scores"][:3]]
    run["claims"] = run["claims"][3:6] + run["claims"][-2:]
    run["summary"] |= {"planned": 5, "counts": counted(run["claims"])}
    return run


def poisoned(value, suffix):
    """Every string and every free key with an attack appended; the keys of the contract stay."""
    if isinstance(value, dict):
        free = {key: key + suffix for key in ("checkpoint", "full", "torch", "status", "rendered")}
        keyed = {free.get(key, key) if not isinstance(item, (dict, list)) else key: item for key, item in value.items()}
        return {
            key: item if key in ("verdict", "cause", "flag", "must", "outcome") else poisoned(item, suffix)
            for key, item in (value | keyed).items()
        }
    if isinstance(value, list):
        return [poisoned(item, suffix) for item in value]
    return value + suffix if isinstance(value, str) else value


def hostile(run, attack):
    """A whole report that is poisoned, with what its figures go by: the metric's and the attack's own names."""
    found = poisoned(run, attack)
    for row in found["scores"]:
        row |= {"metric": "uds", "attack": "none"}
        del row["checkpoint" + attack]
    return found


def test_nothing_in_the_report_becomes_markup():
    run = hostile(example(), ATTACK)
    for claim in run["claims"]:
        claim |= {"id": "depth.score"}
    page = harmless(render(run), 100)
    assert not any(name.startswith("on") for e in page.elements for name in e.attributes)
    assert len(page.all("svg", "panel")) == 14


def test_an_empty_run_says_so_in_every_part():
    page = Page(render(example() | {"claims": [], "scores": []}))
    assert page.unbalanced == []
    assert "nothing was decided" in page.id("verdict").text
    assert "No candidate was measured" in page.id("subjects").text
    assert "no claims" in page.id("claims").text
    assert "no scores" in page.id("scores").text
    assert page.all("figure") == []


def test_scores_without_claims_still_have_figures():
    run = example() | {"claims": []}
    page = Page(render(run))
    assert len(page.all("figure")) == 5
    assert "nothing was decided" in page.all("h1")[0].text


def test_scores_without_values_per_fact_have_no_figures():
    run = example()
    run["scores"] = [row | {"per_fact": [], "value": None, "ci": None, "interval": None} for row in run["scores"]]
    page = Page(render(run))
    assert page.all("figure") == []
    assert "no interval" in page.id("scores").text


def test_an_audit_without_figures_shows_its_claims_and_its_axis():
    run = example(broken=False)
    plain = {"message": "", "kind": "threshold", "subject": "m"}
    run["claims"] = [
        plain
        | {"id": "lmlm.leakage", "subject": "twin", "verdict": "pass", "observed": -3.0}
        | {"bound": {"relation": "<=", "value": -0.5, "origin": "ours"}},
        plain
        | {"id": "consistency.prefill", "verdict": "pass", "observed": 0.01, "kind": "equivalence"}
        | {"bound": {"value": 0.1}},
        plain | {"id": "consistency.order", "subject": None, "verdict": "fail"},
    ]
    run["scores"] = [score("twin", [-3.0, 40.0], attack="none", metric="prob", variant="default", value=12.5)]
    page = Page(render(run))
    subjects, claims = page.id("subjects").text, page.id("claims").text
    assert [name in claims for name in ("lmlm.leakage", "consistency.prefill", "consistency.order")] == [True] * 3
    assert "twin" in subjects
    assert "within ±0.1 of 0" in subjects
    assert "consistency.order" not in subjects
    assert "nothing on this page proves that this gate can fail" in subjects
    assert "12.500" in page.id("scores").text
    assert "-3.000..40.000" in page.id("scores").text


def test_a_lone_surrogate_does_not_lose_the_page(tmp_path):
    run = short()
    for claim in run["claims"]:
        claim |= {"message": "broken \ud800 name", "verdict": "fail", "flag": None}
    page = write_report(report_of(run, "run"), tmp_path)
    assert "broken ? name" in page.read_text(encoding="utf-8")
    assert [file for file in (tmp_path / "parts").iterdir() if not file.read_bytes().isascii()] == []


class Gone:
    """In the place of a value: its key is taken away."""


JUNK = st.one_of(
    st.just(Gone),
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.just([]),
    st.just({}),
    st.lists(st.floats(), max_size=3),
    st.just([{"value": {}}, 3, None]),
)


def places(value, path=()):
    """Every path into a document, inner ones last."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places(item, (*path, key))


def changes(document):
    """Up to four places of a document, and what is put there."""
    return st.lists(st.tuples(st.sampled_from([*places(document)]), JUNK), min_size=1, max_size=4)


def holds(value, key):
    """Whether there is anything under a key, or at a place."""
    if isinstance(value, list):
        return isinstance(key, int) and key < len(value)
    return isinstance(value, dict) and key in value


def spoiled(document, changed):
    """The document with its changes; a place that an earlier one has taken away is passed over."""
    odd = copy.deepcopy(document)
    for (*path, last), junk in changed:
        target = odd
        for key in path:
            target = target[key] if holds(target, key) else None
        if holds(target, last) and junk is Gone:
            del target[last]
        elif holds(target, last):
            target[last] = copy.deepcopy(junk)  # one object may be drawn twice, and would hold itself
    return odd


DRAWN = {"x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height", "points", "d", "style"}


def sound(html):
    """The page, whose tags are closed and whose pictures are drawn at numbers."""
    page = Page(html)
    assert page.unbalanced == []
    numbers = [value for each in page.elements for name, value in each.attributes.items() if name in DRAWN]
    assert not any("nan" in number or "inf" in number for number in numbers)
    return page


def harmless(html, times):
    """The page, on which an attack stands more often than this, as words alone."""
    page = sound(html)
    assert html.count("&lt;script&gt;") > times
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert page.all("img") == []
    return page


SHORT = short()


@settings(max_examples=30, deadline=None)
@given(changes(SHORT))
def test_any_part_may_be_odd_and_is_shown_or_refused_in_a_line(changed):
    refusal = ""
    try:
        page = sound(render(spoiled(SHORT, changed)))
    except ConfigurationError as error:
        refusal = str(error)
    if refusal:
        assert refusal.startswith("example: ")
        assert len(refusal.splitlines()) == 1
    else:
        assert len(page.all("script")) == 1


def test_the_example_is_strict_json():
    run = example()
    assert json.loads(json.dumps(run, allow_nan=False)) == run
