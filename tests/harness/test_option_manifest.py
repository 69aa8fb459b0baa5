"""--uds-manifest FILE: whose checkpoints are judged."""

from small_runs import DEPTH, Bench


def test_a_relative_path_starts_at_the_manifest(bench: Bench) -> None:
    bench.copy("retain3", "inner/runs/mine")
    path = bench.manifest({"mine": "runs/mine"})
    path = path.rename(bench.folder / "inner" / "uds.toml")
    ran = bench.run(DEPTH, "-k", "test_score", manifest=path)
    assert ran.code == 0, ran.text
