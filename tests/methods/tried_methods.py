"""The methods that train as the tests try them on the student, and what most of them are to do there."""

from typing import Any

import pytest
from edited_students import edit
from tiny_student import Knowledge

from uds_bench.methods import objectives
from uds_bench.methods.method import MemFlex, Method, MethodName, Rmu

SCALE = 3.0
"""A little over the length of the student's hidden states."""


def method(name: MethodName, **settings: Any) -> Method:
    return Method(name, **{"steps": 20, "lr": 3e-3, "batch_size": 8, **settings})


def on_first_block(name: str, **common: Any) -> Method:
    """Any method, at settings that a model of one block and a few facts can use."""
    if name == "rmu":
        return Rmu("rmu", **common, layer=0, scale=5.0)
    if name == "memflex":
        return MemFlex("memflex", **common, gradient_threshold=1e-9, similarity_threshold=0.92)
    if name == "alphaedit":
        return edit(**common, last_layer=0, loss_layer=0, v_steps=3, null_space=1.0)
    return Method(name, **common)


METHODS = {
    "grad_diff": method("grad_diff"),
    "npo": method("npo", beta=0.1),
    "simnpo": method("simnpo", beta=4.5),
    "idk_nll": method("idk_nll"),
    "idk_dpo": method("idk_dpo", steps=40, beta=0.1),
    "alt_po": method("alt_po", steps=40, beta=0.1),
    "rmu": Rmu("rmu", steps=40, lr=3e-3, batch_size=8, layer=0, scale=SCALE),
    "undial": method("undial", steps=40, beta=10.0),
    "memflex": MemFlex(
        "memflex",
        steps=40,
        lr=3e-3,
        batch_size=8,
        gamma=0.6,
        alpha=2.0,
        gradient_threshold=1e-4,
        similarity_threshold=0.92,
    ),
}
ASCENT = method("grad_ascent")


def ablate(monkeypatch: pytest.MonkeyPatch, name: str, without: Any) -> None:
    """From now on the objective `name` lacks a term."""
    monkeypatch.setattr(objectives, name, without)


def forget_forgotten(after: Knowledge) -> None:
    assert after.forget > 1.5, f"forget_forgotten: {after}"


def retain_kept(after: Knowledge) -> None:
    assert after.retain < 0.5, f"retain_kept: {after}"
