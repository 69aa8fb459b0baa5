"""The table of claims and the suites say the same."""

import ast
import math
from pathlib import Path

import pytest

from uds_bench.attacks import ATTACKS
from uds_bench.audits import registry
from uds_bench.audits.association.claims import COHORTS
from uds_bench.audits.lmlm.claims import CLOSER
from uds_bench.audits.metrics.judged import JUDGED
from uds_bench.facts.topology import OTHER, TOPOLOGIES
from uds_bench.retrieval.settings import SWEPT

SUITES = Path(__file__).parents[2] / "suites"
VALUES: dict[str, list[str]] = {
    "metric": [*JUDGED],
    "topology": [*TOPOLOGIES, OTHER],
    "policy": [*CLOSER],
    "retriever": [*SWEPT],
    "part": ["cell", "wording"],
    "bits": ["two", "one"],
    "cohort": [*COHORTS],
    "uds_attack": [*ATTACKS],
}
"""What markers name in braces; none names two of them."""
PARAMETERS = [
    {**{name: values[0] for name, values in VALUES.items()}, key: value} for key in VALUES for value in VALUES[key]
]


def used() -> dict[str, list[str]]:
    """Claim id -> the tests that carry its marker; one marker may stand for all metrics or topologies."""
    found: dict[str, list[str]] = {}
    for path in sorted(SUITES.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            for mark in getattr(node, "decorator_list", ()):
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.claim":
                    named = ast.literal_eval(mark.args[0])
                    for claim in dict.fromkeys(named.format_map(given) for given in PARAMETERS):
                        found.setdefault(claim, []).append(f"{path.name}::{node.name}")  # type: ignore[attr-defined]
    return found


def test_suites_use_every_claim_and_no_other() -> None:
    # Claims about published tables are known where their tests are collected: beside the suites, not among them.
    assert used().keys() == {id for id in registry.claims() if not id.startswith("published.")}


def test_one_test_decides_one_claim() -> None:
    assert {claim: tests for claim, tests in used().items() if len(tests) != 1} == {}


def test_every_test_of_a_suite_decides_a_claim() -> None:
    for path in sorted(SUITES.glob("test_*.py")):
        tests = [n for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef)]
        marked = {name for names in used().values() for name in names}
        assert {f"{path.name}::{t.name}" for t in tests if t.name.startswith("test_")} <= marked


@pytest.mark.parametrize("claim", registry.claims())
def test_a_claim_says_what_how_why_and_what_keeps_it_honest(claim: str) -> None:
    spec = registry.claims()[claim]
    assert spec.id == claim
    assert spec.statement.endswith(".")
    assert spec.origin
    assert spec.unit
    assert math.isfinite(spec.bound)
    assert spec.must_fail or spec.must_pass
    assert (SUITES / f"test_{spec.audit}.py").exists()


@pytest.mark.parametrize("claim", [c for c in registry.claims() if registry.claims()[c].kind == "identity"])
def test_an_identity_allows_rounding_and_no_more(claim: str) -> None:
    assert 0 <= registry.claims()[claim].bound <= 1e-5


def test_a_claim_that_a_candidate_can_fail_says_what_to_do_then() -> None:
    about: set[str] = set()
    for path in SUITES.glob("test_*.py"):
        tests = [n for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef)]
        about |= {f"{path.name}::{t.name}" for t in tests if "uds_subject" in [a.arg for a in t.args.args]}
    claims = [registry.claims()[claim] for claim, tests in used().items() if about & {*tests}]
    assert len(claims) > 20
    assert [one.id for one in claims if one.kind in ("threshold", "equivalence", "word") and not one.advice] == []
