"""TOML that knows on which line each key stands, so that complaints name file, line and key."""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from uds_bench.errors import ConfigurationError
from uds_bench.storage import read_whole

MOST_BYTES, LONGEST_KEY = 1 << 20, 1000
"""The most bytes of a file, and characters of a key: reading TOML takes time by the square of a key's parts."""
Keys = tuple[str | int, ...]
"""A way into a document: keys of tables, and positions (from 0) in lists and arrays of tables."""


@dataclass(frozen=True)
class TomlDocument:
    """A parsed TOML file; `lines` has the line (from 1) of every table, key and list item."""

    path: Path
    values: dict[str, Any]
    lines: Mapping[Keys, int]

    def without(self, table: str, key: str) -> TomlDocument:
        """The same file as if a table did not have a key."""
        if not isinstance(found := self.values.get(table), dict):
            return self
        rest = {name: value for name, value in found.items() if name != key}
        return replace(self, values={**self.values, table: rest})

    def line(self, keys: Keys) -> int | None:
        """The line of `keys`, else of the nearest table around it that the file has, else None."""
        return next((self.lines[keys[:n]] for n in range(len(keys), 0, -1) if keys[:n] in self.lines), None)

    def where(self, keys: Keys) -> str:
        """As `uds.toml, line 7`."""
        line = self.line(keys)
        return str(self.path) if line is None else f"{self.path}, line {line}"

    def error(self, keys: Keys, problem: str) -> ConfigurationError:
        """A complaint about `keys`: file, line, key, then `problem`, which says what to do."""
        return ConfigurationError(f"{self.where(keys)}: {dotted(keys)}: {problem}")


def read_toml(path: str | Path) -> TomlDocument:
    """Read a UTF-8 TOML file.

    Raises ConfigurationError with file and line where it cannot be read, is no TOML, or has a key twice.
    """
    path = Path(path)
    try:
        text = read_whole(path, MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigurationError(f"{path}, line {line}: a byte is not UTF-8: save the file as UTF-8") from None
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror}): name a TOML file") from None
    except ValueError as error:
        raise ConfigurationError(f"{path}: {error}: take out what is not needed") from None
    try:
        scan = _Scan(text)
    except _LongError as error:
        where = f"{path}, line {error.args[0]}"
        raise ConfigurationError(f"{where}: a key has more than {LONGEST_KEY} characters: shorten it") from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(path, text, str(error), scan.twice) from None
    except ValueError as error:  # a number of thousands of digits
        raise ConfigurationError(f"{path}: is no TOML ({str(error).partition(';')[0]}): mend the number") from None
    except RecursionError:
        raise ConfigurationError(f"{path}: is nested too deeply to be read: flatten it") from None
    return TomlDocument(path, values, scan.lines)


def joined(documents: Sequence[TomlDocument]) -> TomlDocument:
    """Several files as one document with the path of the first; it knows of no lines.

    Raises ConfigurationError for a key that two files have.
    """
    values: dict[str, Any] = {}
    for document in documents:
        for key, found in document.values.items():
            known = values.get(key, {})
            if not (isinstance(known, dict) and isinstance(found, dict)) or (twice := known.keys() & found.keys()):
                raise document.error((key, *sorted(twice)[:1]), "is in another file too: keep one")
            values[key] = {**known, **found}
    return TomlDocument(documents[0].path, values, {})


def dotted(keys: Keys) -> str:
    """Keys as TOML writes them, as in `pools.positive[1]` or `thresholds."depth.score"`."""
    text = ""
    for key in keys:
        if isinstance(key, int):
            text += f"[{key}]"
        else:
            text += ("." if text else "") + (key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False))
    return text


class _Twice(NamedTuple):
    keys: Keys
    first: int
    second: int


def _syntax_error(path: Path, text: str, message: str, twice: _Twice | None) -> ConfigurationError:
    """A line on bad TOML: tomllib names no key where one is given twice, so that case gets its own words."""
    problem, _, place = message.rpartition(" (at ")
    numbers = [int(number) for number in re.findall(r"\d+", place)]
    line = numbers[0] if numbers else text.rstrip("\n").count("\n") + 1
    if twice is not None and twice.second <= line:
        where = f"{path}, line {twice.second}: {dotted(twice.keys)}"
        return ConfigurationError(f"{where}: is given twice, first on line {twice.first}: keep one")
    return ConfigurationError(f"{path}, line {line}: is no TOML ({problem or message}): mend the line")


_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PART = r"""(?:[A-Za-z0-9_-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*')"""
_KEY = re.compile(rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*")
_EQUALS = re.compile(r"[ \t]*=[ \t]*")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BRACKET = re.compile(r"[ \t]*\]")
_COMMA = re.compile(",?")
_SCALAR = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|[^\s,\[\]{}#\"'][^\n,\]}#]*",  # numbers, booleans, and dates, which may hold a space
    re.DOTALL,
)


class _LostError(Exception):
    """What stands here is no TOML; tomllib says so in better words."""


class _LongError(Exception):
    """A key that is too long, with its line."""


class _Scan:
    """One walk over the text that notes where keys and list items start, and the first key given twice.

    It checks nothing else: where tomllib takes a text, the walk gets to its end.
    """

    def __init__(self, text: str) -> None:
        self.lines: dict[Keys, int] = {}
        self.twice: _Twice | None = None
        self._text = text
        self._at = 0
        self._breaks = [found.start() for found in re.finditer("\n", text)]
        self._given: set[Keys] = set()
        self._lengths: dict[Keys, int] = {}
        with suppress(_LostError, RecursionError):
            self._document()

    def _document(self) -> None:
        table: Keys = ()
        while self._blank():
            if self._next("["):
                listed = self._next("[")
                self._blank()
                table = self._header(self._key(), listed)
                self._take(_BRACKET)
                if listed:
                    self._take(_BRACKET)
            else:
                self._pair(table)

    def _header(self, key: Keys, listed: bool) -> Keys:
        """The way to the table that a header opens: each array of tables on it means its last table."""
        keys: Keys = ()
        for at, part in enumerate(key, 1):
            keys = (*keys, part)
            if listed and at == len(key):
                self._lengths[keys] = self._lengths.get(keys, 0) + 1
            if keys in self._lengths:
                keys = (*keys, self._lengths[keys] - 1)
        self._note(keys)
        return keys

    def _pair(self, table: Keys) -> None:
        keys = (*table, *self._key())
        self._note(keys)
        self._take(_EQUALS)
        self._value(keys)

    def _value(self, keys: Keys) -> None:
        if self._next("["):
            for index in self._until("]"):
                self._note((*keys, index))
                self._value((*keys, index))
        elif self._next("{"):
            for _ in self._until("}"):
                self._pair(keys)
        else:
            self._take(_SCALAR)

    def _until(self, end: str) -> Iterator[int]:
        """Yields a running number before each item, up to the closing bracket."""
        index = 0
        while self._blank() and not self._next(end):
            yield index
            index += 1
            self._blank()
            self._take(_COMMA)

    def _key(self) -> Keys:
        """The parts of a dotted key, without their quotes."""
        text = self._take(_KEY)
        if len(text) > LONGEST_KEY:
            raise _LongError(bisect_right(self._breaks, self._at) + 1)
        try:
            found: Any = tomllib.loads(f"{text} = 0")
        except tomllib.TOMLDecodeError:
            raise _LostError from None
        keys: Keys = ()
        while isinstance(found, dict):
            ((part, found),) = found.items()
            keys = (*keys, part)
        return keys

    def _note(self, keys: Keys) -> None:
        line = bisect_right(self._breaks, self._at) + 1
        if keys in self._given:
            self.twice = _Twice(keys, self.lines[keys], line)
            raise _LostError
        self._given.add(keys)
        self.lines[keys] = line
        around = keys[:-1]
        while around and around not in self.lines:  # tables that only dotted keys and headers imply
            self.lines[around] = line
            around = around[:-1]

    def _blank(self) -> bool:
        """Step over blanks, line ends and comments; True where something follows."""
        self._take(_BLANK)
        return self._at < len(self._text)

    def _next(self, character: str) -> bool:
        if not self._text.startswith(character, self._at):
            return False
        self._at += 1
        return True

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            raise _LostError
        self._at = found.end()
        return found[0]
