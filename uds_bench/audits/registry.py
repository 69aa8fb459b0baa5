"""The audits of this environment: those of every package that names one as an entry point of `uds_bench.audits`."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, TypeVar

from uds_bench.audits.api import Audit
from uds_bench.errors import ConfigurationError, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uds_bench.claims.report_part import ReportPart
    from uds_bench.claims.spec import ClaimSpec
    from uds_bench.figures.chapter import Chapter
    from uds_bench.manifest.section import Section

T = TypeVar("T")
GROUP = "uds_bench.audits"


@cache
def audits() -> dict[str, Audit]:
    """Every audit by name, in the order of their names.

    Raises ConfigurationError for one that cannot be loaded, and for a name that two packages give.
    """
    found: dict[str, Audit] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        if point.name in found:
            raise ConfigurationError(f"audit {point.name} ({point.value}) is given by two packages: uninstall one")
        try:
            audit = point.load()
        except Exception as error:
            told = one_line(error)
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
    """The claims of all audits by id. Raises ConfigurationError for an id that is given twice."""
    known = ((spec.id, audit, spec) for audit in audits().values() for spec in audit.claims())
    return _each_once("claim", known) if owners() else {}


def chapters() -> dict[str, Chapter[Any]]:
    """The chapters that audits show on the page, by the first part of their claims' ids.

    Raises ConfigurationError for one that shows another audit's claims.
    """
    known = [(chapter.name, audit, chapter) for audit in audits().values() for chapter in audit.chapters()]
    for name, audit, _ in known:
        if owners().get(name, audit.name) != audit.name:
            raise ConfigurationError(f"audit {audit.name}: its chapter {name} is named as claims of {owners()[name]}")
    return _each_once("chapter", known)


def _each_once(what: str, named: Iterable[tuple[str, Audit, T]]) -> dict[str, T]:
    found: dict[str, T] = {}
    for name, audit, value in named:
        if name in found:
            raise ConfigurationError(f"{what} {name} is given twice, last by the audit {audit.name}: rename one")
        found[name] = value
    return found


def parts() -> dict[str, type[ReportPart]]:
    """The models of what the audits say in a run's report, by audit.

    Raises ConfigurationError for an audit whose name is a key of every report.
    """
    from uds_bench.claims.run_report import RunReport

    found = {name: kind for name, audit in audits().items() if (kind := audit.part()) is not None}
    if taken := [name for name in found if name in RunReport.model_json_schema()["properties"]]:
        raise ConfigurationError(f"audit {taken[0]}: every run's report has a key of that name: rename it")
    return found


@cache
def owners() -> dict[str, str]:
    """The audit by the first part of its claims' ids. Raises ConfigurationError for a part that two audits have."""
    found: dict[str, str] = {}
    for audit in audits().values():
        for spec in audit.claims():
            if found.setdefault(spec.audit, audit.name) != audit.name:
                raise ConfigurationError(
                    f"audit {audit.name}: its claim {spec.id} begins as those of {found[spec.audit]} do: rename it"
                )
    return found


def by_metric() -> Audit:
    """The audit whose scores a command line chooses by metric. Raises ConfigurationError where another is one too."""
    found = [audit for audit in audits().values() if audit.has("job")]
    if len(found) != 1:
        named = ", ".join(audit.name for audit in found)
        raise ConfigurationError(f"one audit has a module `job`, and here it is {named or 'none'}: rename the others'")
    return found[0]


def sections() -> tuple[type[Section], ...]:
    """What a manifest may hold for the audits, each once."""
    found = (audit.section() for audit in audits().values())
    return tuple(dict.fromkeys(kind for kind in found if kind is not None))
