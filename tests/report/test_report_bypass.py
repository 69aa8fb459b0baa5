"""The bypass audit on the page: words, gap beside contrast, recall beside floors, and every reply of every author."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from dom import Page
from example import example, render
from made_reports import values_of

from uds_bench.audits.bypass.finding import find
from uds_bench.audits.bypass.part import BypassPart, ReasonedModel, SeedFinding
from uds_bench.audits.bypass.scripted import Script, scripted
from uds_bench.audits.bypass.summary import summary
from uds_bench.facts.canaries import embedded_canaries
from uds_bench.figures.svg import marked

CANARIES = embedded_canaries(12, 6, 6)
SCRIPTS: tuple[Script, ...] = ("identifying", "erased", "format drift", "hanging on its trace")


def seed(script: Script, name: str) -> SeedFinding:
    forget, retain = scripted(CANARIES, script), scripted(CANARIES, script, "retain")
    never = [probed for _, probed in scripted(CANARIES, script, "holdout")]
    return summary(name, find(forget, retain, never), forget, retain, never)


def section() -> dict[str, Any]:
    seeds = {script: tuple(seed(script, f"{script}.{i}") for i in (1, 2)) for script in SCRIPTS}
    models = [ReasonedModel(model=name, must=None, word=name, why="so", seeds=found) for name, found in seeds.items()]
    return values_of(BypassPart(models=tuple(models)))


SECTION = section()
RUN = example(broken=False) | {"bypass": SECTION}


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


SMALL = {
    "models": [
        {**model, "seeds": [model["seeds"][0] | {"authors": model["seeds"][0]["authors"][:1]}]}
        for model in SECTION["models"]
    ]
}
