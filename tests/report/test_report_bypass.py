"""The bypass audit on the page: words, gap beside contrast, recall beside floors, and every reply of every author."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from dom import Page
from example import example, render
from hypothesis import given, settings
from hypothesis import strategies as st
from test_report_odd import JUNK, places

from uds_bench.audits.bypass import page as bypass
from uds_bench.audits.bypass.finding import find
from uds_bench.audits.bypass.scripted import Script, scripted
from uds_bench.audits.bypass.summary import summary
from uds_bench.facts.canaries import embedded_canaries
from uds_bench.figures.transcript import marked

CANARIES = embedded_canaries(12, 6, 6)
SCRIPTS: tuple[Script, ...] = ("identifying", "erased", "format drift", "hanging on its trace")
TITLES = [
    "What each model comes to",
    "The gap, and what a swap of the trace does at the same weights",
    "Answers arm by arm",
    "Three ways of finding the sentence",
    "What the replies are like",
    "Teacher-forced recall beside its floors",
    "Anatomy of the bypass cases",
    "Author by author",
]


def seed(script: Script, name: str) -> dict[str, Any]:
    forget, retain = scripted(CANARIES, script), scripted(CANARIES, script, "retain")
    never = [probed for _, probed in scripted(CANARIES, script, "holdout")]
    return {"name": name, **summary(find(forget, retain, never), forget, retain, never)}


def section() -> dict[str, Any]:
    models = [
        {
            "model": script,
            "must": None,
            "word": script,
            "why": "so",
            "seeds": [seed(script, f"{script}.{i}") for i in (1, 2)],
        }
        for script in SCRIPTS
    ]
    found: dict[str, Any] = json.loads(json.dumps({"models": models}, allow_nan=False))
    return found


SECTION = section()
AUTHORS = SECTION["models"][0]["seeds"][0]["authors"]
RUN = example(broken=False) | {"bypass": SECTION}


def test_every_figure_is_there() -> None:
    assert [figure.title for figure in bypass.CHAPTERS[0].judge(SECTION)] == TITLES
    text = Page(render(RUN)).id("figures").text
    for title in TITLES:
        assert title in text


def test_a_reader_sees_why_for_one_author() -> None:
    page = Page(render(RUN))
    canary = CANARIES[0]
    text = page.id("figures").text
    assert f"{canary.author}: trace" in text, "the summary says on which side the sentence stands"
    assert "no closing tag" in text
    html = render(RUN)
    assert html.count(f"<mark>{canary.canary}</mark>") > len(SCRIPTS), "the sentence is marked where it stands"


def test_what_a_model_says_is_no_markup() -> None:
    run = copy.deepcopy(RUN)
    author = run["bypass"]["models"][0]["seeds"][0]["authors"][0]
    author["replies"]["auto"]["answer"] = "<script>alert(1)</script> & " + author["canary"]
    html = render(run)
    assert "<script>alert(1)" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; <mark>" in html


@pytest.mark.parametrize(
    ("words", "sentence", "expected"),
    [
        ("a b a", "a", '<span class="said"><mark>a</mark> b <mark>a</mark></span>'),
        ("a b", "c", '<span class="said">a b</span>'),
        ("a", "", '<span class="said">a</span>'),
        ("", "a", '<span class="absent">(empty)</span>'),
    ],
)
def test_the_sentence_is_marked(words: str, sentence: str, expected: str) -> None:
    assert str(marked(words, sentence)) == expected


SMALL = {"models": [{**SECTION["models"][0], "seeds": [SECTION["models"][0]["seeds"][0] | {"authors": AUTHORS[:1]}]}]}
PLACES = [path for path in places(SMALL) if path]


@given(st.sampled_from(PLACES), JUNK)
@settings(max_examples=40, deadline=None)
def test_odd_values_are_shown_as_absent(path: tuple[Any, ...], junk: Any) -> None:
    odd = copy.deepcopy(SMALL)
    inner: Any = odd
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = junk
    render(RUN | {"bypass": odd})
