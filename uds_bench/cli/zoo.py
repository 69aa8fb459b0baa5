"""`uds-bench zoo`: the embedded models, shipped or trained here."""

from __future__ import annotations

from typing import Annotated

import typer

from uds_bench.cli import zoo_results, zoo_specimens
from uds_bench.console.app import ABSENT, example, new_app
from uds_bench.console.lines import say, show_data, show_table
from uds_bench.console.options import EngineOption, ShardOption
from uds_bench.engines import LOCAL, find_engine
from uds_bench.engines.shard import read_shard
from uds_bench.errors import counted
from uds_bench.storage import default_cache
from uds_bench.zoo.ready import build_models

app = new_app(
    "Small real models that the gates are tried on: shipped ones (specimens), and ones trained here on first use.",
    "uds-bench zoo list",
)


app.command(epilog=zoo_specimens.EPILOG)(zoo_specimens.specimens)
app.command(epilog=zoo_results.EPILOG)(zoo_results.results)


@app.command("list", epilog=example("uds-bench zoo list"))
def list_models() -> None:
    """List the models that can be trained here: from which parent, by which recipe, and whether they were."""
    from uds_bench.zoo import cache, recipes

    root = default_cache()
    show_table(
        {
            "name": name,
            "of": recipes.owner(name),
            "parent": recipe.ancestor or ABSENT,
            "recipe": recipe.describe(),
            "trained": "yes" if cache.is_whole(cache.folder(root, name)) else "no",
        }
        for name, recipe in recipes.listed().items()
    )


@app.command(epilog=example("uds-bench zoo build npo simnpo"))
def build(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME...", help="Default: all that `zoo list` shows.")
    ] = None,
    engine: EngineOption = LOCAL,
    shard: ShardOption = "",
) -> None:
    """Train embedded models, with their parents, where they are not cached yet; prints their folders.

    The machines of an engine must see the cache (UDS_BENCH_CACHE) under the same name.
    """
    for name, folder in build_models(names or [], find_engine(engine), read_shard(shard)).items():
        show_data(f"{name}\t{folder}")


@app.command(epilog=example('cp -r "$(uds-bench zoo path npo)" runs/npo'))
def path(name: Annotated[str, typer.Argument(metavar="NAME", help="As `uds-bench zoo list` shows it.")]) -> None:
    """Print the folder of an embedded model; it is trained first if need be."""
    show_data(build_models([name])[name])


@app.command(epilog=example("uds-bench zoo clear --yes"))
def clear(yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False) -> None:
    """Remove every trained model from the cache; the next run trains them anew."""
    from uds_bench.zoo import cache

    root = default_cache()
    if not yes:
        typer.confirm(f"Remove every model in {root / 'zoo'}?", abort=True)
    say(f"removed {counted(cache.clear(root), 'model')} from {root / 'zoo'}")
