"""A process of its own is not looked through again for what of its libraries can be freed; one within a test is."""

import gc
import subprocess
import sys
from pathlib import Path

import pytest

DEPTH = Path(__file__).parents[2] / "suites" / "test_depth.py"
COLLECT = (str(DEPTH), "--collect-only", "-q", "-p", "no:cacheprovider", "-p", "no:benchmark")


def test_a_run_of_its_own_keeps_what_is_imported(tmp_path: Path) -> None:
    code = "import gc, pytest, sys; pytest.main(sys.argv[1:]); print('KEPT', gc.get_freeze_count(), gc.isenabled())"
    done = subprocess.run([sys.executable, "-c", code, *COLLECT], cwd=tmp_path, capture_output=True, text=True)
    count, enabled = done.stdout.rpartition("KEPT ")[2].split()
    assert int(count) > 10_000
    assert enabled == "True"


def test_a_run_within_a_test_leaves_the_process_alone(pytester: pytest.Pytester) -> None:
    before = gc.get_freeze_count()
    pytester.runpytest_inprocess(*COLLECT)
    assert gc.get_freeze_count() <= before
    assert gc.isenabled()
