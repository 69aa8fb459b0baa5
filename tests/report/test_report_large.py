"""A large run stays light: what is loaded first, and what is kept as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest
from big import ATTACKS, CANDIDATES, METRICS, big
from dom import Page

from uds_bench.claims.fact_rows import write_run
from uds_bench.report import render


def test_a_large_run_is_light(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    run = big()
    assert len(run.scores) == CANDIDATES * METRICS * len(ATTACKS)
    write_run(run, tmp_path / "run.json")
    assert (tmp_path / "run.json").stat().st_size < 5e6
    page = render(run)
    assert len(page.index.encode()) < 1e6
    index = Page(page.index)
    assert index.unbalanced == []
    assert len(index.all("tbody", "named")) == CANDIDATES
    assert len([e for e in index.elements if "data-part" in e.attributes]) == CANDIDATES + 2, (
        "a card each, a line-up, all scores"
    )
