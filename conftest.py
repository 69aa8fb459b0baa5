"""Shared by every test run of the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# No test here depends on how busy the machine is.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

pytest_plugins = ["pytester"]


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
