"""No claim without a falsifier: something of which it is known that the claim must come out fail, and that does.

A shipped model that is caught, or a control that is decided by the same rule, in the recorded default run; a golden is
falsified by a value beside it. Claims of the laboratory are falsified by made-up scores.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import made_audits as made
import pytest

from uds_bench.audits import registry
from uds_bench.claims import Claim
from uds_bench.claims.goldens import Goldens
from uds_bench.claims.record import ClaimRecord
from uds_bench.claims.rules import Rules
from uds_bench.claims.waivers import Waivers
from uds_bench.statistics import Interval
from uds_bench.verdicts import Verdict

CLAIMS = registry.claims()
ROOT = Path(__file__).parents[2]
RECORDED = json.loads((ROOT / "goldens" / "default.json").read_text())["claims"]


def known(id: str) -> Iterator[str]:
    """What of a claim comes out fail in the default run."""
    for name, row in RECORDED.items():
        if name.partition("[")[0] == id:
            yield from [name] if row["verdict"] == "caught" else ()
            yield from (control for control, must, verdict, _ in row["controls"] if must == verdict == "fail")


IN_DEFAULT = {id for id in CLAIMS if any(known(id))}
GOLDENS = {id for id, spec in CLAIMS.items() if spec.kind == "golden"}


def test_every_claim_has_a_falsifier() -> None:
    assert set(CLAIMS) - IN_DEFAULT - GOLDENS == set(made.FALSIFIERS)


def decided(id: str, test: Callable[[Claim], None], goldens: Goldens | None = None) -> ClaimRecord:
    rules = Rules(CLAIMS, {}, frozenset(), {}, Waivers(), goldens or Goldens(), "here", lambda node: node)
    claim = Claim(id, None, "node", rules)
    with contextlib.suppress(pytest.fail.Exception):
        test(claim)
    assert claim.record is not None
    return claim.record


@pytest.mark.parametrize("id", sorted(GOLDENS))
def test_a_golden_is_falsified_by_a_value_beside_it(id: str) -> None:
    interval = Interval(0.4, 0.6, "by hand", 20)
    row = {"value": 0.5, "tolerance": 1e-4}
    for value, held in ((0.5, True), (0.5002, False), (None, False)):
        found = decided(id, lambda claim, v=value: claim.recorded(v, interval), Goldens({id: row}))
        assert (found.verdict is Verdict.PASS) == held, found.message


@pytest.mark.parametrize("id", sorted(made.FALSIFIERS))
def test_a_claim_of_the_laboratory_is_falsified_by_made_up_scores(id: str) -> None:
    honest, false = (decided(id, made.FALSIFIERS[id](is_false)) for is_false in (False, True))
    assert false.outcome is Verdict.FAIL, false.message
    assert honest.outcome is not Verdict.FAIL, honest.message
