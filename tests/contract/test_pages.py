"""Code on pages is read: TOML by the manifest's keys, command lines by the app, Python by its imports."""

from __future__ import annotations

import ast
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from books import PAGES, ROOT, blocks, name_of
from pydantic import ValidationError
from typer.main import get_command

from uds_bench.audits import registry
from uds_bench.cli import main
from uds_bench.harness.options import OPTIONS
from uds_bench.manifest.manifest import model_of

INLINE = re.compile(r"`((?:uds-bench|pytest) [^`]+)`")
OURS = {f"--uds-{name}" for name, _, _ in OPTIONS} | {"--uds-record", "--uds-method"}
PARTS = re.compile(r"\s*(?:&&|\|\||[|;>]|<<)\s*")


def commands(text: str) -> Iterator[str]:
    """Those of a shell block: continued lines are one, and what is written into files is none."""
    text = re.sub(r"<<'?(\w+)'?\n.*?\n\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    for line in text.replace("\\\n", " ").splitlines():
        yield from (part for part in PARTS.split(re.sub(r"(^|\s)#.*", "", line)) if part)


def fault_of_command(command: str) -> str:
    """Why a command line of ours cannot be run; "" where it can, or where it is somebody else's."""
    words = [word for word in shlex.split(command, posix=True) if not re.fullmatch(r"[A-Z_]+=\S*", word)]
    words[:1] = [words[0].rpartition("/")[2]] if words else []
    if words[:1] == ["uds-bench"]:
        return fault_of_ours(words[1:])
    if words[:1] == ["pytest"]:
        unknown = [word for word in words if word.startswith("--uds-") and word.partition("=")[0] not in OURS]
        places = [word.partition("::")[0] for word in words if word.startswith(("suites/", "tests/", "examples/"))]
        return " ".join([*unknown, *(place for place in places if not (ROOT / place).exists())])
    return ""


def fault_of_ours(words: list[str]) -> str:
    command: Any = get_command(main)
    context = command.context_class(command, info_name="uds-bench")
    while found := getattr(command, "commands", {}):
        if not words or words[0].startswith("-") or words[0].isupper():
            return ""
        if words[0] not in found:
            return f"there is no command {words[0]}"
        command, words = found[words[0]], words[1:]
    try:
        command.make_parser(context).parse_args([*words])
    except Exception as error:
        # A page may stop at a name: `--lora`, `--set`.
        return "" if "requires an argument" in str(error) else str(error)
    return ""


def fault_of_toml(text: str) -> str:
    """What a manifest would be refused for, but for files; some blocks are the keys of one audit's table alone."""
    values = tomllib.loads(text)
    if "project" in values:
        return ""
    model = model_of(registry.sections())
    tables = [name for name, audit in registry.audits().items() if audit.section()]
    faults = []
    for tried in (values, *({name: values} for name in tables)):
        try:
            model.model_validate(tried)
        except ValidationError as error:
            faults.append(str(error))
        else:
            return ""
    return faults[0]


def fault_of_python(text: str) -> str:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("uds_bench"):
            module = import_module(str(node.module))
            for name in node.names:
                if not hasattr(module, name.name):
                    return f"{node.module} has no {name.name}"
    return ""


def fault_of_shell(text: str) -> str:
    return "; ".join(filter(None, map(fault_of_command, commands(text))))


def fault_of_json(text: str) -> str:
    json.loads(text)
    return ""


def fault_of_yaml(text: str) -> str:
    return fault_of_shell("\n".join(re.findall(r"run: (.+)", text))) if yaml.safe_load(text) else "nothing"


READERS: dict[str, Callable[[str], str]] = {
    "toml": fault_of_toml,
    "bash": fault_of_shell,
    "sh": fault_of_shell,
    "python": fault_of_python,
    "json": fault_of_json,
    "yaml": fault_of_yaml,
}
NOT_READ = {"sql", ""}
"""A query, and what is printed: they are run and held against it where pages are run."""
FOLLOWED = {("audit.md", "toml")}
"""By the test of that page, beside the audit that it makes."""


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_is_what_a_reader_can_use(page: Path) -> None:
    for one in blocks(page):
        if one.language not in NOT_READ and (page.name, one.language) not in FOLLOWED:
            assert READERS[one.language](one.text) == "", one.text
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    faults = {line: fault_of_command(" ".join(line.split())) for line in INLINE.findall(prose)}
    assert {line: fault for line, fault in faults.items() if fault} == {}


def test_there_is_something_to_read() -> None:
    read = [one.language for page in PAGES for one in blocks(page)]
    assert {language: read.count(language) >= 2 for language in READERS} == dict.fromkeys(READERS, True)
    assert len(read) > 40
    assert sum(len(INLINE.findall(page.read_text())) for page in PAGES) > 40


@pytest.mark.parametrize(
    ("language", "wrong"),
    [
        ("toml", "[facts]\nsource = 'a'\n[candidate]\nnpo = 'a'\n"),
        ("toml", "canaires = 'a.jsonl'\n"),
        ("bash", "uds-bench plann --manifest uds.toml\n"),
        ("bash", "pip install x && uds-bench plan --manifesto uds.toml\n"),
        ("bash", "pytest suites/test_deep.py\n"),
        ("bash", "pytest suites/ \\\n  --uds-jsn run.json\n"),
        ("python", "from uds_bench.facts import read_fact\n"),
        ("yaml", "steps:\n- run: uds-bench cards run.json\n"),
    ],
)
def test_what_cannot_be_used_is_seen(language: str, wrong: str) -> None:
    assert READERS[language](wrong) != ""
