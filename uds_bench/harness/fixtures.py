"""Public fixtures: the claim, its audit and its subject, for suites, ours and a user's own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from uds_bench.harness.items import audit_of, claim_of, is_about_nobody, is_of_laboratory

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
def uds_attack(request: pytest.FixtureRequest) -> str:
    """Each attack of the manifest in turn, by its name; "none" where it names none."""
    name: str = request.param
    return name


@pytest.fixture
def uds_audit(request: pytest.FixtureRequest, uds_run: Run) -> Any:
    """The audit that the claim is of, as its package's `audit.open` gives it."""
    name = audit_of(request.node)
    if name is None:
        pytest.fail('name the audit: @pytest.mark.claim("mine.claim", audit="depth")', pytrace=False)
    return uds_run.audit(name)


@pytest.fixture
def uds_claim(request: pytest.FixtureRequest, uds_run: Run) -> Claim:
    """Decides one claim: `uds_claim.threshold(score, at_least=...)`, `.identity`, `.ordering`, `.equivalence`.

    It records the decision for the summary, JSON and page, compares it with its golden, applies the manifest's
    thresholds, expectations and waivers, and fails the test with one message: by how much, and how to reproduce it.
    Name the claim by `@pytest.mark.claim("audit.name")`.
    """
    from uds_bench.claims.claim import Claim
    from uds_bench.errors import CheckpointError

    rules, (name, subject) = uds_run.rules, claim_of(request.node)
    if is_of_laboratory(request.node) and not uds_run.is_embedded:
        # A finding about a metric, a setting or an order of papers stops nobody's release.
        is_order = name in rules.claims and rules.claims[name].kind == "ordering"
        rules = replace(rules, laboratory=is_order or is_about_nobody(request.node))
    current = Claim(name, subject, request.node.nodeid, rules)
    request.node.stash[CLAIM] = current
    if refused := uds_run.refused.get((audit_of(request.node), subject)):
        raise CheckpointError(refused)
    return current
