"""Its place puts this folder on the import path, so that tests in any folder can `import families`."""

import gc
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest_plugins = ("pytester", "small_runs", "s3_server", "azurite_server")

# pytest reads this file too where a suite's name is misspelt, also where the tools of these tests are not installed.
if find_spec("hypothesis"):
    from hypothesis import Phase, settings

    # No test here depends on how busy the machine is.
    settings.register_profile("patient", deadline=None)
    # For mutants, of which it is asked only whether any example fails.
    settings.register_profile("mutants", deadline=None, phases=[Phase.explicit, Phase.generate], database=None)
    settings.load_profile("patient")


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


@pytest.fixture(scope="session")
def public_data() -> Path:
    """The folder of public data named by UDS_BENCH_DATA (`tofu/`, `uds/`); without it a test is not applicable."""
    named = os.environ.get("UDS_BENCH_DATA")
    if not named:
        pytest.skip("not applicable: UDS_BENCH_DATA names no folder of public data")
    folder = Path(named)
    if not (folder / "tofu").is_dir():
        pytest.fail(f"UDS_BENCH_DATA={named} holds no tofu/ folder: correct or unset it")
    return folder
