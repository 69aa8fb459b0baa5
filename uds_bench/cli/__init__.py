"""The console command `uds-bench`: what surrounds `pytest suites/`. One module a command; `main` is the app."""

from __future__ import annotations

from uds_bench.cli import annotate, compare, goldens, init, meta, plan, report, score, unlearn, zoo
from uds_bench.cli.app import example, new_app

main = new_app(
    "Prove that a language model has forgotten. `pytest suites/` decides; these commands surround it.", init.EXAMPLE
)
for module in (init, annotate, unlearn, plan, score, meta, report, compare):
    main.command(epilog=example(module.EXAMPLE))(getattr(module, module.__name__.rpartition(".")[2]))
main.add_typer(goldens.app, name="goldens")
main.add_typer(zoo.app, name="zoo")

__all__ = ["main"]
