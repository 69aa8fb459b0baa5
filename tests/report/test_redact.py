"""A page to publish: none of the names, values and replies of a run, and all of its numbers and verdicts."""

from __future__ import annotations

import copy
import json
from html import unescape
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest
from dom import Page
from example import example, judged
from made_reports import opened, report_of
from test_report_bypass import SECTION as BYPASS
from test_report_lmlm import BASE
from test_report_lmlm import SECTION as LMLM
from test_report_localization import SECTION as LOCALIZATION

from uds_bench.audits import registry
from uds_bench.claims.report_part import PERSONAL, ReportPart
from uds_bench.claims.run_report import RunReport
from uds_bench.errors import ConfigurationError
from uds_bench.report.page import render as render_run
from uds_bench.report.redact import hidden, redacted

SOMEBODY = "Zyxwina Quorl"
AUTHORS = [author for model in BYPASS["models"] for seed in model["seeds"] for author in seed["authors"]]
NAMES = {
    SOMEBODY,
    *(author[key] for author in AUTHORS for key in ("author", "canary")),
    *(part for row in BASE for part in (row.subject, row.object)),
    *("Ada Vorn", "a poet", "an essayist", "p0000/birth_city"),
    *(f"forget{author:02}/yes_no" for author in (0, 4, 8, 12)),
}
"""Of whom bypass, lmlm and metrics tell, and the ids of whom depth and localization do."""


def run() -> dict[str, Any]:
    """A run whose every free text names somebody."""
    found = copy.deepcopy(judged()) | {
        "bypass": BYPASS,
        "lmlm": LMLM,
        "localization": LOCALIZATION,
        "salt": "3f" * 16,
    }
    for one in found["claims"]:
        one |= {"message": SOMEBODY, "node": f"/{SOMEBODY}/test_depth.py::test_x", "reproduce": f"pytest {SOMEBODY}"}
        one |= {"advice": f"ask {SOMEBODY}"} | ({} if one["id"] in registry.claims() else {"statement": SOMEBODY})
        one["provenance"] |= {"asking": {"words": SOMEBODY}, "template": SOMEBODY, "references": ["full:1"]}
        one["golden"] |= {"text": SOMEBODY}
        one |= {key: {"reason": SOMEBODY} | one.get(key, {}) for key in ("waiver", "expected")}
        for control in one["controls"]:
            control["why"] = SOMEBODY
    for row in found["scores"]:
        row["notes"], row["provenance"] = {"opened": SOMEBODY}, row["provenance"] | {"asking": SOMEBODY}
        for fact in row["per_fact"]:
            fact |= {
                "reason": fact["reason"] and SOMEBODY,
                "detail": fact["detail"] | {"answer": SOMEBODY, SOMEBODY: {SOMEBODY: 1.0}},
            }
    found["summary"] |= {"problems": [SOMEBODY], "notes": [SOMEBODY]}
    found["manifest"]["path"] = f"/home/{SOMEBODY}/uds.toml"
    mean = {"value": 0.5, "low": 0.4, "high": 0.6, "units": 2}
    readings = ("mean", "every", "some", "lenient", "strength", "first", "replied")
    numbers = dict.fromkeys(readings, mean) | {"chance": 0.1, "nothing": 1}
    found["association"] = {
        "people": {SOMEBODY: 2, "to be forgotten": 1},
        "models": [
            {
                "model": "npo",
                "judged": True,
                "cohorts": {SOMEBODY: numbers, "to be forgotten": numbers},
                "properties": [{"property": f"{SOMEBODY}#1", "label": "own words", "mean": mean}],
            }
        ],
    }
    found["scores"][0]["per_fact"][0]["kind"] = f"{SOMEBODY}#1"
    found["another"] = {"said": SOMEBODY}
    found["wordings"] = {found["scores"][0]["per_fact"][0]["id"]: {"question": SOMEBODY, "entity": SOMEBODY}}
    return found


def all_of(run: RunReport) -> str:
    """The page and every part beside it, as text."""
    page = render_run(run)
    values = [json.loads(text.partition(",")[2].removesuffix(");\n")) for text in page.parts.files.values()]
    parts = [one["html"] + json.dumps(one["facts"], ensure_ascii=False) for one in values]
    return unescape("\n".join([page.index, *parts]))


FULL = report_of(run(), "run")
PUBLIC = redacted(FULL, "run")


def test_a_page_to_publish_names_nobody_and_repeats_nothing() -> None:
    full, public = all_of(FULL), all_of(PUBLIC)
    assert [name for name in NAMES if name not in full] == [], "else the next line shows nothing"
    assert [name for name in NAMES if name in public] == []
    replies = {
        text
        for author in AUTHORS
        for reply in author["replies"].values()
        for text in (reply["trace"], reply["answer"])
        if len(text) > 20
    }
    assert replies
    assert [text for text in replies if text in public] == []
    assert hidden(AUTHORS[0]["author"], FULL.salt) in public


def test_nothing_of_it_is_in_the_report_behind_the_page_either() -> None:
    told = PUBLIC.model_dump_json()
    assert [name for name in NAMES if name in told] == []
    assert FULL.salt not in told
    plain = {one.provenance[key] for one in FULL.claims for key in ("facts", "rendered")} | {FULL.manifest.digest}
    assert [digest for digest in plain if digest in told] == [], "a plain digest confirms who guesses"
    known = {"association", "bypass", "lmlm", "localization", "metrics"}
    assert set(PUBLIC.parts) == known, "what says nothing of itself is left out"
    assert "to be forgotten" in told


def test_verdicts_and_numbers_are_those_of_the_full_page() -> None:
    full, public = Page(opened(render_run(FULL))), Page(opened(render_run(PUBLIC)))
    for tag, classes in (("td", "figure"), ("span", "chip"), ("rect", "")):
        assert len(full.all(tag, classes)) == len(public.all(tag, classes)) > 0
    left_out = [one for one in full.all("figcaption") if "Not installed here" in one.text]
    assert len(full.all("figcaption")) - len(left_out) == len(public.all("figcaption")) > len(left_out) == 1
    assert [one.text for one in full.all("td", "figure")] == [one.text for one in public.all("td", "figure")]
    assert [one.text for one in full.all("h1")] == [one.text for one in public.all("h1")]
    kept = ("id", "subject", "verdict", "status", "observed", "interval", "bound", "shortfall")
    for before, after in zip(FULL.claims, PUBLIC.claims, strict=True):
        assert all(getattr(before, key) == getattr(after, key) for key in kept)
        assert after.statement == (registry.claims()[before.id].statement if before.id in registry.claims() else "")


class Marked(ReportPart):
    """A part that says that all words about people are marked."""

    MARKED: ClassVar[bool] = True


class ByName(Marked):
    told: Annotated[dict[str, int], PERSONAL]


class InTables(Marked):
    told: Annotated[tuple[ReportPart | ByName, ...] | None, PERSONAL]


class OfAnyShape(Marked):
    told: Annotated[Any, PERSONAL]


class AsPlaces(Marked):
    told: Annotated[Path, PERSONAL]


@pytest.mark.parametrize(
    "part",
    [
        ByName(told={SOMEBODY: 1}),
        InTables(told=(ByName(told={SOMEBODY: 1}),)),
        OfAnyShape(told={SOMEBODY: 1}),
        AsPlaces(told=Path(SOMEBODY)),
    ],
)
def test_a_part_of_which_not_all_can_be_hidden_is_left_out(part: Marked) -> None:
    public = redacted(FULL.model_copy(update={"mine": part}), "run")
    assert SOMEBODY not in public.model_dump_json()
    assert "mine" not in public.parts


def test_it_is_a_report_that_is_read_as_any_other() -> None:
    assert report_of(PUBLIC.to_json()).to_json() == PUBLIC.to_json()


def test_ids_hang_on_the_salt() -> None:
    other = redacted(FULL.model_copy(update={"salt": "40" * 16}), "run")
    first, second = (one.scores[0].per_fact[0].id for one in (PUBLIC, other))
    assert first != second
    assert first == hidden("forget00/person_name", FULL.salt)


def test_a_run_without_a_salt_is_one_line() -> None:
    with pytest.raises(ConfigurationError, match=r"old\.json: has no salt"):
        redacted(report_of(example(), "run"), "old.json")
