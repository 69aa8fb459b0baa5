"""`pytest suites/test_depth.py --uds-manifest M` tells a model that forgot from those that did not."""

import pytest
import torch
from safetensors.torch import load_file, save_file
from small_runs import DEPTH, Bench


def test_an_independent_retain_passes(bench: Bench) -> None:
    bench.manifest(["retain3"])
    ran = bench.run(DEPTH)
    assert ran.code == 0, ran.text
    assert ran.verdicts["depth.score[retain3]"] == "pass"


@pytest.mark.parametrize("name", ["copy", "shallow"])
def test_a_model_that_still_knows_fails(bench: Bench, name: str) -> None:
    bench.manifest([name])
    ran = bench.run(DEPTH)
    assert ran.code == 1
    assert ran.verdicts[f"depth.score[{name}]"] == "fail"


@pytest.mark.parametrize("place", ["model.layers.0.self_attn.q_proj.weight", "model.norm.weight"])
def test_a_single_nan_is_a_crash(bench: Bench, place: str) -> None:
    folder = bench.copy("retain3", "broken")
    weights = load_file(folder / "model.safetensors")
    weights[place].view(-1)[0] = torch.nan
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    bench.manifest({"broken": folder})
    ran = bench.run(DEPTH)
    assert ran.code == 1
    assert ran.verdicts["depth.score[broken]"] == "crashed"
    assert ran.verdicts["depth.hidden[broken]"] == "crashed"


def test_hiding_is_not_forgetting(bench: Bench) -> None:
    bench.manifest(["shallow"])
    ran = bench.run(DEPTH, "-k", "test_hidden")
    assert ran.verdicts == {"depth.hidden[shallow]": "warning"}
    assert "HIDDEN" in ran.text


@pytest.mark.parametrize(
    ("positive", "negative", "control"), [(["retain2"], [], "retain2"), ([], ["shallow"], "shallow")]
)
def test_a_control_that_misses_invalidates_the_verdict(
    bench: Bench, positive: list[str], negative: list[str], control: str
) -> None:
    bench.manifest(["retain3"], positive=positive, negative=negative)
    ran = bench.run(DEPTH, "-k", "test_score")
    assert ran.code == 1
    assert ran.counts == {"environment invalid": 1}
    assert f"control {control} must" in ran.text


def test_missing_pools_are_said_to_be_weak(bench: Bench) -> None:
    bench.manifest(positive=[], negative=[])
    ran = bench.run(DEPTH)
    assert ran.code == 0
    assert "controls are weak" in ran.text
    assert ran.report is not None
    assert any("weak" in note for note in ran.report["summary"]["notes"])


def test_reversed_references_are_no_pass(bench: Bench) -> None:
    bench.manifest(["retain3"], full=bench.models / "retain", retain=bench.models / "full")
    ran = bench.run(DEPTH)
    assert ran.code == 1
    assert ran.verdicts["depth.score[retain3]"] != "pass"
