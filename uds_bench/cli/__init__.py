"""The commands `uds-bench ...`, one module each; those of an audit are in its `commands`. `main` is the app."""

from __future__ import annotations

from typing import Annotated

import typer

from uds_bench.audits import registry
from uds_bench.cli import (
    annotate,
    card,
    compare,
    export,
    gate_method,
    goldens,
    import_reported,
    init,
    plan,
    properties,
    report,
    score,
    zoo,
)
from uds_bench.console.app import add, end, example, new_app, show_version
from uds_bench.errors import ConfigurationError, UdsError

main = new_app(
    "Prove that a language model has forgotten. `pytest suites/` decides; these commands surround it.", init.EXAMPLE
)


@main.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=show_version, help="The version.")
    ] = False,
) -> None: ...


for module in (init, annotate, properties, plan, score, report, card, compare, export):
    name = module.__name__.rpartition(".")[2]
    main.command(name, epilog=example(module.EXAMPLE))(getattr(module, name))
main.command("gate-method", epilog=example(gate_method.EXAMPLE))(gate_method.gate_method)
main.command("import", epilog=example(import_reported.EXAMPLE))(import_reported.import_reported)
main.command("verify", epilog=example(card.VERIFY_EXAMPLE))(card.verify)
apps = {"": main, "goldens": goldens.app, "zoo": zoo.app}
taken = {f"{group} {one.name}".strip() for group, app in apps.items() for one in app.registered_commands} | {*apps}
try:
    for audit in registry.audits().values():
        for words, function in audit.commands().items():
            if words in taken:
                raise ConfigurationError(f"audit {audit.name}: `uds-bench {words}` is a command already: rename it")
            taken.add(words)
            group, _, last = words.rpartition(" ")
            if group not in apps:
                apps[group] = new_app(audit.module("commands").GROUPS[group], f"uds-bench {words} --help")
                main.add_typer(apps[group], name=group)
            add(apps[group], last, function)
except UdsError as error:  # there is no app yet that could tell it
    end(error)
main.add_typer(goldens.app, name="goldens")
main.add_typer(zoo.app, name="zoo")

__all__ = ["main"]
