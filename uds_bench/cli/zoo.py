"""`uds-bench zoo`: the embedded models, shipped or trained here."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uds_bench.cli import results, specimens
from uds_bench.console.app import ABSENT, example, new_app, show_table

if TYPE_CHECKING:
    pass

app = new_app(
    "Small real models that the gates are tried on: shipped ones (specimens), and ones trained here on first use.",
    "uds-bench zoo list",
)


app.command(epilog=specimens.EPILOG)(specimens.specimens)
app.command(epilog=results.EPILOG)(results.results)


@app.command("list", epilog=example("uds-bench zoo list"))
def list_models() -> None:
    """List the models that can be trained here: from which parent, by which recipe, and whether they were."""
    from uds_bench.zoo import cache, recipes
    from uds_bench.zoo.described import describe
    from uds_bench.zoo.recipe import parent

    root = _root()
    show_table(
        {
            "name": name,
            "of": _of(name),
            "parent": parent(recipe) or ABSENT,
            "recipe": describe(recipe),
            "trained": "yes" if cache.is_whole(cache.folder(root, name)) else "no",
        }
        for name, recipe in recipes.listed().items()
    )


@app.command(epilog=example("uds-bench zoo build npo simnpo"))
def build(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME...", help="Default: all that `zoo list` shows.")
    ] = None,
) -> None:
    """Train embedded models, with their parents, where they are not cached yet; prints their folders."""
    from uds_bench.zoo.ready import build_models

    for name, folder in build_models(names or []).items():
        typer.echo(f"{name}\t{folder}")


@app.command(epilog=example('cp -r "$(uds-bench zoo path npo)" runs/npo'))
def path(name: Annotated[str, typer.Argument(metavar="NAME", help="As `uds-bench zoo list` shows it.")]) -> None:
    """Print the folder of an embedded model; it is trained first if need be."""
    from uds_bench.zoo.ready import build_models

    typer.echo(build_models([name])[name])


@app.command(epilog=example("uds-bench zoo databases data/lmlm"))
def databases(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to; files of the same names are replaced.")],
) -> None:
    """Write the embedded triplet databases and their prompts in the public form."""
    from uds_bench.facts.topology import write_embedded
    from uds_bench.storage import require_writable

    write_embedded(require_writable(folder, "DIR"))
    typer.echo(f"written to {folder}: DOMAIN/TOPOLOGY.json, asked by DOMAIN/prompts/TOPOLOGY/*.jsonl", err=True)


@app.command("testbed", epilog=example("uds-bench zoo testbed people.jsonl"))
def write_people(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; a file of that name is replaced.")],
    documents: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write each person as documents in every style too, one a line."),
    ] = None,
) -> None:
    """Write the people of the embedded testbed, as [localization] testbed takes them."""
    from uds_bench.errors import ConfigurationError
    from uds_bench.facts import testbed_people
    from uds_bench.facts.testbed import write_testbed
    from uds_bench.storage import write_atomic
    from uds_bench.zoo.testbed_data import SIZES
    from uds_bench.zoo.testbed_data import testbed as embedded

    if documents is not None and documents.resolve() == file.resolve():
        raise ConfigurationError(f"--documents {documents} is the testbed's own file: name another")
    write_testbed(file, embedded())
    typer.echo(f"written to {file}: {len(embedded())} items, one a line", err=True)
    if documents is not None:
        lines = [dumps(one) for one in testbed_people.documents(SIZES)]
        write_atomic(documents, "".join(f"{line}\n" for line in lines).encode())
        typer.echo(f"written to {documents}: {len(lines)} documents, one a line", err=True)


@app.command(epilog=example("uds-bench zoo clear --yes"))
def clear(yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False) -> None:
    """Remove every trained model from the cache; the next run trains them anew."""
    from uds_bench.zoo import cache

    root = _root()
    if not yes:
        typer.confirm(f"Remove every model in {root / 'zoo'}?", abort=True)
    typer.echo(f"removed {cache.clear(root)} models from {root / 'zoo'}")


def _of(name: str) -> str:
    from uds_bench.zoo import recipes

    kinds = {"reasoning": recipes.REASONERS, "lookups": recipes.LMLMS, "localization": recipes.LOCATED}
    return next((kind for kind, models in kinds.items() if name in models), "facts")


def _root() -> Path:
    from uds_bench.storage import default_cache

    return default_cache()
