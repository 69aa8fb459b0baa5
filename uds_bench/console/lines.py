"""Printing: whatever a command tells goes through here, as it may come out of a stranger's file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import typer

from uds_bench.errors import MESSAGE_LENGTH, one_line


def in_a_line(told: object) -> str:
    """What is told, in at most `MESSAGE_LENGTH` printable characters; "" for what is blank."""
    return one_line(told, MESSAGE_LENGTH) if str(told).strip() else ""


def say(told: object = "", err: bool = False) -> None:
    """A line on stdout, or on stderr; an empty one where nothing is told."""
    typer.echo(in_a_line(told), err=err)


def show_data(text: object) -> None:
    """What a shell or a manifest takes as it stands, whole: a path, TOML. Control characters alone are spelled out."""
    typer.echo("".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in str(text)))


def show_table(rows: Iterable[Mapping[str, object]]) -> None:
    """Rows on stdout, their keys as headers; a key of two lines makes a header of two."""
    _tabulate([{"\n".join(map(in_a_line, key.split("\n"))): _cell(row[key]) for key in row} for row in rows], "keys")


def show_markdown(rows: Iterable[Iterable[object]], headers: Sequence[str]) -> None:
    """Rows on stdout as a table of Markdown."""
    _tabulate([list(map(_cell, row)) for row in rows], headers, "github")


def _cell(value: object) -> object:
    return value if isinstance(value, int | float | None) else in_a_line(value)


def _tabulate(rows: Any, headers: str | Sequence[str], form: str = "simple") -> None:
    from tabulate import tabulate

    typer.echo(tabulate(rows, headers=headers, tablefmt=form, disable_numparse=True))


def show_json(document: Mapping[str, Any]) -> None:
    """Strict JSON on stdout, which spells out what does not print."""
    sys.stdout.write(json.dumps(document, indent=1, allow_nan=False) + "\n")  # piece by piece it takes thrice as long
