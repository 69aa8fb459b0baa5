"""Which of the collected tests a run is about: the gate alone, unless the laboratory is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

from uds_bench.harness.items import audit_of, decides_claim, is_about_nobody, is_of_laboratory, lacks_attack

if TYPE_CHECKING:
    from uds_bench.harness.run import Run


def select(run: Run, items: list[pytest.Item]) -> list[str]:
    """Take out what the run is not about.

    Claims about attacks where the manifest names none. Of shipped models, claims of the laboratory. Of a user's models,
    audits to which the manifest says nothing, and claims about metrics, methods or papers, unless they are asked for or
    nothing else is selected.

    Returns the audits that were taken out, by name. Raises UsageError where nothing is left of shipped models.
    """
    attacked = _or_all((item for item in items if not lacks_attack(item)), items)
    run.config.hook.pytest_deselected(items=[*({*items} - {*attacked})])
    items[:] = attacked
    if run.is_embedded and not run.is_gate:
        return []
    silent = set()
    if run.is_gate:
        kept = [item for item in items if not is_of_laboratory(item)]
        if items and not kept:
            raise pytest.UsageError(f"{items[0].nodeid} is of the laboratory: add --uds-profile zoo")
    else:
        told = _or_all((item for item in items if not run.silent_to(_audit(item))), items)
        silent = {str(_audit(item)) for item in {*items} - {*told}}
        kept = _or_all((item for item in told if not _stays_out(run, item)), told)
    run.config.hook.pytest_deselected(items=[*({*items} - {*kept})])
    items[:] = kept
    return sorted(silent)


def _or_all(chosen: Iterable[pytest.Item], items: list[pytest.Item]) -> list[pytest.Item]:
    """Those that were chosen, or all where no claim is among them: they were named by themselves."""
    kept = list(chosen)
    return kept if any(map(decides_claim, kept)) else items


def _stays_out(run: Run, item: pytest.Item) -> bool:
    return is_of_laboratory(item) and is_about_nobody(item) and not run.wants_laboratory(_audit(item))


def _audit(item: pytest.Item) -> str | None:
    return audit_of(item.get_closest_marker("claim"))
