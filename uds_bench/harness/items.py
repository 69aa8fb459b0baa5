"""Collected tests: the claim, audit and model that each speaks of, and which of them a run is about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pytest

from uds_bench.errors import ConfigurationError, did_you_mean

if TYPE_CHECKING:
    from uds_bench.harness.run import Run

CLAIM, SUBJECT, ATTACK = "uds_claim", "uds_subject", "uds_attack"
"""The fixtures by which a test gets its claim, its judged model and its attack."""
UNATTACKED = "none"
"""The attack of a test about attacks where the manifest names none."""
LABORATORY = "laboratory"
"""The mark of a test about metrics, methods, settings or papers."""


def decides_claim(item: pytest.Item) -> bool:
    """Whether a test decides a claim."""
    return CLAIM in getattr(item, "fixturenames", ())


def is_of_laboratory(item: pytest.Item) -> bool:
    """Whether a test is of metrics, methods or papers."""
    return item.get_closest_marker(LABORATORY) is not None


def is_about_nobody(item: pytest.Item) -> bool:
    """Whether a test speaks of no judged model."""
    return SUBJECT not in getattr(item, "fixturenames", ())


def lacks_attack(item: pytest.Item) -> bool:
    """Whether a test speaks of attacks and the manifest names none."""
    callspec = getattr(item, "callspec", None)
    return callspec is not None and callspec.params.get(ATTACK) == UNATTACKED


def subject_of(item: pytest.Item) -> str | None:
    """The judged model that a test speaks of, by name."""
    callspec = getattr(item, "callspec", None)
    found: str | None = None if callspec is None else callspec.params.get(SUBJECT)
    return found


def claim_of(item: pytest.Item) -> tuple[str, str | None]:
    """The claim that a test decides: its marker's name or the function's, and its subject if it has one."""
    marker = item.get_closest_marker("claim")
    callspec = getattr(item, "callspec", None)
    given = {} if callspec is None else callspec.params
    name = str(marker.args[0]) if marker and marker.args else getattr(item, "originalname", item.name)
    # A marker may name a parameter, as "faithfulness.{metric}": one claim a metric.
    return name.format_map(given), subject_of(item)


def audit_of(item: pytest.Item) -> str | None:
    """The audit of a test's claim: the one that its marker names, else the one whose claims begin alike.

    Raises ConfigurationError for one that does not exist.
    """
    from uds_bench.audits import registry

    marker = item.get_closest_marker("claim")
    if marker is None or not marker.args:
        return None
    named = marker.kwargs.get("audit")
    if named is None:
        return registry.owners().get(str(marker.args[0]).partition(".")[0])
    if named not in registry.audits():
        near = did_you_mean(named, registry.audits())
        raise ConfigurationError(f"marker claim({marker.args[0]!r}): there is no audit {named!r}: {near}")
    return str(named)


def require_own(item: pytest.Item) -> None:
    """Raises ConfigurationError for a claim that is named like those of one audit, and decided by another audit."""
    from uds_bench.audits import registry

    (name, _), decides = claim_of(item), audit_of(item)
    owner = registry.owners().get(name.partition(".")[0], decides)
    if owner != decides:
        raise ConfigurationError(f"{item.nodeid}: {name} is a claim of {owner}, not of {decides}: give it another name")


def select(run: Run, items: list[pytest.Item]) -> list[str]:
    """Take out the tests that the run is not about.

    These are claims about attacks, if the manifest names none. For shipped models they are claims of the laboratory.
    For a user's models they are audits to which the manifest says nothing, and claims about metrics, methods or papers.
    The latter stay if they are asked for, or nothing else is selected.

    Returns the names of the audits that were taken out. Raises UsageError if no claim about shipped models is left, or
    if the manifest names nothing that any of several audits judges.
    """
    for item in filter(decides_claim, items):
        require_own(item)
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
        audits = {audit for item in items if decides_claim(item) and (audit := audit_of(item))}
        if len(audits) > 1 and all(map(run.silent_to, audits)):
            raise pytest.UsageError(
                f"{run.settings.manifest}: names nothing to be judged: `uds-bench init` writes a manifest to begin with"
            )
        told = _or_all((item for item in items if not run.silent_to(audit_of(item))), items)
        silent = {str(audit_of(item)) for item in {*items} - {*told}}
        kept = _or_all((item for item in told if not _stays_out(run, item)), told)
    run.config.hook.pytest_deselected(items=[*({*items} - {*kept})])
    items[:] = kept
    return sorted(silent)


def left_out(run: Run, items: Sequence[pytest.Item]) -> list[str]:
    """The claims that the manifest asks for and the run leaves out, whatever the cause: a name, an option, a missing
    file, or a plugin. Shipped models have none, as their claims are recorded."""
    if run.is_embedded:
        return []
    from uds_bench.audits import registry
    from uds_bench.claims.suite_claims import gate_claims

    marks = [(item.get_closest_marker("claim"), subject_of(item)) for item in items]
    asked = {(str(mark.args[0]), subject) for mark, subject in marks if mark and mark.args} | {*map(claim_of, items)}
    found = []
    for one in gate_claims():
        audit = registry.owners().get(one.claim.partition(".")[0])
        if audit is None or run.silent_to(audit):
            continue
        attacks = run.attacks(audit) if one.of_attack else [""]
        names = dict.fromkeys(one.claim.replace(f"{{{ATTACK}}}", attack) for attack in attacks)
        subjects = run.judged(audit) if one.of_subject else [None]
        found += [(name, who) for who in subjects for name in names if (name, who) not in asked]
    # Claims about a candidate come first.
    return [f"{claim} [{who}]" if who else claim for claim, who in sorted(found, key=lambda one: one[1] is None)]


def _or_all(chosen: Iterable[pytest.Item], items: list[pytest.Item]) -> list[pytest.Item]:
    """The chosen tests, or all if no claim is among the chosen: then the user named these tests by themselves."""
    kept = list(chosen)
    return kept if any(map(decides_claim, kept)) else items


def _stays_out(run: Run, item: pytest.Item) -> bool:
    return is_of_laboratory(item) and is_about_nobody(item) and not run.wants_laboratory(audit_of(item))
