"""Pages in Markdown show what files say as it stands: none of it is markup, a line of its own, or an order to CI."""

from __future__ import annotations

import html
import re

import pytest
from made_reports import claim, run_of

from uds_bench.cards.card import cards
from uds_bench.cards.markdown import page
from uds_bench.claims.run_report import Tool
from uds_bench.console.markdown import in_code, in_markdown
from uds_bench.harness.result import RunResult
from uds_bench.harness.step_summary import step_summary

EVIL = "x\n\n<script>alert(1)</script>\n::error::owned\x1b[31m | ![i](http://x/) `code` &lt; **b** _i_\n# head"
MARKUP = re.compile(r"(?<!\\)(<script|!\[i\]\(|\*\*b|&lt;|(?<= )_i_)")


def assert_shown_as_it_stands(text: str) -> None:
    assert "alert" in text
    assert MARKUP.search(re.sub(r"`[^`\n]*`", "", text)) is None
    assert all(line.isprintable() for line in text.splitlines())
    assert not re.search(r"^\s*(::|# head)", text, re.MULTILINE)


def test_a_card_shows_what_a_report_says_as_it_stands() -> None:
    run = run_of(
        claim("depth.score[npo]", evidence=EVIL, advice=EVIL, unit=EVIL, observed=0.5),
        environment={EVIL: EVIL, "device": "cpu"},
        tool=Tool(name=EVIL, version=EVIL),
    )
    (card,) = cards(run)
    assert_shown_as_it_stands(page(card, run, {f"{EVIL}.safetensors": "ab" * 32}))


def test_the_page_of_a_job_shows_names_as_they_stand() -> None:
    record = claim(f"depth.score[{EVIL}]", "fail", advice=EVIL)
    found = RunResult(planned={"a": ("depth.score", EVIL)}, records={"a": record})
    text = step_summary(found, is_embedded=False, exit_code=1)
    assert_shown_as_it_stands(text)
    assert "**FAIL**" in text
    rows = [re.split(r"(?<!\\)\|", line.strip("|")) for line in text.splitlines() if line.startswith("|")]
    assert {len(row) for row in rows} == {2, 6}


@pytest.mark.parametrize(
    "text", ["depth.score[npo] >= 0.7", "uds_bench 0.1.0, torch 2.13.0+cpu", "0.2 to 0.3, 5 people"]
)
def test_what_is_no_markup_stays_readable(text: str) -> None:
    assert in_markdown(text) == text


def test_code_ends_where_it_ends() -> None:
    assert in_code("a` <b>") == "`a' <b>`"


def test_what_is_escaped_is_read_as_it_was() -> None:
    text = "<a> [x](y) ![i][r] a|b *c* ~~d~~ &amp; \\ `e` _f_"
    assert html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", in_markdown(text)).replace("&", "&amp;")) == text
