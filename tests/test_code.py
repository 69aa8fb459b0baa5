"""A stored score is of the code that computed it: a fault, or its mending, is not hidden by a warm store."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

import uds_bench
from uds_bench import code_digest
from uds_bench.audits.lmlm.asking import evaluator


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package copied, so that its source can be changed."""
    found = Path(shutil.copytree(Path(uds_bench.__file__).parent, tmp_path / "uds_bench", ignore=kept))
    monkeypatch.setattr(uds_bench, "__file__", str(found / "__init__.py"))
    return found


def kept(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name == "shipped" or name == "__pycache__"}


def digest(*modules: str) -> str:
    code_digest._digest.cache_clear()
    return code_digest.code_digest(*modules)


@pytest.mark.parametrize(
    "file",
    ["metrics/erasure.py", "statistics/intervals.py", "inference/patching.py", "methods/training.py", "scores.py"],
)
def test_a_line_changed_where_numbers_are_computed_changes_it(home: Path, file: str) -> None:
    before = digest()
    assert digest() == before
    path = home / file
    path.write_text(path.read_text() + "\nCHANGED = 1\n")
    assert digest() != before


@pytest.mark.parametrize("file", ["report/page.py", "cli/app.py", "audits/lmlm/claims.py"])
def test_what_computes_nothing_of_it_does_not(home: Path, file: str) -> None:
    before = digest()
    (home / file).write_text("CHANGED = 1\n")
    assert digest() == before


def test_an_audit_of_ones_own_counts(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("mine.evaluator")
    module.__file__ = str(tmp_path / "mine" / "evaluator.py")
    (tmp_path / "mine").mkdir()
    Path(module.__file__).write_text("A = 1\n")
    monkeypatch.setitem(sys.modules, "mine.evaluator", module)
    before = digest("mine.evaluator")
    assert before != digest()
    Path(module.__file__).write_text("A = 2\n")
    assert digest("mine.evaluator") != before


def test_a_rule_of_lmlm_is_changed_without_asking_its_models_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluator, "__file__", str(home / "audits" / "lmlm" / "asking" / "evaluator.py"))
    before = digest(evaluator.__name__)
    (home / "audits" / "lmlm" / "leakage.py").write_text("CHANGED = 1\n")
    assert digest(evaluator.__name__) == before
    (home / "audits" / "lmlm" / "asking" / "probe.py").write_text("CHANGED = 1\n")
    assert digest(evaluator.__name__) != before
