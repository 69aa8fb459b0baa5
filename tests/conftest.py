"""Its place puts this folder on the import path, so that tests in any folder can `import families`."""

import gc
from collections.abc import Iterator

import pytest

pytest_plugins = ("pytester", "small_runs")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is imported and collected lives as long as the process: looking through it for garbage, again and again,
    takes a fifth of the time that collecting takes, and later half a second each time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
