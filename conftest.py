"""Shared by every test run of the repository; its place puts `replication` on the import path."""

from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
OWN = (ROOT / "tests", ROOT / "benchmarks")
TOOLS = ("hypothesis", "pytest_benchmark", "syrupy", "xdist")


def pytest_collection(session: pytest.Session) -> None:
    """The project's own tests need more than judging does: that is said once, and not by each file that lacks it."""
    home = session.config.invocation_params.dir
    named = [(home / argument.partition("::")[0]).resolve() for argument in session.config.args]
    ours = [path for path in named if any(path.is_relative_to(own) for own in OWN)]
    if ours and (missing := [name for name in TOOLS if find_spec(name) is None]):
        tools = "pip install -e '.[dev]' brings them"
        raise pytest.UsageError(f"{ours[0].relative_to(ROOT)}: its tests need {', '.join(missing)}: {tools}")
