"""Scores by metric are planned by a mark on each test: what claims ask for is planned, and nothing else is."""

from pathlib import Path
from typing import Any

import pytest
from audit_samples import sample_of
from small_runs import Bench

from uds_bench.audits.conformance_runs import ALL
from uds_bench.harness.fixtures import RUN


class Asked:
    """What a run planned, and what its claims asked for, by address."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        depth: Any = session.config.stash[RUN].audit("depth")
        stored = [depth.runner.stored(request) for request in depth.plan]
        self.planned = {score.address for score in stored if score is not None}
        self.asked = {score.address for score in depth.runner.requested.values()}


@pytest.mark.parametrize(
    ("name", "suites"),
    [("depth", None), ("metrics", None), ("metrics", ["test_faithfulness.py"]), ("metrics", ["test_robustness.py"])],
    ids=lambda one: "-".join(one) if isinstance(one, list) else one,
)
def test_what_claims_ask_for_is_what_their_tests_plan(
    name: str, suites: list[str] | None, bench: Bench, request: pytest.FixtureRequest
) -> None:
    """`check_audit` holds it of audits whose plan is the same whichever tests are selected."""
    sample = sample_of(name, bench, lambda: Path(request.getfixturevalue("judged_store")))
    chosen = [path for path in sample.suites if suites is None or Path(path).name in suites]
    assert chosen
    seen = Asked()
    line = bench.arguments(*chosen, *ALL, manifest=sample.manifest, store=sample.kept)
    bench.pytester.runpytest_inprocess(*line, plugins=[seen])
    assert seen.asked == seen.planned != set()
