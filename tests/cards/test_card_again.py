"""Reports that were edited by hand: what the table of claims, the manifest and a second decision say of each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from made_reports import claim, run_of

from uds_bench.cards.card import cards
from uds_bench.cards.rerun import departures, files_of, unlike_rules
from uds_bench.claims.record import Bound, ClaimRecord, Control
from uds_bench.manifest.manifest import Manifest
from uds_bench.statistics import Interval

RANGE = Interval(0.8, 0.95, "bootstrap", 15)
KNOWS = Control("full2", "fail", "fail", 0.3, RANGE, held=True)
HONEST = claim("depth.score[npo]", observed=0.9, interval=RANGE, bound=Bound(">=", 0.7), controls=(KNOWS,))


def told(record: ClaimRecord, thresholds: Mapping[str, float] | None = None) -> list[str]:
    manifest: Any = SimpleNamespace(thresholds=thresholds or {}, expect={})
    manifest.threshold = partial(Manifest.threshold, manifest)
    (card,) = cards(run_of(record))
    return list(unlike_rules(card, manifest))


@pytest.mark.parametrize("bound", [0.7, 0.75, 0.6])
def test_a_bound_of_the_table_a_tighter_one_and_one_that_pools_set_hold(bound: float) -> None:
    assert told(replace(HONEST, bound=Bound(">=", bound))) == []


@pytest.mark.parametrize(
    ("forged", "why"),
    [
        (replace(HONEST, bound=Bound(">=", 0.2)), "needs >= 0.2, looser than >= 0.7"),
        (replace(HONEST, bound=Bound("<=", 0.95)), "needs <= 0.95, and the claim needs >= 0.7"),
        (replace(HONEST, bound=Bound(needs="nothing")), "needs nothing, and the claim needs >= 0.7"),
        (replace(HONEST, kind="outcome"), "passes as a claim of the kind outcome"),
        (replace(HONEST, controls=()), "passes without a control"),
        (replace(HONEST, controls=(replace(KNOWS, held=False),)), "passes though the control full2 missed"),
        (claim("depth.score[npo]", "declared"), "is declared, and the manifest's [expect] does not say so"),
    ],
)
def test_a_pass_that_the_rules_do_not_give_is_a_line(forged: ClaimRecord, why: str) -> None:
    (line,) = told(forged)
    assert line.startswith(f"depth.score[npo]: {why}")


@pytest.mark.parametrize(
    ("id", "kind", "bound"), [("depth.basis", "identity", 1e-5), ("lmlm.wording_invariance", "equivalence", 0.05)]
)
def test_a_wider_margin_than_the_table_s_is_a_line(id: str, kind: str, bound: float) -> None:
    record = claim(f"{id}[npo]", kind=kind, observed=0.0, controls=(KNOWS,))
    assert told(replace(record, bound=Bound("==", bound))) == []
    for wider, needs in ((0.5, r"(equal )?within .*0\.5"), (None, "nothing")):
        (line,) = told(replace(record, bound=Bound("==", wider)))
        assert re.search(rf"needs {needs}.*, and the claim needs {bound:g} at most", line)


def test_a_tighter_bound_of_the_manifest_counts() -> None:
    for name in ("depth.score", "depth.score[npo]"):
        assert "looser than >= 0.8" in told(replace(HONEST, controls=(replace(KNOWS, observed=0.75),)), {name: 0.8})[0]


def test_what_comes_out_otherwise_is_missing_or_is_no_claim_is_a_line() -> None:
    other = claim("depth.hidden[npo]")
    own = claim("ours.unsaid[npo]")
    assert list(departures([HONEST, own], [HONEST])) == []
    (differs,) = departures([HONEST], [replace(HONEST, observed=0.5)])
    assert differs == "depth.score[npo]: observed not as decided now, which is pass"
    assert list(departures([HONEST], [HONEST, other])) == ["depth.hidden[npo]: the run lacks it, and it comes out pass"]
    assert list(departures([HONEST, other], [HONEST])) == ["depth.hidden[npo]: `pytest suites/` decides no such claim"]


def test_only_the_files_that_decided_are_run_again() -> None:
    rows = [replace(HONEST, node="../a/suites/test_depth.py::test_score[npo]"), claim("ours.unsaid", node="mine.py::x")]
    assert files_of(rows) == ["test_depth.py"]


@pytest.mark.parametrize("node", ["x/..::t", "x/::t", "", "..", "evil/conftest.py::t", "-c e.ini::t", "/x.py::t"])
def test_no_file_is_run_again_that_is_none_of_the_suites(node: str) -> None:
    """A report could name the folder above, whose every test was run, or a file beside the suites."""
    assert files_of([replace(HONEST, node=node)]) == []
