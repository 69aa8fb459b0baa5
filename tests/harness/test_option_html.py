"""--uds-html DIR: the run report as a page."""

import pytest
from small_runs import DEPTH, Bench


def test_the_page_shows_every_claim(bench: Bench) -> None:
    bench.manifest(["copy"])
    ran = bench.run(DEPTH, "--uds-html", "page")
    page = (bench.folder / "page" / "index.html").read_text()
    assert page.lstrip().lower().startswith("<!doctype html>")
    for name in ran.verdicts:
        assert name.partition("[")[0] in page
    assert "copy" in page


def test_a_folder_that_cannot_be_written_is_told_before_anything_runs(bench: Bench) -> None:
    bench.manifest()
    (bench.folder / "a_file").write_text("x")
    ran = bench.run(DEPTH, "--uds-html", "a_file/page")
    assert ran.code == pytest.ExitCode.USAGE_ERROR
    assert "--uds-html" in ran.text
    assert ran.report is None
