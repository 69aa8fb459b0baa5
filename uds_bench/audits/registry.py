"""The audits of this environment: those of every package that names one as an entry point of `uds_bench.audits`."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from uds_bench.audits.api import Audit
from uds_bench.errors import ConfigurationError

if TYPE_CHECKING:
    from uds_bench.claims.spec import ClaimSpec
    from uds_bench.figures.chapter import Chapter
    from uds_bench.manifest.section import Section

GROUP = "uds_bench.audits"


@cache
def audits() -> dict[str, Audit]:
    """Every audit by name, in the order of their names."""
    found: dict[str, Audit] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            audit = point.load()
        except Exception as error:
            told = " ".join(str(error).split())
            raise ConfigurationError(f"audit {point.name} ({point.value}) cannot be loaded: {told}") from error
        if not isinstance(audit, Audit) or audit.name != point.name:
            raise ConfigurationError(f"audit {point.name} ({point.value}) is no Audit of that name: see audits.api")
        found[audit.name] = audit
    return found


def add(audit: Audit) -> None:
    """Make an audit known that is not installed, before any claim is decided."""
    audits()[audit.name] = audit
    claims.cache_clear()
    owners.cache_clear()


@cache
def claims() -> dict[str, ClaimSpec]:
    """The claims of all audits by id. Raises ConfigurationError for an id that two of them give."""
    found: dict[str, ClaimSpec] = {}
    for audit in audits().values():
        for spec in audit.claims():
            if spec.id in found:
                raise ConfigurationError(f"claim {spec.id} is given twice, last by the audit {audit.name}: rename one")
            found[spec.id] = spec
    return found


def chapters() -> dict[str, Chapter]:
    """What the audits show on the page, by the first part of the claims that it is of."""
    return {chapter.name: chapter for audit in audits().values() for chapter in audit.chapters()}


@cache
def owners() -> dict[str, str]:
    """The audit by the first part of its claims' ids."""
    return {spec.audit: audit.name for audit in audits().values() for spec in audit.claims()}


def sections() -> tuple[type[Section], ...]:
    """What a manifest may hold for the audits, each once."""
    found = (audit.section() for audit in audits().values())
    return tuple(dict.fromkeys(kind for kind in found if kind is not None))
