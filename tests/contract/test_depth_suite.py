"""`pytest suites/test_depth.py --uds-manifest M` tells a model that forgot from those that did not."""

import pytest
from small_runs import DEPTH, Bench


def test_an_independent_retain_passes(bench: Bench) -> None:
    bench.manifest(["retain3"])
    ran = bench.run(DEPTH)
    print(ran.text)
    assert ran.code == 0, ran.text
    assert ran.verdicts["depth.score[retain3]"] == "pass"


@pytest.mark.parametrize("name", ["copy", "shallow"])
def test_a_model_that_still_knows_fails(bench: Bench, name: str) -> None:
    bench.manifest([name])
    ran = bench.run(DEPTH)
    assert ran.code == 1
    assert ran.verdicts[f"depth.score[{name}]"] == "fail"
