"""The contracts of imports name every room, and hold."""

import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path

import uds_bench
from uds_bench import audits
from uds_bench.audits import registry

ROOT = Path(__file__).parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
ROOMS = {found.name for found in pkgutil.iter_modules(uds_bench.__path__)}


def contract(kind: str) -> dict:
    """The one of the whole package."""
    (found,) = [
        one for one in CONTRACTS if one["type"] == kind and one.get("containers", ["uds_bench"]) == ["uds_bench"]
    ]
    return found


def test_every_room_has_its_layer() -> None:
    layered = [room.strip() for layer in contract("layers")["layers"] for room in layer.split(":")]
    assert sorted(layered) == sorted(ROOMS)


def test_no_room_but_the_audits_may_name_an_audit() -> None:
    found = contract("forbidden")
    frame = {f"audits.{one.name}" for one in pkgutil.iter_modules(audits.__path__) if not one.ispkg}
    assert sorted(found["source_modules"]) == sorted(f"uds_bench.{room}" for room in (ROOMS | frame) - {"audits"})
    ours = [name for name, one in registry.audits().items() if one.package == f"uds_bench.audits.{name}"]
    assert sorted(found["forbidden_modules"]) == sorted(f"uds_bench.audits.{name}" for name in ours)


def keys_of(values: dict) -> list[str]:
    return [key for name, found in values.items() for key in (name, *(keys_of(found) if type(found) is dict else ()))]


def test_no_file_of_settings_names_an_audit_but_its_own() -> None:
    package = ROOT / "uds_bench"
    for path in package.rglob("*.toml"):
        room = path.relative_to(package).parts
        others = registry.audits().keys() - ({room[1]} if room[0] == "audits" else set())
        named = {key.split(".")[0] for key in keys_of(tomllib.loads(path.read_text()))} & others
        assert not named, f"{path} speaks of {', '.join(named)}"


def test_the_contracts_hold() -> None:
    program = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    ran = subprocess.run([*program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
