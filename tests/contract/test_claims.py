"""The table of claims and the suites say the same."""

import ast
from pathlib import Path

import pytest

from uds_bench.audits import registry

SUITES = Path(__file__).parents[2] / "suites"


def test_every_test_of_a_suite_decides_a_claim() -> None:
    """Whether each claim of the tables has one test, and advice: `check_audit`, in `test_audit_conformance`."""
    for path in sorted(SUITES.glob("test_*.py")):
        tests = [n for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef)]
        marked = {n.name for n in tests if any("pytest.mark.claim(" in ast.unparse(mark) for mark in n.decorator_list)}
        assert {n.name for n in tests if n.name.startswith("test_")} == marked


@pytest.mark.parametrize("claim", [c for c in registry.claims() if registry.claims()[c].kind == "identity"])
def test_an_identity_allows_rounding_and_no_more(claim: str) -> None:
    assert 0 <= registry.claims()[claim].bound <= 1e-5
