"""What is installed beside other projects is not felt there: nothing heavy is imported before it is needed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SUITES = Path(__file__).parents[2] / "suites"
HEAVY = ("torch", "transformers", "pandas", "sklearn", "sentence_transformers", "faiss")
TOLD = f"import sys; print('HEAVY', [name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
PYTEST = "import pytest, sys; code = pytest.main(sys.argv[1:]); "


def heavy(code: str, *args: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs Python code, which then tells what it has imported."""
    return subprocess.run(
        [sys.executable, "-c", f"{code}; {TOLD}", *map(str, args)], cwd=cwd, capture_output=True, text=True
    )


def test_a_run_without_a_claim_imports_nothing_and_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_theirs.py").write_text("def test_theirs():\n    pass\n")
    done = heavy(
        PYTEST + "from sys import modules; print('OURS', sum(name.startswith('uds_bench') for name in modules))",
        "test_theirs.py",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:benchmark",
        cwd=tmp_path,
    )
    assert "1 passed" in done.stdout
    assert "uds_bench:" not in done.stdout
    assert "uds_bench claims" not in done.stdout
    assert "HEAVY []" in done.stderr
    assert int(done.stdout.rpartition("OURS ")[2]) <= 12


def test_claims_are_collected_without_the_library_of_models(tmp_path: Path) -> None:
    quiet = ("-q", "-p", "no:cacheprovider", "-p", "no:benchmark")
    done = heavy(PYTEST.rstrip("; "), SUITES, "--collect-only", *quiet, cwd=tmp_path)
    assert "tests collected" in done.stdout
    assert "HEAVY []" in done.stderr


@pytest.mark.parametrize(
    "code", ["import uds_bench", "import sys; from uds_bench.cli import main; main(['--help'], standalone_mode=False)"]
)
def test_neither_the_package_nor_the_help_needs_it(code: str, tmp_path: Path) -> None:
    done = heavy(code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "HEAVY []" in done.stderr


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("suites/WRONG", "ERROR: file or directory not found: suites/WRONG"),
        (
            "tests/test_code.py",
            "ERROR: tests/test_code.py: its tests need hypothesis: pip install -e '.[dev]' brings them",
        ),
        ("benchmarks", "ERROR: benchmarks: its tests need hypothesis: pip install -e '.[dev]' brings them"),
    ],
)
def test_who_only_judges_needs_no_tool_of_these_tests(named: str, told: str) -> None:
    without = "import pytest, sys; sys.modules['hypothesis'] = None; sys.exit(pytest.main(sys.argv[1:]))"
    plugins = ("-p", "uds_bench.harness.plugin", "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, "-c", without, named, *plugins],
        cwd=SUITES.parent,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done
    assert done.stderr.split("\n") == [told, "", ""]


def modules_of_a_run(folder: Path, *args: str) -> set[str]:
    """What a run of pytest has imported when its test runs, without whatever else is installed beside it."""
    (folder / "test_theirs.py").write_text(
        "import sys\nfrom pathlib import Path\n\n"
        "def test_theirs():\n    Path('modules').write_text('\\n'.join(sys.modules))\n"
    )
    quiet = ("-q", "-p", "no:cacheprovider", *args, "test_theirs.py")
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    subprocess.run(
        [sys.executable, "-m", "pytest", *quiet], cwd=folder, env=alone, stdout=subprocess.DEVNULL, check=True
    )
    return set((folder / "modules").read_text().split("\n"))


def test_a_run_without_a_claim_imports_less_than_half_of_what_numpy_would(tmp_path: Path) -> None:
    (tmp_path / "heavy_plugin.py").write_text("import numpy\n")
    bare = modules_of_a_run(tmp_path)
    ours = modules_of_a_run(tmp_path, "-p", "uds_bench.harness.plugin")
    heavy = modules_of_a_run(tmp_path, "-p", "heavy_plugin")
    assert 0 < 2 * len(ours - bare) < len(heavy - bare)
    assert not {"numpy", "pydantic", "rich"} & (ours - bare)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["npoo"], "did you mean 'npo'"),
        (["identity"], "'identity': is no built-in method"),
        (["nowhere:forget"], "nowhere:forget: cannot be imported"),
        (["npo", "--audits", "detph"], "did you mean 'depth'?"),
        (["npo", "--shard", "1/2", "--store", "scores"], "give --card, --expect and --store to the run that judges"),
    ],
)
def test_a_mistyped_method_is_told_before_anything_heavy_is_imported(
    tmp_path: Path, words: list[str], said: str
) -> None:
    run = "import sys; from typer.testing import CliRunner; from uds_bench.cli import main"
    done = heavy(f"{run}; print(CliRunner().invoke(main, sys.argv[1:]).stderr)", "gate-method", *words, cwd=tmp_path)
    assert said in done.stdout
    assert "HEAVY []" in done.stderr
