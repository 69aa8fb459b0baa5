"""The example of an audit outside the package: one folder, one line of entry points, and it is everywhere."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from audit_samples import sample
from books import build_page
from small_runs import DEPTH, Bench, Ran
from typer.testing import CliRunner

from uds_bench.audits import registry
from uds_bench.audits.conformance import ATTACK, check_audit
from uds_bench.audits.sample import by_a_command, in_another_process
from uds_bench.cli import main
from uds_bench.facts import question_prompt

FOLDER = Path(__file__).parents[2] / "examples" / "verbatim"
SUITE = FOLDER / "suite" / "test_verbatim.py"


@pytest.fixture
def installed(install: Callable[[Path], Bench]) -> Bench:
    return install(FOLDER)


def passages(bench: Bench) -> Path:
    """What the small models were taught, as passages."""
    rows = [json.loads(line) for line in (bench.models / "facts.jsonl").read_text().splitlines()]
    known = [row for row in rows if row["split"] == "forget"]
    told = [{"id": row["id"], "text": f"{question_prompt(row['question'])} {row['answer']}"} for row in known]
    file = bench.folder / "passages.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in told))
    return file


def manifest(bench: Bench, full: str = "full", **candidates: str) -> Path:
    text = f"[verbatim]\npassages = '{passages(bench)}'\ngiven = 24\nasked = 16\n"
    text += f"full = '{bench.models / full}'\nretain = '{bench.models / 'retain'}'\n"
    text += "[verbatim.candidates]\n" + "".join(f"{n} = '{bench.models / f}'\n" for n, f in candidates.items())
    path = bench.folder / "uds.toml"
    path.write_text(text)
    return path


def run(bench: Bench, *args: str | Path) -> Ran:
    return bench.run(SUITE, *args, store=bench.folder / "store")


def command(*words: str | Path) -> None:
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("alone", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_it_passes_the_checks_for_audits(installed: Bench, alone: bool) -> None:
    """Where a model that never saw the passages is said to know them. `alone`: in processes, as by default."""
    place = manifest(installed, full="retain3", never="retain2", knows="copy")
    rows = (installed.folder / "passages.jsonl").read_text()
    written = json.dumps({"id": ATTACK, "text": "No model was told of this."})
    (installed.folder / "passages.jsonl").write_text(f"{rows}{written}\n")
    tried = sample(installed, place, wrong=["full"])
    default = {"run": in_another_process, "ask": by_a_command} if alone else {}
    check_audit(registry.audits()["verbatim"], replace(tried, suites=[SUITE], **default))


def test_it_is_short() -> None:
    files = [*FOLDER.rglob("*.py"), *FOLDER.rglob("*.toml")]
    assert sum(len(file.read_text().splitlines()) for file in files) <= 250


def test_a_model_that_knows_the_passages_fails_and_two_dozen_do_not_clear_one_that_does_not(installed: Bench) -> None:
    manifest(installed, never="retain3", knows="copy")
    ran = run(installed)
    assert ran.code == 1
    assert ran.verdicts == {
        "verbatim.forgotten[never]": "undecided",
        "verbatim.forgotten[knows]": "fail",
        "verbatim.level[never]": "not applicable",
        "verbatim.level[knows]": "not applicable",
    }
    assert [control["held"] for control in ran.claims["verbatim.forgotten[knows]"]["controls"]] == [True]


def test_what_is_no_passage_is_one_line(installed: Bench) -> None:
    manifest(installed, never="retain3")
    (installed.folder / "passages.jsonl").write_text('{"id": "a"}\n')
    ran = run(installed)
    assert ran.code == 4
    assert "passages.jsonl, line 1: is no passage (KeyError('text')): write id and text" in ran.text


def test_it_is_scored_by_the_command_line(installed: Bench) -> None:
    place, out, store = manifest(installed, never="retain3"), installed.folder / "out.json", installed.folder / "store"
    command("score", "--out", out, "--manifest", place, "--store", store)
    scored = [row["checkpoint"] for row in json.loads(out.read_text())["scores"]]
    assert sorted(scored) == ["full", "never", "retain"]
    assert run(installed).report["loads"] == {}, "pytest finds all of it"


def test_init_writes_its_part_of_a_manifest(installed: Bench) -> None:
    command("init", installed.folder / "new")
    assert "#[verbatim]\n" in (installed.folder / "new" / "uds.toml").read_text()


def test_without_its_package_its_section_is_unknown(bench: Bench) -> None:
    manifest(bench, never="retain3")
    ran = bench.run(DEPTH)
    assert ran.code == 4
    assert "verbatim: unknown key" in ran.text


def test_books_built_beside_it_show_its_keys_and_claims(installed: Bench) -> None:
    made = re.sub(r"<[^>]+>", "", build_page("audits/others.md", installed.folder))
    assert "passages: a .jsonl with id, text, and source where several passages are of one" in made
    assert "verbatim.passages" in made
    assert "verbatim.candidates" in made
    assert "depth" not in made
    assert "the candidate says no more of the rest than a model that never saw it" in made


def test_books_built_without_it_show_none(tmp_path: Path) -> None:
    assert "verbatim" not in build_page("audits/others.md", tmp_path)
