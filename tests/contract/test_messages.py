"""What a user reads are sentences of at most 25 words: errors, warnings, help texts and what claims say."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import uds_bench

MOST_WORDS = 25
PACKAGE = Path(uds_bench.__file__).parent
SAYING = {"warn", "say", "problem", "Decision", "ClaimSpec"}
OPTIONS = {"Option", "Argument", "addoption"}


def text(node: ast.expr) -> str:
    """A string as it is read; a value that is put into it is one word."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(text(part) if isinstance(part, ast.Constant) else "x" for part in node.values)
    return text(node.left) + text(node.right) if isinstance(node, ast.BinOp) else ""


def spoken(tree: ast.AST) -> Iterator[ast.expr]:
    """The strings that are raised, printed, shown as help, or stand in a claim's table."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield from node.exc.args
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in SAYING:
                yield from (*node.args, *(one.value for one in node.keywords))
            elif called in OPTIONS:
                yield from (one.value for one in node.keywords if one.arg == "help")


def too_long(source: str) -> list[str]:
    said = [text(node) for node in spoken(ast.parse(source))]
    sentences = [sentence for one in said for sentence in re.split(r"(?<=[.;:?!])\s+", one)]
    return [sentence for sentence in sentences if len(sentence.split()) > MOST_WORDS]


def test_sentences_are_short() -> None:
    found = {path: too_long(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}
    assert {str(path.relative_to(PACKAGE)): said for path, said in found.items() if said} == {}


def test_a_long_sentence_is_seen() -> None:
    words = " ".join(["word"] * MOST_WORDS)
    assert too_long(f'raise UdsError(f"{{name}} {words}")')
    assert too_long(f'typer.Option(help="{words} more")')
    assert not too_long(f'raise UdsError("{words}: {words}")')
    assert not too_long(f'note("{words} more")')


def test_there_is_something_to_read() -> None:
    assert sum(1 for path in PACKAGE.rglob("*.py") for node in spoken(ast.parse(path.read_text())) if text(node)) > 500
