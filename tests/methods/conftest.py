"""One trained model for all tests; those that change it work on a copy."""

from collections.abc import Iterator

import pytest
import torch
from tiny_student import Student, trained


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    """Sums have one order, so that equal seeds give equal bits."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def student(one_thread: None) -> Student:
    return trained()
