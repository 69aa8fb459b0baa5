"""The chapters of all audits: what their figures say, and that no document breaks them.

What they say lies under `__snapshots__`, to be read there; `pytest tests/report --snapshot-update` writes it anew.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
import test_report_association
import test_report_bypass
import test_report_lmlm
import test_report_localization
import test_report_meta
from dom import told
from example import example, render
from hypothesis import given, settings
from hypothesis import strategies as st
from made_reports import report_of
from syrupy.assertion import SnapshotAssertion
from test_report_odd import changes, sound, spoiled

from uds_bench.audits import registry
from uds_bench.errors import ConfigurationError

MODULES = {
    "association": test_report_association,
    "bypass": test_report_bypass,
    "lmlm": test_report_lmlm,
    "localization": test_report_localization,
    "metrics": test_report_meta,
}
"""Each has a `SECTION` of a run report, and a `SMALL` one that is quick to draw."""


def figures(audit: str, section: dict[str, Any]) -> list[Any]:
    part = registry.parts()[audit].model_validate(section)
    return [figure for chapter in registry.audits()[audit].chapters() for figure in chapter.judge(part)]


@pytest.mark.parametrize("audit", [audit for audit in MODULES if audit != "localization"])
def test_what_the_figures_say(audit: str, snapshot: SnapshotAssertion) -> None:
    """Those of localization are of weights that torch draws: they are held against the section that they are of."""
    assert told(figures(audit, MODULES[audit].SMALL)) == snapshot


@pytest.mark.parametrize("audit", MODULES)
def test_every_figure_is_on_the_page(audit: str) -> None:
    run = example() | {"claims": [], "scores": [], audit: MODULES[audit].SECTION}
    text = sound(render(run)).id("figures").text
    drawn = figures(audit, MODULES[audit].SECTION)
    assert drawn
    assert [figure.title for figure in drawn if figure.title not in text] == []


NOTHING: dict[str, Any] = {
    "association": {"people": {}, "models": []},
    "bypass": {"models": []},
    "lmlm": test_report_lmlm.SMALL | {"models": []},
    "metrics": {"lacks": "there are no pools"},
}


@pytest.mark.parametrize("audit", NOTHING)
def test_a_run_without_models_has_no_figures(audit: str) -> None:
    assert figures(audit, NOTHING[audit]) == []


@pytest.mark.parametrize("audit", MODULES)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_what_is_odd_is_refused_in_a_line_or_drawn(audit: str, data: st.DataObject) -> None:
    odd = spoiled(MODULES[audit].SMALL, data.draw(changes(MODULES[audit].SMALL)))
    refusal = ""
    try:
        report_of(example() | {audit: odd}, "run.json")
    except ConfigurationError as error:
        refusal = str(error)
    if refusal:
        assert re.match(rf"run\.json: is no run report \({audit}(\.|: )", refusal)
    else:
        sound("".join(str(panel) for figure in figures(audit, odd) for panel in figure.panels))


@pytest.mark.parametrize("audit", MODULES)
def test_a_part_is_read_back_as_it_was_written(audit: str) -> None:
    section = MODULES[audit].SECTION
    assert report_of(example() | {audit: section}).to_json()[audit] == section


@pytest.mark.parametrize("audit", MODULES)
def test_a_key_that_no_audit_names_is_refused_with_its_place(audit: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"^run\.json: is no run report \({audit}\.more: Extra inputs"):
        report_of(example() | {audit: MODULES[audit].SECTION | {"more": 1}}, "run.json")


def test_a_part_of_an_audit_that_is_not_installed_is_kept_and_said_to_be_so() -> None:
    told = {"models": [{"odd": None}]}
    run = example() | {"elsewhere": told}
    assert report_of(run).to_json()["elsewhere"] == told
    assert "Not installed here" in sound(render(run)).id("figures").text
