"""The claims of `pytest suites/`, read from the sources of the suites, whatever pytest was told to collect."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

_PARAMETER = re.compile(r"\{\w+\}")


class SuiteClaim(NamedTuple):
    """One test of a suite.

    `claim`: as its mark has it, parameters in braces. `of_subject`: whether it speaks of a judged model; `of_attack`:
    of an attack.
    """

    claim: str
    of_subject: bool
    of_attack: bool

    @property
    def name(self) -> str:
        """The claim as pages name it, such as `depth.withstands.*`."""
        return _PARAMETER.sub("*", self.claim)

    def decides(self, id: str) -> bool:
        """Whether it is the test of a claim.

        Example:
            >>> withstands = SuiteClaim("depth.withstands.{uds_attack}", of_subject=True, of_attack=True)
            >>> withstands.decides("depth.withstands.nf4"), withstands.decides("depth.score")
            (True, False)
        """
        return bool(re.fullmatch(_PARAMETER.sub(".+", self.claim), id))


def suites() -> Path:
    """The claims as pytest functions: beside the package in a checkout, in it once installed."""
    package = Path(__file__).parents[1]
    return next(folder for folder in (package / "suites", package.parent / "suites") if folder.is_dir())


@cache
def gate_claims() -> tuple[SuiteClaim, ...]:
    """The claims about candidates and those that they rest on; none of the laboratory.

    Example:
        >>> SuiteClaim("depth.score", of_subject=True, of_attack=False) in gate_claims()
        True
        >>> any(one.claim.startswith("faithfulness") for one in gate_claims())
        False
    """
    return tuple(one for file in sorted(suites().glob("test_*.py")) for one in _claims(file))


def is_gate_claim(id: str) -> bool:
    """Whether `id` is a claim about a candidate.

    Example:
        >>> is_gate_claim("depth.withstands.nf4"), is_gate_claim("depth.order")
        (True, False)
    """
    return any(one.of_subject and one.decides(id) for one in gate_claims())


def _claims(file: Path) -> list[SuiteClaim]:
    module = ast.parse(file.read_text(encoding="utf-8"))
    marks = [ast.unparse(one.value) for one in module.body if isinstance(one, ast.Assign) and _is_mark(one)]
    if any("laboratory" in one for one in marks):
        return []
    found = []
    for test in module.body:
        if not isinstance(test, ast.FunctionDef):
            continue
        named = [_named(one) for one in test.decorator_list]
        if any("laboratory" in ast.unparse(one) for one in test.decorator_list):
            continue
        given = {one.arg for one in test.args.args}
        found += [SuiteClaim(name, "uds_subject" in given, "uds_attack" in given) for name in named if name]
    return found


def _is_mark(one: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in one.targets)


def _named(mark: ast.expr) -> str:
    """The claim that a mark names; "" of another mark."""
    if not (isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.claim" and mark.args):
        return ""
    name = mark.args[0]
    return str(name.value) if isinstance(name, ast.Constant) else ""
