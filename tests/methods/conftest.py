"""One trained model for all tests; those that change it work on a copy."""

from typing import Any

import pytest
import torch
from families import save_checkpoint, tiny_tokenizer
from small_models import fit, fresh_model
from test_injection import VOCABULARY
from tiny_student import Student, trained

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.facts import FactSet, embedded
from uds_bench.methods.examples import pairs_to_examples


@pytest.fixture(autouse=True, scope="session")
def in_one_order(one_thread: None) -> None:
    """Equal seeds give equal bits."""


@pytest.fixture(scope="session")
def student(one_thread: None) -> Student:
    return trained()


@pytest.fixture(scope="session")
def authors() -> FactSet:
    """Three authors to forget and two to keep, two facts each."""
    return FactSet(fact for fact in embedded(3, 2, 0) if fact.kind in ("profession", "location"))


@pytest.fixture(scope="session")
def full(one_thread: None, authors: FactSet, tmp_path_factory: pytest.TempPathFactory) -> CheckpointSpec:
    """A checkpoint on disk that has learned them all."""
    tokenizer = tiny_tokenizer()
    torch.manual_seed(0)
    model = fresh_model(len(tokenizer), layers=2)
    fit(model, pairs_to_examples(tokenizer, [(fact.question, fact.answer) for fact in authors]), 120, seed=0)
    folder = tmp_path_factory.mktemp("full") / "full"
    save_checkpoint(folder, model, tokenizer)
    return CheckpointSpec(str(folder))


@pytest.fixture
def model() -> Any:
    """A small model that has learned nothing."""
    torch.manual_seed(0)
    return fresh_model(VOCABULARY, layers=3, width=16).eval()
