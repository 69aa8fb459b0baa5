"""The harness: pytest plugin, manifest, engine, claims and reports. These names are for suites."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uds_bench.harness.claim import Claim, ControlSubject
    from uds_bench.harness.fixtures import ScoreReader
    from uds_bench.harness.manifest import Manifest
    from uds_bench.harness.record import Control
    from uds_bench.harness.run import Handle, Run

_HOMES = {
    "Claim": "claim",
    "Control": "record",
    "ControlSubject": "claim",
    "Handle": "run",
    "Manifest": "manifest",
    "Run": "run",
    "ScoreReader": "fixtures",
}
__all__ = ["Claim", "Control", "ControlSubject", "Handle", "Manifest", "Run", "ScoreReader"]


def __getattr__(name: str) -> Any:
    # Pytest imports this package in every run of the environment: nothing heavy is loaded before it is asked for.
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"uds_bench.harness.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
