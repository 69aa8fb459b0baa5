"""Masked injection by two processes on CPUs, through accelerate: the weights of one, whatever share each has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import shared_injection
import torch
from accelerate import Accelerator, DistributedType
from accelerate.state import AcceleratorState
from safetensors.torch import load_file
from shared_injection import CASES, KINDS, PROCESSES, masks_of, run
from small_runs import made_once

from uds_bench.errors import ConfigurationError
from uds_bench.methods.injection import Injection
from uds_bench.methods.processes import Processes

PATIENCE = 300
"""Seconds until processes are given up, on a machine that does much else; alone they take ten."""
EXACT = 1e-9
"""In 64 bits a gradient is off by 1e-17 or so; over Adam's eps of 1e-8, at a rate of 1e-3, that is 1e-12 a step."""
CLOSE, SHARE_CLOSE = 1e-6, 0.999
"""In 32 bits it is off by 1e-9: a gradient no larger has a sign by chance, and so has its step. Not for all weights."""
DRIFTING = [name for name in CASES if name != "facts"]


@pytest.fixture(scope="module", params=KINDS)
def together(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder where two processes wrote what all cases came to, once a session, whatever processes test."""
    return made_once(tmp_path_factory, "injection", launch) / str(request.param)


def launch(folder: Path) -> None:
    """Run `shared_injection` in two processes; when one fails or time is up, neither is left."""
    logs = [folder / f"{rank}.log" for rank in range(PROCESSES)]
    deadline, children = time.monotonic() + PATIENCE, list[subprocess.Popen[bytes]]()
    try:
        for rank, log in enumerate(logs):
            command = [sys.executable, shared_injection.__file__, str(rank), str(folder)]
            environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
            with log.open("wb") as file:
                children.append(subprocess.Popen(command, env=environment, stdout=file, stderr=subprocess.STDOUT))
        while any(child.poll() is None for child in children) and not any(child.poll() for child in children):
            assert time.monotonic() < deadline, f"still running after {PATIENCE} s"
            time.sleep(0.05)
    finally:
        for child in children:
            child.kill()
            child.wait()
    assert [child.returncode for child in children] == [0] * PROCESSES, "\n".join(log.read_text() for log in logs)


@cache
def alone(name: str) -> tuple[dict[str, torch.Tensor], Injection]:
    """The weights, and what else there is, after one process has done it."""
    model, injection = run(CASES[name])
    return model.state_dict(), injection


def told(folder: Path, name: str) -> list[Any]:
    """By process."""
    return [json.loads((folder / f"{name}.{rank}.json").read_text()) for rank in range(PROCESSES)]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_two_processes_come_to_the_weights_of_one(together: Path, name: str) -> None:
    weights, injection = alone(name)
    found = load_file(together / f"{name}.safetensors")
    assert found.keys() >= {name for name, _ in CASES[name].model().named_parameters()}
    exact = CASES[name].dtype == torch.float64
    for parameter, tensor in found.items():
        gap = (tensor - weights[parameter]).abs()
        assert gap.max() <= EXACT if exact else (gap <= CLOSE).float().mean() >= SHARE_CLOSE, (parameter, gap.max())
    for each in told(together, name):
        assert each["losses"] == pytest.approx(injection.losses, rel=EXACT if exact else 1e-5)


@pytest.mark.slow
def test_facts_alone_leave_every_weight_of_no_mask_bit_by_bit(together: Path) -> None:
    model = CASES["facts"].model()
    masks, found = masks_of(model), load_file(together / "facts.safetensors")
    for parameter, before in model.named_parameters():
        changed = found[parameter] != before
        inside = masks.words[parameter] != 0 if parameter in masks.words else torch.zeros_like(changed)
        assert not (changed & ~inside).any(), parameter
        assert changed.sum() >= 0.9 * inside.sum(), "and those of masks are written"
    outside = masks.weights - sum(masks.sizes().values())
    for each in told(together, "facts"):
        assert each["drift"] == {"moved": 0, "weights": outside, "furthest": 0.0}


@pytest.mark.slow
@pytest.mark.parametrize("name", DRIFTING)
def test_every_process_tells_the_drift_of_all_weights(together: Path, name: str) -> None:
    """Neutral text, its moments and decay move weights of no mask."""
    _, injection = alone(name)
    for each in told(together, name):
        assert each["drift"]["weights"] == injection.drift.weights
        assert each["drift"]["moved"] == pytest.approx(injection.drift.moved, rel=1e-3)
        assert each["drift"]["moved"] > 0.9 * each["drift"]["weights"]
        assert each["drift"]["furthest"] == pytest.approx(injection.drift.furthest, rel=1e-3)


@pytest.mark.slow
def test_processes_that_read_different_batches_all_stop(together: Path) -> None:
    assert all("different batches: give each the whole" in error for error in told(together, "different"))


@pytest.mark.slow
def test_when_one_process_diverges_all_stop(together: Path) -> None:
    assert all("FloatingPointError: injection diverged" in error for error in told(together, "diverging"))


def test_an_accelerator_of_one_process_changes_nothing() -> None:
    try:
        model, injection = run(CASES["mixed"], Accelerator(cpu=True))
    finally:
        AcceleratorState._reset_state(reset_partial_state=True)
    weights, expected = alone("mixed")
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    assert injection == expected


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"distributed_type": DistributedType.DEEPSPEED}, "under DEEPSPEED: use DDP"),
        ({"distributed_type": DistributedType.FSDP}, "fsdp_version=2"),
        ({"mixed_precision": "fp16"}, "in fp16: use bf16"),
        ({"parallelism_config": SimpleNamespace(total_size=4, dp_shard_size=2)}, "dp_shard_size"),
    ],
)
def test_other_ways_to_share_a_model_are_refused(setting: dict[str, Any], message: str) -> None:
    usual = {"distributed_type": DistributedType.MULTI_GPU, "is_fsdp2": False, "mixed_precision": "no"}
    with pytest.raises(ConfigurationError, match=message):
        Processes(SimpleNamespace(**usual | setting))
