"""--uds-draw N: another draw of the embedded zoo, by which goldens get their tolerance."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_runs import DEPTH, Bench

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.zoo.ready import resolve_zoo


def test_a_draw_is_a_number(bench: Bench) -> None:
    bench.manifest()
    ran = bench.run(DEPTH, "--uds-draw", "second")
    assert ran.code == pytest.ExitCode.USAGE_ERROR
    assert "--uds-draw: 'second' is no draw of the embedded zoo" in ran.text


@pytest.mark.parametrize(("draw", "wanted"), [(0, ["full", "npo"]), (2, ["full@2", "npo@2"])])
def test_every_embedded_model_is_of_that_draw(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, draw: int, wanted: list[str]
) -> None:
    asked: list[str] = []

    def paths(names: list[str], *_: object) -> dict[str, Path]:
        asked.extend(names)
        return {name: tmp_path / name for name in asked}

    monkeypatch.setattr("uds_bench.zoo.runner.paths", paths)
    specs = {"full": CheckpointSpec("zoo:full"), "npo": CheckpointSpec("zoo:npo"), "mine": CheckpointSpec("a-folder")}
    found = resolve_zoo(specs, list(specs), tmp_path, draw=draw)
    assert asked == wanted
    assert found["npo"].model == str(tmp_path / wanted[1])
    assert found["mine"] == specs["mine"]


def test_a_users_models_are_judged_as_ever(bench: Bench) -> None:
    bench.manifest()
    assert bench.run(DEPTH, "--uds-draw", "1").verdicts == bench.run(DEPTH).verdicts
