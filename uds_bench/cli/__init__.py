"""The console command `uds-bench`: what surrounds `pytest suites/`. One module a command; `main` is the app."""

from __future__ import annotations

from uds_bench.cli import (
    annotate,
    compare,
    forget_set,
    goldens,
    init,
    meta,
    plan,
    properties,
    report,
    score,
    unlearn,
    zoo,
)
from uds_bench.cli.app import example, new_app

main = new_app(
    "Prove that a language model has forgotten. `pytest suites/` decides; these commands surround it.", init.EXAMPLE
)
for module in (init, annotate, properties, forget_set, unlearn, plan, score, meta, report, compare):
    name = module.__name__.rpartition(".")[2]
    main.command(name.replace("_", "-"), epilog=example(module.EXAMPLE))(getattr(module, name))
main.add_typer(goldens.app, name="goldens")
main.add_typer(zoo.app, name="zoo")

__all__ = ["main"]
