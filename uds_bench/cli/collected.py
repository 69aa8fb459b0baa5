"""The marks of the tests that `pytest suites/` would select for a manifest: what its claims read."""

from __future__ import annotations

import os
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from uds_bench.errors import ConfigurationError
from uds_bench.storage import StorePlace

if TYPE_CHECKING:
    import pytest


class Collected:
    """A plugin of pytest's that keeps what was selected."""

    def __init__(self) -> None:
        self.items: list[pytest.Item] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Pytest's hook: nothing is deselected after it."""
        self.items = list(session.items)


def marks_of(manifest: Path | None, store: StorePlace, device: str) -> list[pytest.Mark]:
    """Every mark of the selected tests; nothing is run, and no model is loaded.

    Raises ConfigurationError, with the last of what pytest printed, where it selects nothing.
    """
    import pytest

    from uds_bench.claims.suite_claims import suites

    words = [f"--uds-store={store}", f"--uds-device={device}", *([f"--uds-manifest={manifest}"] if manifest else [])]
    # Nobody's own pytest options, but the suites' as they are shipped.
    alone = ["-c", os.devnull, f"--rootdir={suites().parent}", "-p", "no:cacheprovider", "--collect-only", "-q"]
    found, said = Collected(), StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = pytest.main([str(suites()), *alone, *words], plugins=[found])
    if code != pytest.ExitCode.OK:
        lines = said.getvalue().splitlines()
        why = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
        raise ConfigurationError(
            *why or [f"pytest suites/ selects nothing: {' '.join(' '.join(lines).split())[-300:]}"]
        )
    return [mark for item in found.items for mark in item.iter_markers()]
