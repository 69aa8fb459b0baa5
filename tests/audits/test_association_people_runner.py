"""A request that is added costs the sentences about who asks: what was found of others is read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from uds_bench.audits.association.audit import AssociationAudit, read
from uds_bench.audits.association.commands import opened
from uds_bench.audits.association.evaluator import AssociationEvaluator
from uds_bench.audits.association.people_runner import PeopleRunner
from uds_bench.audits.association.section import Association
from uds_bench.audits.manifests import load_manifest
from uds_bench.facts.exposed_people import embedded_people
from uds_bench.facts.properties import embedded
from uds_bench.metrics.metric import Measured
from uds_bench.scoring.runner import ScoreRequest, ScoreRunner
from uds_bench.scoring.store import Store

ASKED = """[association]
model = 'specimen:assoc_full'
candidates = { npo = 'specimen:assoc_npo' }
requests = 'asked.jsonl'
strangers = 5
counterfactuals = 6
similar_names = 1
"""


def audit(folder: Path, ids: Sequence[int]) -> AssociationAudit:
    """Of requests of some of the built-in people."""
    rows = []
    for at in ids:
        person = embedded_people()[at]
        facts = [
            {"sentence": embedded()[one.property].templates[0].fill(person.name, "PROTECTED"), "value": one.values[0]}
            for one in person.statements[:2]
        ]
        rows.append({"id": f"r{at}", "date": "2026-01-01", "person": person.name, "facts": facts})
    (folder / "asked.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "uds.toml").write_text(ASKED)
    section = load_manifest(folder / "uds.toml").of(Association)
    return opened(section, read(section), section.needed(section.judged()), str(folder / "store"), "cpu")


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[frozenset[str]]:
    """Whose request each evaluation is about."""
    found: list[frozenset[str]] = []
    plain = AssociationEvaluator.evaluate

    def told(self: AssociationEvaluator, *given: object) -> Measured:
        found.append(frozenset(one.subject.id.partition("/")[0] for one in self.items))
        return plain(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(AssociationEvaluator, "evaluate", told)
    return found


def test_who_asks_later_is_asked_about_alone(tmp_path: Path, evaluated: list[frozenset[str]]) -> None:
    first = audit(tmp_path, [3, 4])
    before = first.seen("npo").held
    assert set(evaluated) == {frozenset({"r3"}), frozenset({"r4"})}
    evaluated.clear()
    after = audit(tmp_path, [3, 4, 5]).seen("npo").held
    assert set(evaluated) == {frozenset({"r5"})}
    assert {id: after[id] for id in before} == before
    evaluated.clear()
    assert audit(tmp_path, [3, 4, 5]).seen("npo").held == after
    assert audit(tmp_path, [4]).seen("npo").held == {id: one for id, one in before.items() if id.startswith("r4")}
    assert evaluated == [], "who took the request back costs nothing either"


def test_what_is_found_apart_is_what_is_found_together(tmp_path: Path) -> None:
    found = audit(tmp_path, [3, 4])
    apart = found.ways["asked"].runner
    assert isinstance(apart, PeopleRunner)
    assert [len(one) for one in found.probe_set.groups] == [12, 12]
    together = ScoreRunner(apart.specs, apart.evaluator, Store(tmp_path / "other"), "cpu")
    request = ScoreRequest("npo")
    for one, other in zip(apart.score(request).per_fact, together.score(request).per_fact, strict=True):
        assert (one.id, one.cluster) == (other.id, other.cluster)
        assert one.value == pytest.approx(other.value)
        for mine, theirs in zip(one.detail["ranks"], other.detail["ranks"], strict=True):
            assert mine == theirs | {key: pytest.approx(theirs[key], abs=1e-4) for key in ("leads", "strength")}
    assert apart.score(request).value == pytest.approx(together.score(request).value)
