"""The methods as the tests try them on the student, and what most of them are to do there."""

from typing import Any

import pytest
from tiny_student import Knowledge

from uds_bench.methods import objectives
from uds_bench.methods.method import Method, MethodName, Rmu

SCALE = 3.0
"""A little over the length of the student's hidden states."""


def method(name: MethodName, **settings: Any) -> Method:
    return Method(name, **{"steps": 20, "lr": 3e-3, "batch_size": 8, **settings})


METHODS = {
    "grad_diff": method("grad_diff"),
    "npo": method("npo", beta=0.1),
    "simnpo": method("simnpo", beta=4.5),
    "idk_nll": method("idk_nll"),
    "idk_dpo": method("idk_dpo", steps=40, beta=0.1),
    "alt_po": method("alt_po", steps=40, beta=0.1),
    "rmu": Rmu("rmu", steps=40, lr=3e-3, batch_size=8, layer=0, scale=SCALE),
    "undial": method("undial", steps=40, beta=10.0),
}
ASCENT = method("grad_ascent")


def ablate(monkeypatch: pytest.MonkeyPatch, name: str, without: Any) -> None:
    """From now on the objective `name` lacks a term."""
    monkeypatch.setattr(objectives, name, without)


def forget_forgotten(after: Knowledge) -> None:
    assert after.forget > 1.5, f"forget_forgotten: {after}"


def retain_kept(after: Knowledge) -> None:
    assert after.retain < 0.5, f"retain_kept: {after}"
