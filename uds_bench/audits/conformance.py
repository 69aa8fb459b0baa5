"""Bring your own audit: checks that every audit must pass, by itself and on a sample."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import product
from typing import Any

from pydantic import ValidationError

from uds_bench.audits import registry
from uds_bench.audits.api import Audit
from uds_bench.audits.conformance_runs import ATTACK, ODD, SampleRuns
from uds_bench.audits.conformance_runs import CHECKS as ON_A_SAMPLE
from uds_bench.audits.sample import Sample
from uds_bench.claims.report_part import ReportPart, unhidden
from uds_bench.errors import UdsError
from uds_bench.manifest.manifest import checked
from uds_bench.manifest.section import Section
from uds_bench.manifest.toml import read_toml

SHIPPED = "quick"
"""The profile of the models whose verdicts are known."""


def check_audit(audit: Audit, sample: Sample | None = None) -> None:
    """Put an audit through every check: of its package, and on a sample of what its runs plan, refuse, keep and show.

    Args:
        audit: Yours, or one that is shipped; a sample needs it to be installed.
        sample: A manifest of small models, and the suites of the audit; without one no model is loaded.

    Raises:
        AssertionError: It fails a check; the message holds every reason.

    Example:
        >>> from uds_bench.audits import depth
        >>> check_audit(depth.AUDIT)
    """
    checks = [(name, partial(check, audit)) for name, check in CHECKS.items()]
    if sample is not None:
        tried = SampleRuns(audit, sample)
        checks += [(name, partial(check, tried)) for name, check in ON_A_SAMPLE.items()]
    problems = [f"{name}: {problem}" for name, check in checks for problem in _found(check)]
    if problems:
        raise AssertionError(f"audit {audit.name}: " + "; ".join(problems))


def _found(check: Callable[[], Iterator[str]]) -> Iterator[str]:
    """The problems that a check finds; a check that raises is a problem as well, and hides no other."""
    try:
        yield from check()
    except (Exception, SystemExit) as error:
        yield f"raises {error!r}"


def _section(audit: Audit) -> Iterator[str]:
    """An empty section is valid, says what it lacks, and judges nobody."""
    kind = audit.section()
    if kind is None:
        return
    if not issubclass(kind, Section) or not kind.NAME:
        yield "SECTION is no Section with a NAME"
        return
    empty = kind()
    if not empty.lacks():
        yield "lacks() of an empty section is empty: a manifest that says nothing would be judged"
    if empty.judged() or empty.checkpoints() or empty.needed([]):
        yield "an empty section has models"
    if not vars(kind).get("__doc__"):
        yield "the section has no docstring that tells what its keys mean"
    try:
        kind.model_validate({"no_such_key": 1})
        yield "an unknown key is accepted"
    except ValueError:
        pass


def _claims(audit: Audit) -> Iterator[str]:
    """Every claim says what it holds, by which bound, from where, and what keeps it honest."""
    specs = audit.claims()
    if not specs:
        yield "CLAIMS is empty: an audit decides something"
    for spec in specs:
        if not (spec.statement.endswith(".") and spec.origin and spec.unit and math.isfinite(spec.bound)):
            yield f"{spec.id} lacks a statement (ending in a stop), an origin, a unit or a finite bound"
        if not (spec.must_fail or spec.must_pass):
            yield f"{spec.id} names no control that must fail or pass"
        others = [other.name for other in registry.audits().values() if other.name != audit.name]
        if registry.owners().get(spec.audit, audit.name) in others:
            yield f"{spec.id} begins as the claims of another audit do"


def _modules(audit: Audit) -> Iterator[str]:
    """`audit.read` takes the section, `audit.open` the session."""
    if audit.section() is None:
        return
    module = audit.module("audit")
    for name in ("read", "open"):
        found = getattr(module, name, None)
        if not callable(found) or len(inspect.signature(found).parameters) != 1:
            yield f"audit.{name} is no function of one argument"


def _chapters(audit: Audit) -> Iterator[str]:
    """Chapters show the audit's own claims; they draw what its model accepts, and let no text become markup."""
    prefixes = {spec.audit for spec in audit.claims()}
    known = {spec.id for spec in audit.claims()}
    for chapter in audit.chapters():
        if unknown := sorted(set(chapter.measures) - known):
            yield f"chapter {chapter.name} draws {', '.join(unknown)}, which is no claim"
        if not chapter.title or (chapter.measures and chapter.name not in prefixes):
            yield f"chapter {chapter.name} has no title, or a name that no claim begins with"
        for part in [None, *_odd_parts(audit.part())]:
            try:
                drawn = chapter.draw(()) if part is None else chapter.judge(part)
            except Exception as error:
                yield f"chapter {chapter.name} raises {error!r} for {part!r}"
                break
            if any("<script>alert" in str(panel) for figure in drawn for panel in figure.panels):
                yield f"chapter {chapter.name} lets text of the report become markup"


def _odd_parts(kind: type[ReportPart] | None) -> Iterator[ReportPart]:
    """The parts that its model accepts with one odd value, a key at a time."""
    if kind is None:
        return
    for name, odd in product(kind.model_fields, (*ODD, ATTACK, [ATTACK], {ATTACK: ATTACK})):
        with suppress(ValidationError):
            yield kind.model_validate({name: odd})


def _part(audit: Audit) -> Iterator[str]:
    """The audit's part of a run's report has a model, which refuses keys that it does not name."""
    kind: Any = audit.part()
    if kind is None:
        return
    if not (isinstance(kind, type) and issubclass(kind, ReportPart)):
        yield "PART is no ReportPart"
        return
    if kind.model_config.get("extra") != "forbid":
        yield "PART takes keys that it does not name"
    if shown := [*unhidden(kind)]:
        yield f"PART has fields about people that no page to publish could hide: {', '.join(shown)}"


def _silence(audit: Audit) -> Iterator[str]:
    """An odd value in the section is accepted, or is an error, and no crash."""
    kind = audit.section()
    if kind is None:
        return
    for name in kind.model_fields:
        for odd in ODD:
            try:
                kind.model_validate({name: odd})
            except (ValueError, UdsError):
                continue
            except Exception as error:
                yield f"[{audit.name}] {name} = {odd!r} raises {error!r}"


def _embedded(audit: Audit) -> Iterator[str]:
    """Its shipped models show that its claims can fail and can pass; nothing is said of another audit's claims."""
    if (place := audit.embedded(SHIPPED)) is None:
        return
    found = checked(read_toml(place), registry.sections())
    named = {*found.thresholds, *found.expect, *found.common.specimens}
    if foreign := sorted({name.partition("[")[0] for name in named} - {spec.id for spec in audit.claims()}):
        yield f"{place.name} speaks of {', '.join(foreign)}, which is no claim of it"
    words = set(found.known_verdicts.values())
    yield from (f"{place.name} has no specimen that must {word}" for word in ("pass", "fail") if word not in words)


CHECKS: Mapping[str, Callable[[Audit], Iterator[str]]] = {
    "section": _section,
    "odd values": _silence,
    "claims": _claims,
    "modules": _modules,
    "part": _part,
    "page": _chapters,
    "embedded models": _embedded,
}
