"""Help, errors and start-up time, which all commands share."""

import json
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import warnings
from pathlib import Path

import pytest
from commands import Command, Refused
from typer.testing import CliRunner

import uds_bench
from uds_bench.console.app import new_app
from uds_bench.errors import UdsWarning

COMMANDS = (
    "ask",
    "init",
    "gate-method",
    "annotate",
    "properties",
    "forget-set",
    "unlearn",
    "plan",
    "score",
    "meta",
    "report",
    "compare",
    "card",
    "verify",
    "import",
    "export",
)
GROUPS = {
    "request": ("add", "list", "recheck"),
    "goldens": ("list", "lint"),
    "zoo": ("list", "build", "path", "clear"),
}
EVERY = [(), *[(name,) for name in (*COMMANDS, *GROUPS)], *[(g, name) for g in GROUPS for name in GROUPS[g]]]
HEAVY = ("torch", "transformers", "pandas", "numpy", "scipy", "sklearn", "pydantic", "matplotlib", "pytest")


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_help_ends_in_an_example_of_that_command(command: Command, words: tuple[str, ...]) -> None:
    lines = command(*words, "--help").stdout.strip().splitlines()
    assert lines[-2].strip() == "Example:"
    assert " ".join(("uds-bench", *words)) in lines[-1]


def test_help_names_every_command_and_no_other(command: Command) -> None:
    listed = command("--help").stdout.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert {line.split()[0] for line in listed} == {*COMMANDS, *GROUPS}


def test_nothing_heavy_is_imported_before_a_command_needs_it() -> None:
    code = f"import sys, json, uds_bench.cli; print(json.dumps([n for n in {HEAVY} if n in sys.modules]))"
    assert json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout) == []


def test_installed_command_answers_within_a_second() -> None:
    script = shutil.which("uds-bench", path=sysconfig.get_path("scripts"))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = subprocess.run([script, "--help"], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert answer.stdout.startswith("Usage: uds-bench")
    # The time it works: the time it takes depends on what else the machine does.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plan", "--manifest", "none.toml"), "none.toml: cannot be read"),
        (("score", "--manifest", "none.toml", "--out", "s.json"), "none.toml: cannot be read"),
        (("report", "none.json", "--out", "page"), "none.json: cannot be read"),
        (("compare", "none.json", "none.json"), "none.json: cannot be read"),
        (("annotate", "none.jsonl", "--out", "facts.jsonl"), "none.jsonl"),
        (("properties", "none.json.bz2", "--out", "folder"), "none.json.bz2: no such file"),
        (("goldens", "lint", "--folder", "none"), "there is no folder none"),
        (("zoo", "path", "nopo"), "zoo:nopo is not an embedded model: did you mean 'npo'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_what_the_user_can_mend_is_one_line_and_exit_4(
    refused: Refused, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in refused(*words)
    assert os.listdir(tmp_path) in ([], ["xdg"])  # noqa: PTH208


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("scroe",), "No such command 'scroe'. Did you mean 'score'? (see uds-bench --help)"),
        (("plan", "--xyz"), "No such option: --xyz (see uds-bench plan --help)"),
        (("score",), "Missing option '--out' (see uds-bench score --help)"),
        (("request", "add"), "Missing argument 'REQUESTS.jsonl' (see uds-bench request add --help)"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_wrong_usage_is_one_line_too(refused: Refused, words: tuple[str, ...], said: str) -> None:
    assert refused(*words) == f"uds-bench: error: {said}"


def test_who_says_nothing_is_helped(command: Command) -> None:
    assert command("zoo", exit=4).output.startswith("Usage: uds-bench zoo")


def test_the_version_is_told(command: Command) -> None:
    assert command("--version").stdout == f"uds-bench {uds_bench.__version__}\n"


def test_a_name_that_is_nearly_one_is_guessed(refused: Refused) -> None:
    assert "--metrics: there is no 'entity_acuracy': did you mean 'entity_accuracy'?" in refused(
        "plan", "--metrics", "entity_acuracy"
    )


def test_a_format_that_is_not_written_is_refused(refused: Refused, tmp_path: Path) -> None:
    said = refused("score", "--out", tmp_path / "scores.parquet")
    assert ".parquet is no format: let it end in .json or .csv" in said


def test_what_libraries_say_of_their_next_version_stands_above_no_table() -> None:
    app = new_app("An app.", "app")

    app.callback()(lambda: None)

    @app.command()
    def told() -> None:
        warnings.warn("`past_key_values` is deprecated", FutureWarning, stacklevel=1)
        warnings.warn("look here", UdsWarning, stacklevel=1)

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        CliRunner().invoke(app, ["told"])
    assert [str(one.message) for one in seen] == ["look here"]


def test_python_runs_the_package_as_the_command() -> None:
    ran = subprocess.run([sys.executable, "-m", "uds_bench", "--version"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, f"uds-bench {uds_bench.__version__}\n")
