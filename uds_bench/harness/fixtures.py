"""Public fixtures: the claim, its audit and its subject, for suites, ours and a user's own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from uds_bench.harness.items import SUBJECT, audit_of, claim_of

if TYPE_CHECKING:
    from pathlib import Path

    from uds_bench.claims.claim import Claim
    from uds_bench.harness.run import Run

RUN: pytest.StashKey[Run] = pytest.StashKey()
CLAIM: pytest.StashKey[Claim] = pytest.StashKey()
LACKS: pytest.StashKey[str] = pytest.StashKey()
"""On a test: what this machine lacks for it."""


@pytest.fixture(scope="session")
def uds_run(pytestconfig: pytest.Config) -> Run:
    """The run itself: settings, manifest, rules. For tools; suites use the fixtures below."""
    return pytestconfig.stash[RUN]


@pytest.fixture(scope="session")
def uds_goldens(uds_run: Run) -> Path:
    """The folder of goldens: `<audit>/specimens.json`, and frozen inputs."""
    return uds_run.settings.goldens


@pytest.fixture
def uds_subject(request: pytest.FixtureRequest) -> str | None:
    """Each judged model of the claim's audit in turn, by its name in the manifest; None where it has none."""
    name: str | None = request.param
    return name


@pytest.fixture
def uds_audit(request: pytest.FixtureRequest, uds_run: Run) -> Any:
    """The audit that the claim is of, as its package's `audit.open` gives it."""
    name = audit_of(request.node.get_closest_marker("claim"))
    if name is None:
        pytest.fail('name the audit: @pytest.mark.claim("mine.claim", audit="depth")', pytrace=False)
    return uds_run.audit(name)


@pytest.fixture
def uds_claim(request: pytest.FixtureRequest, uds_run: Run) -> Claim:
    """Decides one claim: `uds_claim.threshold(score, at_least=...)`, `.identity`, `.ordering`, `.equivalence`.

    It records the decision for the summary, JSON and page, compares it with its golden, applies the manifest's
    thresholds, expectations and waivers, and fails the test with one message: by how much, and how to reproduce it.
    Name the claim by `@pytest.mark.claim("audit.name")`. Of an audit to which the manifest says nothing no claim
    applies.
    """
    from uds_bench.claims.claim import Claim

    rules, is_about_nobody = uds_run.rules, SUBJECT not in request.fixturenames
    if is_about_nobody and request.node.get_closest_marker("laboratory") and not uds_run.is_embedded:
        rules = replace(rules, laboratory=True)  # what is found of a metric or a setting stops nobody's release
    current = Claim(*claim_of(request.node), request.node.nodeid, rules)
    request.node.stash[CLAIM] = current
    if silent := uds_run.silent_to(audit_of(request.node.get_closest_marker("claim"))):
        current.not_applicable(silent)
        pytest.skip(silent)
    return current
