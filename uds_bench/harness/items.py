"""What a test says of itself: the claim that it decides, the audit that the claim is of, and the model it speaks of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uds_bench.errors import ConfigurationError, did_you_mean

if TYPE_CHECKING:
    import pytest

CLAIM, SUBJECT, ATTACK = "uds_claim", "uds_subject", "uds_attack"
"""Fixtures by which a test gets them."""
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


def audit_of(marker: pytest.Mark | None) -> str | None:
    """The audit of a claim's marker: the one whose claims begin alike, or the one that it names.

    Raises ConfigurationError for one that does not exist.
    """
    from uds_bench.audits import registry

    if marker is None or not marker.args:
        return None
    named = marker.kwargs.get("audit")
    if named is None:
        return registry.owners().get(str(marker.args[0]).partition(".")[0])
    if named not in registry.audits():
        near = did_you_mean(named, registry.audits())
        raise ConfigurationError(f"marker claim({marker.args[0]!r}): there is no audit {named!r}: {near}")
    return str(named)
