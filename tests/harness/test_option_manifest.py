"""--uds-manifest FILE: whose checkpoints are judged."""

import pytest
from small_runs import DEPTH, Bench


def test_a_file_that_is_not_there_is_named(bench: Bench) -> None:
    ran = bench.run(DEPTH, "--uds-manifest", "nowhere.toml")
    assert ran.code == pytest.ExitCode.USAGE_ERROR
    assert "--uds-manifest" in ran.text
    assert "nowhere.toml" in ran.text


def test_each_candidate_has_its_own_tests_named_after_it(bench: Bench) -> None:
    bench.manifest(["copy", "retain3"])
    ran = bench.run(DEPTH, "--collect-only", "-q")
    assert "test_score[copy]" in ran.text
    assert "test_score[retain3]" in ran.text


def test_a_relative_path_starts_at_the_manifest(bench: Bench) -> None:
    bench.copy("retain3", "inner/runs/mine")
    path = bench.manifest({"mine": "runs/mine"})
    path = path.rename(bench.folder / "inner" / "uds.toml")
    ran = bench.run(DEPTH, "-k", "test_score", manifest=path)
    assert ran.code == 0, ran.text


def test_the_header_names_it(bench: Bench) -> None:
    path = bench.manifest()
    assert f"uds_bench: manifest {path}" in bench.run(DEPTH, "-k", "test_score").text
