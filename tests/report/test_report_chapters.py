"""The chapters of all audits: what their figures say, and that no document breaks them.

What they say lies under `__snapshots__`, to be read there; `pytest tests/report --snapshot-update` writes it anew.
"""

from __future__ import annotations

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
from syrupy.assertion import SnapshotAssertion
from test_report_odd import changes, sound, spoiled

from uds_bench.audits import registry

MODULES = {
    "association": test_report_association,
    "bypass": test_report_bypass,
    "lmlm": test_report_lmlm,
    "localization": test_report_localization,
    "metrics": test_report_meta,
}
"""Each has a `SECTION` of a run report, and a `SMALL` one that is quick to draw."""


def figures(audit: str, section: dict[str, Any]) -> list[Any]:
    return [figure for chapter in registry.audits()[audit].chapters() for figure in chapter.judge(section)]


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


@pytest.mark.parametrize("audit", MODULES)
@pytest.mark.parametrize("section", [{}, {"models": []}, {"models": "none"}, {"models": {}}, {"models": [3, None]}])
def test_a_run_without_models_has_no_figures(audit: str, section: dict[str, Any]) -> None:
    assert figures(audit, section) == []


@pytest.mark.parametrize("audit", MODULES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_odd_values_never_break_the_page(audit: str, data: st.DataObject) -> None:
    odd = spoiled(MODULES[audit].SMALL, data.draw(changes(MODULES[audit].SMALL)))
    sound("".join(str(panel) for figure in figures(audit, odd) for panel in figure.panels))
