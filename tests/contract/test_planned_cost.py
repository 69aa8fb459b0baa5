"""`uds-bench plan --cost`: every audit asks a part of what it asks, and that tells what all of it takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from uds_bench.audits import registry
from uds_bench.audits.manifests import manifest_of
from uds_bench.cli.session import CommandSession
from uds_bench.errors import ConfigurationError
from uds_bench.scoring import cost
from uds_bench.scoring.cost import GROWS, planned_cost
from uds_bench.scoring.engine import models_memory
from uds_bench.scoring.runner import ScoreRequest, ScoreRunner
from uds_bench.scoring.store import Store

AUDITS = [
    name
    for name, audit in registry.audits().items()
    if audit.embedded("quick") and audit.has("audit") and audit is not registry.by_metric()
]
Planned = Sequence[tuple[ScoreRunner, Sequence[ScoreRequest]]]


@pytest.fixture(scope="module", params=AUDITS)
def planned(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Planned:
    """What an audit scores of the shipped models, of which nothing is stored."""
    session = CommandSession(manifest_of(None, "quick"), tmp_path_factory.mktemp("plan") / "store", "cpu")
    return session.planned(request.param)


def test_all_is_a_part_of_itself_and_a_smaller_one_is_another(planned: Planned, tmp_path: Path) -> None:
    for runner, requests in planned:
        whole, some = (runner.on_part(share, Store(tmp_path)) for share in (1.0, runner.least))
        assert whole.cell(requests[0]) == runner.cell(requests[0])
        assert whole.size == runner.size > some.size > 0
        assert some.cell(requests[0]) != runner.cell(requests[0]), "a part of the facts is no score of all"


def test_it_is_measured_on_a_part_and_nothing_is_stored(planned: Planned) -> None:
    runner, requests = planned[0]
    found = planned_cost(runner, requests[:1], 0)
    assert found is not None
    assert found.failed == {}
    assert found.tried < found.units == runner.size
    assert found.tried <= GROWS * runner.on_part(runner.least, runner.store).size
    assert [(stage.count, stage.tokens > 0, stage.seconds > 0) for stage in found.stages][-1] == (1, True, True)
    assert runner.stored(requests[0]) is None


def test_a_long_part_is_tried_once_and_what_a_token_takes_tells_the_rest(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner, requests = planned[0]
    monkeypatch.setattr(cost, "LONG", 0.0)
    monkeypatch.setattr(cost, "_memory", lambda _: 1)
    found = planned_cost(runner, requests[:1])
    assert found is not None
    work = runner.work(requests[:1])
    models = 1 if work.largest is None else models_memory(work.largest, work.trains)
    assert found.memory == models, "of all models that are held, however few the part takes"
    assert found.tried == runner.on_part(runner.least, runner.store).size < found.units
    assert found.stages[-1].seconds > 0


def test_what_has_no_parts_is_not_measured(planned: Planned, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runner, requests = planned[0]
    for gone in (lambda *_: None, None):
        monkeypatch.setattr(type(runner.evaluator), "part", gone)
        with pytest.raises(ConfigurationError, match="measured whole or not at all"):
            planned_cost(runner, requests)
