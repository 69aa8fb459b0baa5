"""Settings of the books: `tox -e docs` builds them, warnings as errors."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args, get_origin

from docutils import nodes
from docutils.statemachine import StringList
from pydantic import BaseModel
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

project = "uds_bench"
author = "the uds_bench authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
myst_heading_anchors = 3
html_theme = "pydata_sphinx_theme"
html_title = "uds_bench"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
exclude_patterns = ["_build"]
suppress_warnings = ["myst.header"]
html_extra_path = ["reference/run_report.schema.json"]


class Table(SphinxDirective):
    """A table that is made from the code when the books are built."""

    optional_arguments = 1
    head: tuple[str, ...] = ()

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Its lines."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """The parsed table."""
        lines = [self.head, ("---",) * len(self.head), *self.rows()]
        text = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines]
        found: nodes.Element = nodes.container()
        self.state.nested_parse(StringList(text, self.get_source_info()[0]), 0, found)
        return found.children


class Claims(Table):
    """The claims of an audit, as they stand in its `claims.py`."""

    head = ("claim", "statement", "bound", "where the bound is from", "controls")

    def rows(self) -> Iterator[tuple[str, ...]]:
        """A claim a line."""
        from uds_bench.audits import registry

        for spec in registry.audits()[self.arguments[0]].claims():
            bound = spec.needs.format(spec.bound) or f"{spec.relation} {spec.bound:g}"
            controls = (("fail", spec.must_fail), ("pass", spec.must_pass))
            told = "; ".join(f"must {word}: {who}" for word, who in controls if who)
            yield f"`{spec.id}`", spec.statement, bound, spec.origin, told


class Keys(Table):
    """The keys of a manifest, as the models that validate it have them."""

    head = ("key", "type", "default")

    def rows(self) -> Iterator[tuple[str, ...]]:
        """A key a line, tables within tables by their dotted name."""
        from uds_bench.audits import registry
        from uds_bench.manifest.manifest import model_of

        yield from self._of(model_of(registry.sections()), "")

    def _of(self, model: type[BaseModel], before: str) -> Iterator[tuple[str, ...]]:
        for name, field in model.model_fields.items():
            kinds = [one for one in (field.annotation, *get_args(field.annotation)) if isinstance(one, type)]
            table = next((one for one in kinds if issubclass(one, BaseModel)), None)
            if table is not None and table.model_fields:
                yield from self._of(table, f"{before}{name}.")
                continue
            default = "must be given" if field.is_required() else field.get_default(call_default_factory=True)
            told = "" if default in (None, {}, ()) else str(default)
            yield f"`{before}{name}`", spelled(field.annotation), told


def spelled(kind: Any) -> str:
    """A type in words."""
    inner = [one for one in get_args(kind) if one not in (type(None), Ellipsis)]
    origin = get_origin(kind)
    if origin is Annotated:
        return spelled(inner[0])
    if origin is Literal:
        return ", ".join(map(str, inner))
    if origin is tuple:
        return f"list of {spelled(inner[0])}"
    if origin is dict:
        return f"table of {spelled(inner[-1])}"
    if inner:
        return " or ".join(dict.fromkeys(map(spelled, inner)))
    words = {str: "text", int: "whole number", float: "number", bool: "true or false"}
    return words.get(kind) or ("checkpoint" if kind.__name__ == "CheckpointSpec" else "table")


class Options(Table):
    """What `pytest` takes of ours."""

    head = ("option", "value", "meaning")

    def rows(self) -> Iterator[tuple[str, ...]]:
        """An option a line."""
        from uds_bench.harness.options import OPTIONS

        for name, value, meaning in OPTIONS:
            yield f"`--uds-{name}`", f"`{value}`", meaning


class Commands(Table):
    """The commands of `uds-bench`, with those of audits."""

    head = ("command", "what it does")

    def rows(self) -> Iterator[tuple[str, ...]]:
        """A command a line, those of a group behind it."""
        from typer.main import get_command

        from uds_bench.cli import main

        yield from self._of(get_command(main), "uds-bench")

    def _of(self, command: Any, name: str) -> Iterator[tuple[str, ...]]:
        for word, one in getattr(command, "commands", {}).items():
            if getattr(one, "commands", None):
                yield from self._of(one, f"{name} {word}")
            else:
                yield f"`{name} {word}`", " ".join((one.help or "").split("\n\n")[0].split())


def setup(app: Sphinx) -> dict[str, Any]:
    """See Sphinx."""
    for name, directive in (("claims", Claims), ("keys", Keys), ("options", Options), ("commands", Commands)):
        app.add_directive(name, directive)
    return {"parallel_read_safe": True}
