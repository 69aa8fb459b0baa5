"""--uds-device auto|cpu|cuda."""

import pytest
import torch
from small_runs import DEPTH, Bench


def test_an_unknown_device_is_told(bench: Bench) -> None:
    bench.manifest()
    ran = bench.run(DEPTH, "--uds-device", "tpu")
    assert ran.code == pytest.ExitCode.USAGE_ERROR
    assert "choose auto, cpu or cuda" in ran.text


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_cuda_without_cuda_is_told_before_anything_runs(bench: Bench) -> None:
    bench.manifest()
    ran = bench.run(DEPTH, "--uds-device", "cuda")
    assert ran.code == pytest.ExitCode.USAGE_ERROR
    assert "no usable CUDA device" in ran.text
    assert "choose cpu" in ran.text


def test_the_device_stands_in_header_report_and_provenance(bench: Bench) -> None:
    bench.manifest()
    ran = bench.run(DEPTH, "-k", "test_score", "--uds-device", "cpu")
    assert ran.report is not None
    assert "device cpu" in ran.text
    assert ran.report["environment"]["device"] == "cpu"
    assert ran.claims["depth.score[retain3]"]["provenance"]["device"] == "cpu"
