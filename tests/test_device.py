"""Where models run: one GPU of several, a machine without any, and a machine elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from uds_bench.device import VISIBLE, cores, memory, resolve_device
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
def test_cores_are_those_that_a_scheduler_leaves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("uds_bench.device.CGROUPS", tmp_path)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert cores() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert cores() == len(before)


@pytest.mark.parametrize(
    ("files", "usable", "room"),
    [
        ({}, 8, 16 << 30),
        ({"cpu.max": "max 100000\n", "memory.max": "max\n"}, 8, 16 << 30),
        ({"cpu.max": "150000 100000\n", "memory.max": "7516192768\n"}, 2, 7 << 30),
        ({"cpu.max": "1000 100000\n"}, 1, 16 << 30),
        ({"cpu.max": "6400000 100000\n"}, 8, 16 << 30),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 8, 16 << 30),
        ({"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3, 16 << 30),
        ({"memory/memory.limit_in_bytes": "9223372036854771712\n"}, 8, 16 << 30),  # how version 1 says none
        ({"memory/memory.limit_in_bytes": "7516192768\n"}, 8, 7 << 30),
    ],
)
def test_a_container_has_less_than_its_machine(
    files: dict[str, str], usable: int, room: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("uds_bench.device.CGROUPS", tmp_path)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(8), raising=False)
    monkeypatch.setattr("os.sysconf", {"SC_PHYS_PAGES": 4 << 20, "SC_PAGE_SIZE": 4096}.__getitem__)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert (cores(), memory()) == (usable, room)
