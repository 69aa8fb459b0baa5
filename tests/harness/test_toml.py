"""Line numbers of TOML keys: checked against a writer that counts lines, and against tomllib's reading."""

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.errors import ConfigurationError
from uds_bench.manifest.toml import Keys, TomlDocument, dotted, read_toml

EVERY_FORM = '''\
# a comment with = and [brackets]
top = "a # b ] }"
"quoted.key" = 1
'literal' = 2; dotted."in two" . parts = 3
[table]
long = """one
"quoted" = 2
\\""" three"""""
raw = \'\'\'
[no table]\'\'\'
list = [ # of lists
  1, [2,
   3],
  { a = 1, b.c = 2 }, ]
when = 1979-05-27 07:32:00
[table . "sub.table"]
key = {}
[[array]]
key = 1
[array.sub]
key = 1
[[array.list]]
[[array]]
sub.key = 2
'''.replace("; ", "\n")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.toml"


def read(file: Path, text: str) -> TomlDocument:
    file.write_text(text, encoding="utf-8", newline="")
    return read_toml(file)


def message(file: Path, text: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read(file, text)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(str(file))


def ways(values: Any, keys: Keys = ()) -> set[Keys]:
    """Every way into a parsed document."""
    items = values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    return {way for key, value in items for way in ({(*keys, key)} | ways(value, (*keys, key)))}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_form_of_key_has_its_line(file: Path, newline: str) -> None:
    assert read(file, EVERY_FORM.replace("\n", newline)).lines == {
        ("top",): 2,
        ("quoted.key",): 3,
        ("literal",): 4,
        ("dotted",): 5,
        ("dotted", "in two"): 5,
        ("dotted", "in two", "parts"): 5,
        ("table",): 6,
        ("table", "long"): 7,
        ("table", "raw"): 10,
        ("table", "list"): 12,
        ("table", "list", 0): 13,
        ("table", "list", 1): 13,
        ("table", "list", 1, 0): 13,
        ("table", "list", 1, 1): 14,
        ("table", "list", 2): 15,
        ("table", "list", 2, "a"): 15,
        ("table", "list", 2, "b"): 15,
        ("table", "list", 2, "b", "c"): 15,
        ("table", "when"): 16,
        ("table", "sub.table"): 17,
        ("table", "sub.table", "key"): 18,
        ("array",): 19,
        ("array", 0): 19,
        ("array", 0, "key"): 20,
        ("array", 0, "sub"): 21,
        ("array", 0, "sub", "key"): 22,
        ("array", 0, "list"): 23,
        ("array", 0, "list", 0): 23,
        ("array", 1): 24,
        ("array", 1, "sub"): 25,
        ("array", 1, "sub", "key"): 25,
    }


class Writer:
    """Writes TOML in many styles and notes the line on which it writes each key and item."""

    def __init__(self, draw: st.DataObject) -> None:
        self.text, self.lines, self._draw = "", {}, draw  # type: tuple[str, dict[Keys, int], st.DataObject]

    def pick(self, *texts: str) -> str:
        return self._draw.draw(st.sampled_from(texts))

    def note(self, keys: Keys) -> None:
        self.lines[keys] = self.text.count("\n") + 1

    def key(self, key: str) -> None:
        self.text += self.pick(key, f'"{key}"', f"'{key}'", f'"\\u{ord(key[0]):04x}{key[1:]}"')

    def value(self, value: Any, keys: Keys) -> None:
        if isinstance(value, dict):
            self.text += "{" + self.pick("", " ")
            for at, (key, item) in enumerate(value.items()):
                self.text += ", " if at else ""
                self.pair(key, item, keys)
            self.text += " }"
        elif isinstance(value, list):
            self.text += "["
            for at, item in enumerate(value):
                self.text += self.pick("", "\n", ' # ] "\n\t')
                self.note((*keys, at))
                self.value(item, (*keys, at))
                self.text += self.pick(",", "\n,") if at < len(value) - 1 else self.pick("", ",", ", # end\n")
            self.text += "]"
        elif isinstance(value, str):
            escaped = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
            plain = value.isalnum()
            self.text += self.pick(escaped, f'""{escaped}""', *([f"'{value}'", f"'''\n{value}'''"] if plain else []))
        else:
            self.text += value.isoformat() if isinstance(value, date) else json.dumps(value)

    def pair(self, key: str, value: Any, table: Keys) -> None:
        self.note((*table, key))
        self.key(key)
        self.text += self.pick("=", " = ", "\t=")
        self.value(value, (*table, key))

    def document(self, values: dict[str, Any]) -> None:
        tables = {key: value for key, value in values.items() if isinstance(value, dict)}
        for key in values.keys() - tables.keys():
            self.line(key, values[key], ())
        for key, table in tables.items():
            self.note((key,))
            self.text += "["
            self.key(key)
            self.text += self.pick("]\n", " ] # [[a]]\n")
            for name, value in table.items():
                self.line(name, value, (key,))

    def line(self, key: str, value: Any, table: Keys) -> None:
        self.text += self.pick("", "\n", " \n# x = 1\n")
        self.pair(key, value, table)
        self.text += self.pick("\n", " # = [\n")


KEYS = st.sampled_from(["a", "b", "claim", "k-1", "_2", "Z"])
SCALARS = st.booleans() | st.integers(-99, 99) | st.dates() | st.text(alphabet="a1\"'\\#[]{}=,\n\t é\x7f", max_size=8)
VALUES = st.recursive(SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(KEYS, v, max_size=3), max_leaves=8)


@given(st.dictionaries(KEYS, VALUES, max_size=4), st.data())
def test_lines_are_where_the_writer_put_them(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, Any], data: st.DataObject
) -> None:
    writer = Writer(data)
    writer.document(values)
    document = read(tmp_path_factory.getbasetemp() / "written.toml", writer.text)
    assert document.values == values
    assert document.lines == writer.lines


SIGNS = ["a", "b", '"a"', "'b'", ".", "1", '"""', "'''", '"', "[", "]", "[[a]]", "{", "}", ",", "#", "\\"]
TOKENS = [*SIGNS, " = ", "\n", "\n[a]"]


@given(st.lists(st.sampled_from(TOKENS), max_size=14).map("".join))
def test_any_text_has_a_line_for_every_key_or_for_its_error(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.toml"
    try:
        document = read(file, text)
    except ConfigurationError as error:
        complaint = str(error)
    else:
        complaint = ""
        assert document.lines.keys() == ways(document.values)
    assert re.fullmatch(rf"({re.escape(str(file))}, line \d+: [^\n]+)?", complaint)


def test_an_unknown_key_has_the_line_of_the_table_around_it(file: Path) -> None:
    document = read(file, "\n[table]\nkey = 1\n")
    assert document.where(("table", "other", 3)) == f"{file}, line 2"
    assert document.where(("table", "key")) == f"{file}, line 3"
    assert document.where(("other",)) == str(file)
    assert str(document.error(("table", "key"), "is bad: mend it")) == f"{file}, line 3: table.key: is bad: mend it"


def test_keys_are_shown_as_toml_writes_them() -> None:
    assert dotted(("pools", "positive", 1)) == "pools.positive[1]"
    assert dotted(("thresholds", "depth.score[npo]")) == 'thresholds."depth.score[npo]"'
    assert dotted(("candidates", "")) == 'candidates.""'


@pytest.mark.parametrize(
    ("text", "line", "key", "first"),
    [
        ("a = 1\nb = 2\na = 3\n", 3, "a", 1),
        ('[t]\nnpo = "x"\n\n"npo" = """\n\n"""\n', 4, "t.npo", 2),
        ("[t]\n[u]\n[t]\n", 3, "t", 1),
        ("a = {\tb = 1, b = 2 }\n", 1, "a.b", 1),
        ("a = 1\n[[w]]\nb = 1\n[[w]]\nb = 1\nb = 2", 6, "w[1].b", 5),
    ],
)
def test_a_key_given_twice_names_both_lines(file: Path, text: str, line: int, key: str, first: int) -> None:
    assert message(file, text) == f", line {line}: {key}: is given twice, first on line {first}: keep one"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a = 1\nb 2\n", 2),
        ("a = 1\n[t\nb = 2\n", 2),
        ('a = 1\n\nb = "open\n', 3),
        ("a = [1,\n2,\n", 2),
        ("a = 2026-13-45\n", 1),
        ("x = 1\ny = 2 z\nx = 3\n", 2),
        ("a.b = 1\n[a]\n", 2),
    ],
)
def test_bad_toml_names_its_line(file: Path, text: str, line: int) -> None:
    assert message(file, text).startswith(f", line {line}: is no TOML (")


def test_files_that_cannot_be_read_say_so(file: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"a\.toml: cannot be read \(No such file or directory\)"):
        read_toml(file)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_toml(tmp_path)
    file.write_bytes(b"a = 1\nb = '\xff'\n")
    with pytest.raises(ConfigurationError, match=r"a\.toml, line 2: a byte is not UTF-8"):
        read_toml(file)
    assert "nested too deeply" in message(file, "a = " + "[" * 10_000)


def test_a_byte_order_mark_is_passed_over(file: Path) -> None:
    assert read(file, "\ufeffa = 1\n").lines == {("a",): 1}
