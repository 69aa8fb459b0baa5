"""Settings of the books: `tox -e docs` builds them, warnings as errors."""

import re
from collections.abc import Iterator
from importlib import import_module
from inspect import getdoc
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


class Attacks(Table):
    """The attacks that a manifest may name, with what they do where it sets nothing."""

    head = ("attack", "settings", "from")

    def rows(self) -> Iterator[tuple[str, ...]]:
        """An attack a line."""
        from uds_bench.attacks import ATTACKS, find_attack

        for name in ATTACKS:
            attack = find_attack(name)
            settings = ", ".join(f"{key} = {value}" for key, value in attack.settings.items() if value is not None)
            yield f"`{name}`", settings, attack.source


class Keys(Table):
    """The keys of a manifest's table, as the models that validate it have them."""

    head = ("key", "type", "default")

    def rows(self) -> Iterator[tuple[str, ...]]:
        """A key a line, tables within tables by their dotted name."""
        from uds_bench.audits import registry
        from uds_bench.manifest.manifest import model_of

        table = self.arguments[0]
        starts = (f"`{table}`", f"`{table}.")
        yield from (row for row in self._of(model_of(registry.sections()), "") if row[0].startswith(starts))

    def _of(self, model: type[BaseModel], before: str) -> Iterator[tuple[str, ...]]:
        for name, field in model.model_fields.items():
            table = table_of(field.annotation)
            if table is not None and table.model_fields:
                yield from self._of(table, f"{before}{name}.")
                continue
            default = "must be given" if field.is_required() else field.get_default(call_default_factory=True)
            told = "" if default in (None, {}, ()) else str(default)
            yield f"`{before}{name}`", spelled(field.annotation), told


def table_of(kind: Any) -> type[BaseModel] | None:
    """The table that a key holds, or holds perhaps."""
    kinds = [one for one in (kind, *get_args(kind)) if isinstance(one, type)]
    return next((one for one in kinds if issubclass(one, BaseModel)), None)


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


class Sections(SphinxDirective):
    """Sections that are made from the code when the books are built."""

    def sections(self) -> Iterator[tuple[str, list[str]]]:
        """Their titles, and the lines below each."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """The parsed sections."""
        made: list[nodes.Node] = []
        for title, lines in self.sections():
            section = nodes.section(ids=[nodes.make_id(title)], names=[nodes.fully_normalize_name(title)])
            section += nodes.title(title, title)
            self.state.nested_parse(StringList(lines, self.get_source_info()[0]), 0, section)
            made.append(section)
        return made


class Tables(Sections):
    """The tables of a manifest: what each is for, in the words of its model, and its keys."""

    def sections(self) -> Iterator[tuple[str, list[str]]]:
        """A table a section."""
        from uds_bench.audits import registry
        from uds_bench.manifest.manifest import model_of
        from uds_bench.manifest.section import Common

        inline = [kind for kind in registry.sections() if kind.INLINE]
        for name, field in model_of(registry.sections()).model_fields.items():
            owner = next((kind for kind in inline if name in kind.model_fields), Common)
            told = getdoc(table_of(field.annotation) or owner) or ""
            yield f"[{name}]", [*told.splitlines(), "", f"```{{keys}} {name}", "```"]


class Commands(Sections):
    """The commands of `uds-bench` with all their options, and with those of audits."""

    def sections(self) -> Iterator[tuple[str, list[str]]]:
        """A command a section, those of a group behind it."""
        from typer.main import get_command

        from uds_bench.cli import main

        yield from self._of(get_command(main), "uds-bench")

    def _of(self, command: Any, name: str) -> Iterator[tuple[str, list[str]]]:
        if found := getattr(command, "commands", {}):
            for word, one in found.items():
                yield from self._of(one, f"{name} {word}")
            return
        context = command.context_class(command, info_name=name)
        told = [part.replace("\b", "").strip("\n") for part in (command.help or "").split("\n\n")]
        kept = [record for one in command.get_params(context) if (record := one.get_help_record(context))]
        rows = [f"| `{names.replace('|', ' or ')}` | {meaning.replace('|', ' or ')} |" for names, meaning in kept]
        _, _, example = (command.epilog or "").partition("Example:\n")
        shown = [line.strip() for line in example.splitlines()]
        table = ["| option | meaning |", "|---|---|", *rows] if rows else []
        prose = re.sub(r"(?<!\w)--[a-z][a-z-]*", r"`\g<0>`", "\n\n".join(told))
        yield name, [*prose.splitlines(), "", *table, "", "```bash", *shown, "```"]


def number(name: str) -> str:
    """The bound of a claim, or a constant by its dotted name (`depth.claims.LEAST_FIT`). ` %` behind it: in percent.

    Raises LookupError for a name of neither.
    """
    from uds_bench.audits import registry

    plain = name.removesuffix(" %")
    bounds = {spec.id: spec.bound for audit in registry.audits().values() for spec in audit.claims()}
    value = bounds.get(plain)
    if value is None:
        module, _, constant = plain.rpartition(".")
        place = module if module.startswith("uds_bench.") else f"uds_bench.audits.{module}"
        try:
            value = getattr(import_module(place), constant)
        except (ImportError, AttributeError):
            raise LookupError(f"{name!r} is no claim and no constant: name one that there is") from None
    return f"{value:.0%}" if name.endswith(" %") else f"{value:g}"


def number_role(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any, options: Any = None, content: Any = None
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """A bound in prose, read from the code when the books are built."""
    try:
        return [nodes.Text(number(text))], []
    except LookupError as error:
        told = inliner.reporter.error(str(error), line=lineno)
        return [inliner.problematic(rawtext, rawtext, told)], [told]


class Others(Sections):
    """The audits of other packages that are installed where the books are built."""

    def sections(self) -> Iterator[tuple[str, list[str]]]:
        """An audit a section: what its part of a manifest means, its keys and its claims."""
        from uds_bench.audits import registry

        for name, audit in registry.audits().items():
            if audit.package.startswith("uds_bench."):
                continue
            kind = audit.section()
            keys = [*getdoc(kind).splitlines(), "", f"```{{keys}} {name}", "```"] if kind else []
            yield name, [*keys, "", f"```{{claims}} {name}", "```"]


def setup(app: Sphinx) -> dict[str, Any]:
    """See Sphinx."""
    made = {
        "attacks": Attacks,
        "claims": Claims,
        "keys": Keys,
        "options": Options,
        "tables": Tables,
        "commands": Commands,
        "others": Others,
    }
    for name, directive in made.items():
        app.add_directive(name, directive)
    app.add_role("number", number_role)
    return {"parallel_read_safe": True}
