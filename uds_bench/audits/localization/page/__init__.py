"""The localization audit on the page: were the weights changed that hold what was to be forgotten?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from uds_bench.audits.localization.page.guide import how_to_read
from uds_bench.audits.localization.page.leaks import overlaps, resurfacing
from uds_bench.audits.localization.page.outputs import answered, said
from uds_bench.audits.localization.page.weights import comes_to, located
from uds_bench.figures.chapter import Chapter, Figure


def draw(section: Mapping[str, Any]) -> list[Figure]:
    """Its figures on the page, those that have something to show."""
    drawn = [comes_to(section), *located(section), said(section)]
    drawn += [*resurfacing(section), overlaps(section), answered(section)]
    found = [figure for figure in drawn if figure.panels]
    return [how_to_read(), *found] if found else []


CHAPTERS = (
    Chapter(
        name="localization",
        title="Localization",
        question="Did unlearning change the weights that hold what was to be forgotten?",
        measures=("localization.auc",),
        limits=(0.0, 1.0),
        ends=("other weights changed; 0.5 is blind", "only the weights that hold it changed"),
        judge=draw,
        part="localization",
        personal=("seeds", "floor_seeds"),
    ),
)
