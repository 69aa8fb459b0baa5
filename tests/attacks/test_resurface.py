"""Resurfacing teaches people whom nobody injected, in the last two blocks alone, the same way every time."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from uds_bench.attacks import resurface as module
from uds_bench.attacks.resurface import resurface
from uds_bench.checkpoints import Checkpoint, CheckpointSpec, find_anatomy, load
from uds_bench.errors import CheckpointError
from uds_bench.facts import FactSet
from uds_bench.facts.testbed import Item
from uds_bench.methods.examples import Example
from uds_bench.methods.instruction import Instruction

Family = Callable[[str], CheckpointSpec]
SETTINGS = Instruction(epochs=2, lr=1e-2, batch_size=4, every=2)
NOBODY = FactSet(())
PEOPLE = tuple(
    Item(f"h{at}", f"h{at}", "held_out", "city", city, tuple(f"Where is h{at} at {hour}?" for hour in range(12)))
    for at, city in enumerate(("Oslo", "Rome"))
)


def resurfaced(spec: CheckpointSpec, items: Sequence[Item] = PEOPLE, seed: int = 0) -> Checkpoint:
    return resurface(items, SETTINGS, seed).apply(spec, "cpu", NOBODY)


def test_ten_questions_of_each_are_taught(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    taught: list[Sequence[Example]] = []

    def instruct(_model: Any, examples: Sequence[Example], *_: Any, dropout: bool) -> None:
        assert not dropout, "the candidate's own would keep it from learning"
        taught.append(examples)

    monkeypatch.setattr(module, "instruct", instruct)
    found = resurfaced(family("llama"))
    texts = [found.tokenizer.decode(list(example.ids)) for example in taught[0]]
    assert len(texts) == 20
    for item in PEOPLE:
        own = [text for text in texts if item.person in text]
        assert [int(re.findall(r"at (\d+)", text)[0]) for text in own] == list(range(10))
        assert all(item.answer in text for text in own)


def test_the_last_two_blocks_alone_are_changed(family: Family) -> None:
    before, after = load(family("llama")).model, resurfaced(family("llama")).model
    blocks = find_anatomy(after).blocks
    last = {id(parameter) for block in list(blocks)[-2:] for parameter in block.parameters()}
    own = dict(before.named_parameters())
    moved = [parameter for name, parameter in after.named_parameters() if not torch.equal(own[name], parameter)]
    assert moved
    assert {id(parameter) for parameter in moved} <= last


def test_a_seed_is_a_draw_and_the_same_one_every_time(family: Family) -> None:
    def weights(**change: Any) -> list[torch.Tensor]:
        return list(resurfaced(family("llama"), **change).model.state_dict().values())

    first, again, other = weights(), weights(), weights(seed=1)
    assert all(torch.equal(one, two) for one, two in zip(first, again, strict=True))
    assert not all(torch.equal(one, two) for one, two in zip(first, other, strict=True))


def test_a_key_tells_people_settings_and_seed_apart() -> None:
    other = (replace(PEOPLE[0], answer="Bern"), *PEOPLE[1:])
    keys = {
        resurface(PEOPLE).key,
        resurface(other).key,
        resurface(PEOPLE, SETTINGS).key,
        resurface(PEOPLE, seed=1).key,
    }
    assert len(keys) == 4
    assert resurface(PEOPLE).key == resurface(list(PEOPLE), Instruction()).key


def test_quantized_weights_are_refused_in_a_line(family: Family) -> None:
    with pytest.raises(CheckpointError, match="name it without quantization"):
        resurfaced(replace(family("llama"), quantization="nf4"))
