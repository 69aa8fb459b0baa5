"""A fault in what judges turns the default run red, whatever scores are stored: what it comes to is pinned."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAULTS = {
    "nobody is lost": """
        import uds_bench.audits.association.rates as rates
        from uds_bench.statistics import Rate, paired_interval
        def lost(asked, *_):
            return Rate(0.0, paired_interval([0.0 for _ in asked], [one.cluster for one in asked]))
        rates.lost = lost
    """,
    "every control holds": """
        import uds_bench.claims.claim as claim
        from dataclasses import replace
        held = claim._held
        claim._held = lambda *given: replace(held(*given), held=True)
    """,
    "controls are dropped": """
        from uds_bench.claims.rules import Rules
        settle = Rules.settle
        Rules.settle = lambda self, spec, subject, node, decision, controls, where: settle(
            self, spec, subject, node, decision, [], where)
    """,
    "no golden is known": """
        from uds_bench.claims.goldens import Goldens
        Goldens.compare = lambda self, name, observed, where: {"status": "none", "text": ""}
    """,
    "a bound is looser": """
        import uds_bench.audits.association.claims as claims
        from dataclasses import replace
        claims.CLAIMS = tuple(replace(s, bound=0.3) if s.id == "association.forgotten" else s for s in claims.CLAIMS)
    """,
    "half of every interval": """
        import uds_bench.audits.association.rates as rates
        from dataclasses import replace
        import uds_bench.statistics as statistics
        paired = rates.paired_interval
        def narrow(*given):
            found = paired(*given)
            middle = (found.low + found.high) / 2
            return replace(found, low=(found.low + middle) / 2, high=(found.high + middle) / 2)
        rates.paired_interval = narrow
    """,
    "a claim is not collected": """
        def pytest_collection_modifyitems(items):
            items[:] = [item for item in items if "test_retained" not in item.name]
    """,
}
QUIET = {"a claim is not collected"}
"""What leaves claims out makes no run red: its sentence says how many were judged."""


def run(store: Path, plugin: str = "", folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The claims about people and places, on stored scores."""
    import textwrap

    known = {key: value for key, value in os.environ.items() if not key.startswith(("UDS_", "PYTEST_", "CI"))}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--uds-store", str(store)]
    if folder is not None:
        (folder / "seeded.py").write_text(textwrap.dedent(plugin))
        known["PYTHONPATH"] = os.pathsep.join([str(folder), known.get("PYTHONPATH", "")])
        command += ["-p", "seeded"]
    command += [str(ROOT / "suites" / f"test_{audit}.py") for audit in ("association", "localization")]
    return subprocess.run(command, cwd=ROOT, env=known, capture_output=True, text=True)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    done = run(folder)
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1].endswith("36 of the default's 92 claims judged.")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told(store: Path, tmp_path: Path, name: str) -> None:
    done = run(store, FAULTS[name], tmp_path)
    last = done.stdout.splitlines()[-1]
    if name in QUIET:
        assert "32 of the default's 92 claims judged" in last, done.stdout
    else:
        assert done.returncode == 1, done.stdout
        assert "RED" in last
