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
from uds_bench.console.app import add, example, new_app, show_version

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
apps = {"": main, "zoo": zoo.app}
for audit in registry.audits().values():
    for words, function in audit.commands().items():
        group, _, last = words.rpartition(" ")
        if group not in apps:
            apps[group] = new_app(audit.module("commands").GROUPS[group], f"uds-bench {words} --help")
            main.add_typer(apps[group], name=group)
        add(apps[group], last, function)
main.add_typer(goldens.app, name="goldens")
main.add_typer(zoo.app, name="zoo")

__all__ = ["main"]
