"""The head reads the labelled positions only; what it says there is what it says in a plain pass."""

from __future__ import annotations

import pytest
import torch
from families import FAMILIES

from uds_bench.checkpoints import find_anatomy
from uds_bench.methods.examples import Example, pad
from uds_bench.methods.forward import answer_logits, answer_states

EXAMPLES = [Example((1, 5, 6, 7, 8, 9), 3), Example((1, 4, 3, 2), 3), Example((1, 7, 7, 7, 7), 1)]


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_at_labels_are_those_of_a_plain_pass(family: str) -> None:
    model = FAMILIES[family]()
    batch = pad(EXAMPLES)
    with torch.no_grad():
        logits, targets = answer_logits(model, batch)
        plain = model(**batch.inputs()).logits
    assert targets.tolist() == [[7, 8, 9, -100], [2, -100, -100, -100], [7, 7, 7, 7]]
    for row, example in enumerate(EXAMPLES):
        for k, at in enumerate(range(example.prompt_length, len(example.ids))):
            torch.testing.assert_close(logits[row, k], plain[row, at - 1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_states_at_labels_read_out_as_what_the_model_says_there(family: str) -> None:
    """The last block's output, read by the model's own norm and head: one position before each label."""
    model = FAMILIES[family]()
    batch, anatomy = pad(EXAMPLES), find_anatomy(model)
    with torch.no_grad():
        hidden, scored = answer_states(model, anatomy.blocks[-1], batch)
        logits, targets = answer_logits(model, batch)
        said = anatomy.readout(hidden)
    assert torch.equal(scored, targets != -100)
    torch.testing.assert_close(said[scored], logits[scored], rtol=1e-4, atol=1e-5)
