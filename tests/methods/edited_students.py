"""Small models of three families that know sixteen answers, eight of them to be forgotten by an edit."""

from __future__ import annotations

import copy
from typing import Any

import torch
from families import FAMILIES
from small_models import fit
from tiny_student import VOCABULARY, Student, drawn

from uds_bench.methods.data import Data
from uds_bench.methods.examples import Example
from uds_bench.methods.method import AlphaEdit, Method
from uds_bench.methods.registry import unlearn

NAMES = ("llama", "gpt2", "gpt_neox")
SETTINGS: dict[str, Any] = {
    "steps": 2,
    "lr": 0.2,
    "batch_size": 4,
    "first_layer": 0,
    "last_layer": 1,
    "loss_layer": 2,
    "v_steps": 40,
    "weight_decay": 0.5,
    "kl": 0.0625,
    "clamp": 4.0,
    "null_space": 1e-2,
    "l2": 1e-2,
}


def edit(**settings: Any) -> AlphaEdit:
    return AlphaEdit("alphaedit", **{**SETTINGS, **settings})


def lessons(count: int = 8) -> Data:
    forget = drawn(1, count)
    refusals = [Example((*e.ids[:5], 5, 6, 2), 5) for e in forget]
    return Data(forget, drawn(2, count), refusals, drawn(5, count))


def taught(family: str) -> Student:
    model, data = FAMILIES[family](vocabulary=VOCABULARY), lessons()
    torch.manual_seed(0)  # dropout
    fit(model.requires_grad_(True), [*data.forget, *data.retain], 120, seed=0, batch=8)
    return Student(model, data)


def edited(student: Student, method: Method, data: Data | None = None) -> Any:
    model = copy.deepcopy(student.model)
    unlearn(model, data or student.data, method)
    return model
