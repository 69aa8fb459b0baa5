"""The code of a page, run block by block in a folder that has what the page speaks of."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from books import ROOT, Block, blocks

FIGURES = re.compile(r"\d+\.\d+")
TESTED = re.compile(r"pytest (test_\w+\.py)[^`]*")
"""How a page says that a test file is run, and what it is called."""


def alike(line: str) -> str:
    """A line without its figures, whose last digit follows the processor."""
    return FIGURES.sub("#", " ".join(line.split()))


@dataclass
class Place:
    """The folder that a page is walked through in. `small`: that of the small models; `shipped`: a cache that has
    scores of shipped ones; `known`: names of its Python; `printed`: what was printed so far."""

    folder: Path
    small: Path
    shipped: Path
    environment: dict[str, str]
    known: dict[str, Any] = field(default_factory=dict)
    printed: str = ""

    def shell(self, text: str, code: int = 0) -> str:
        """Runs commands, which must end with a code, and returns what they print."""
        words = ["bash", "-euo", "pipefail", "-c", text]
        ran = subprocess.run(words, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)
        self.printed += ran.stdout
        assert ran.returncode == code, f"{text}\n{ran.stdout}{ran.stderr}"
        return ran.stdout

    def write(self, name: str, text: str) -> None:
        """A file, with the folders that it is in."""
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def rows(self, name: str, *rows: Any) -> None:
        """A file of a JSON row a line."""
        self.write(name, "".join(json.dumps(row) + "\n" for row in rows))

    def models(self, **named: str) -> None:
        """Puts models below `runs/`: shipped ones by `specimen:NAME`, small ones by their name."""
        (self.folder / "runs").mkdir(exist_ok=True)
        for name, model in named.items():
            shipped = model.removeprefix("specimen:")
            source = self.small / model if shipped == model else ROOT / "uds_bench" / "zoo" / "shipped" / shipped
            (self.folder / "runs" / name.replace("_", "-")).symlink_to(source)

    def manifest(self, candidates: Sequence[str] = (), more: str = "", facts: str = "facts.jsonl") -> None:
        """A manifest of small models, which stand below `runs/`; `facts`: the file of those beside them."""
        named = "".join(f'{name} = "runs/{name}"\n' for name in candidates)
        references = '[references]\nfull = "runs/full"\nretain = "runs/retain"\n'
        self.facts(facts)
        self.write("uds.toml", f'[facts]\nsource = "facts.jsonl"\n{references}[candidates]\n{named}{more}')

    def facts(self, source: str = "facts.jsonl") -> None:
        """The facts that small models were taught."""
        (self.folder / "facts.jsonl").symlink_to(self.small / source)

    def report(self, name: str = "run.json") -> dict[str, str]:
        """The verdicts of a run."""
        claims = json.loads((self.folder / name).read_text())["claims"]
        return {claim["name"]: claim["verdict"] for claim in claims}


def nothing(place: Place) -> None:
    """No more."""


@dataclass(frozen=True)
class Walk:
    """How a page is walked through: `lay` puts there what it speaks of, `after` looks at what has come of it.

    `codes`: what commands end with where that is not 0, by the place of their block among all. `rows`: who reads the
    JSON of the page, in its order.
    """

    lay: Callable[[Place], object] = nothing
    after: Callable[[Place], object] = nothing
    codes: Mapping[int, int] = field(default_factory=dict)
    rows: Sequence[Callable[[Place, Any], object]] = ()


def walk(page: Path, how: Walk, place: Place, *, slow: bool) -> int:
    """Runs what stands on a page, up to the first block that is slow unless those are meant; returns how many."""
    how.lay(place)
    readers, count, prose = iter(how.rows), 0, page.read_text()
    for number, block in enumerate(blocks(page)):
        if block.mark == "slow" and not slow:
            return count
        if block.mark == "not run":
            continue
        code = how.codes.get(number, 0)
        if block.language == "json":
            next(readers)(place, json.loads(block.text))
        elif block.language == "python" and "def test_" in block.text:
            run_tests(block, place, TESTED.search(prose), code)
        else:
            RUN[block.language](block, place, code)
        count += 1
    how.after(place)
    assert list(readers) == [], "whoever reads rows that no page has"
    return count


def run_shell(block: Block, place: Place, code: int) -> None:
    place.shell(block.text, code)


def run_tests(block: Block, place: Place, told: re.Match[str] | None, code: int) -> None:
    """A file of tests under the name that the page gives it, by the command that the page has for it."""
    name, command = (told[1], told[0]) if told else ("test_ours.py", "pytest test_ours.py --uds-manifest uds.toml")
    place.write(name, block.text)
    place.shell(" ".join(command.split()), code)


def run_python(block: Block, place: Place, code: int) -> None:
    """In this process, after what ran before."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(block.text, "page", "exec"), place.known)
    place.printed += printed.getvalue()


def run_toml(block: Block, place: Place, code: int) -> None:
    """Joins it to the manifest, whose plan must hold: keys without a table go into the one that the page named last."""
    path = place.folder / "uds.toml"
    before = path.read_text() if path.exists() else ""
    if block.text.startswith("["):
        path.write_text(f"{before}{block.text}")
    else:
        table = re.findall(r"\[\w+\](?!\()", block.before + block.text)[-1]
        assert before.count(f"{table}\n") == 1
        path.write_text(before.replace(f"{table}\n", f"{table}\n{block.text}"))
    place.shell("uds-bench plan --manifest uds.toml", code)


def run_sql(block: Block, place: Place, code: int) -> None:
    import duckdb

    with contextlib.chdir(place.folder):
        assert duckdb.sql(block.text).fetchall()


def run_shown(block: Block, place: Place, code: int) -> None:
    """Lines that a page shows must have been printed."""
    said = {alike(line).replace(f"{place.folder}/", "") for line in place.printed.splitlines()}
    assert [line for line in block.text.splitlines() if alike(line) and alike(line) not in said] == []


RUN: dict[str, Callable[[Block, Place, int], None]] = {
    "bash": run_shell,
    "sh": run_shell,
    "python": run_python,
    "toml": run_toml,
    "sql": run_sql,
    "": run_shown,
}


def shell_environment(known: Mapping[str, str], folder: Path, cache: Path) -> dict[str, str]:
    """That of somebody who reads a page: no CI, nothing of the run around this one."""
    own = {name: value for name, value in known.items() if not name.startswith(("PYTEST", "UDS_BENCH", "GITHUB", "CI"))}
    plugins = "-p no:cacheprovider -p no:benchmark"
    path = os.pathsep.join(filter(None, [str(folder / "site"), own.get("PYTHONPATH", str(ROOT))]))
    return own | {"UDS_BENCH_CACHE": str(cache), "PYTEST_ADDOPTS": plugins, "PYTHONPATH": path, "COLUMNS": "120"}
