"""Where models run: one GPU of several, a machine without any, and a machine elsewhere."""

from __future__ import annotations

import os

import pytest

from uds_bench.device import VISIBLE, cores, resolve_device
from uds_bench.errors import ConfigurationError


@pytest.mark.parametrize(
    ("before", "named", "after"),
    [(None, "cuda:1", "1"), ("4,5", "cuda:1", "5"), ("4,5", "cuda:2", "-1"), ("", "cuda:1", "-1")],
)
def test_of_several_gpus_one_is_seen(
    before: str | None, named: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.delenv(VISIBLE, raising=False)
    if before is not None:
        monkeypatch.setenv(VISIBLE, before)
    assert resolve_device(named) == "cuda"
    assert os.environ[VISIBLE] == after


@pytest.mark.parametrize("named", ["cuda", "cuda:3"])
def test_where_there_is_none_it_is_said_unless_models_are_elsewhere(
    named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setenv(VISIBLE, "")
    with pytest.raises(ConfigurationError, match=f"--device {named}: this machine has no usable CUDA device"):
        resolve_device(named, "--device")
    assert resolve_device("cuda", "--device", here=False) == "cuda"


@pytest.mark.parametrize("named", ["cuda:", "cuda:x", "cuda:-1", "cuda:1:2", "cuda:١", "cpu:0", "gpu", ""])
def test_what_is_no_device_is_refused(named: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a device: choose auto, cpu or cuda, or one GPU as cuda:1"):
        resolve_device(named)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux says which cores a process may use")
def test_cores_are_those_that_a_scheduler_leaves() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert cores() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert cores() == len(before)
