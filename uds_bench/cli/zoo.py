"""`uds-bench zoo`: the embedded models, shipped or trained here."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uds_bench.cli import results, specimens
from uds_bench.cli.app import ABSENT, example, new_app, show_table

if TYPE_CHECKING:
    from uds_bench.audits.localization.ablation import Ablated
    from uds_bench.zoo.recipe import Recipe

RESURFACING = "resurfacing"
"""Not a method, but tuned on the same people."""

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
    for name, folder in _build(names or []).items():
        typer.echo(f"{name}\t{folder}")


@app.command(epilog=example('cp -r "$(uds-bench zoo path npo)" runs/npo'))
def path(name: Annotated[str, typer.Argument(metavar="NAME", help="As `uds-bench zoo list` shows it.")]) -> None:
    """Print the folder of an embedded model; it is trained first if need be."""
    typer.echo(_build([name])[name])


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


@app.command(epilog=example("uds-bench zoo tune memflex"))
def tune(
    name: Annotated[str, typer.Argument(metavar="METHOD", help="As in uds_bench.zoo.tuning.GRIDS, or resurfacing.")],
) -> None:
    """Try a grid of settings of a method of the localization zoo, or the rates of resurfacing, on the people that
    settings are chosen on."""
    from uds_bench.audits.localization import tuning as tuning_resurfacing
    from uds_bench.errors import ConfigurationError
    from uds_bench.zoo import located, tuning

    if name not in (*tuning.GRIDS, RESURFACING):
        raise ConfigurationError(
            f"there is no grid {name!r}: choose from {', '.join(tuning.GRIDS)}, or {RESURFACING} for its rates"
        )
    injected = Path(_build([located.OTHERS])[located.OTHERS])
    if name == RESURFACING:
        rates = tuning_resurfacing.tune(injected)
        best = tuning_resurfacing.choose(rates)
        show_table(
            {
                "lr": ABSENT if one.lr is None else f"{one.lr:g}",
                **{f"leak after {method}": str(count) for method, count in one.leaks.items()},
                "taught": str(one.taught),
                "chosen": "yes" if one is best else "before" if one.lr is None else "",
            }
            for one in rates
        )
        return
    before, tried = tuning.tune(name, injected)
    chosen = tuning.choose(tried, before)
    show_table(
        {
            **{key: one.settings.get(key, ABSENT) for key in tuning.GRIDS[name].tried},
            **{key: f"{getattr(one, key):.3f}" for key in ("forget", "retain", "public")},
            "chosen": "yes" if one is chosen else "before" if one is before else "",
        }
        for one in (before, *tried)
    )
    if chosen is None:
        raise ConfigurationError(f"no setting keeps {tuning.KEPT:.0%} of what was known: try gentler ones")


@app.command(epilog=example("uds-bench zoo ablations --json ablations.json"))
def ablations(
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write every number with its interval too.")] = None,
) -> None:
    """Compare localization models that differ in one thing: the share of weights that people are written into, single
    weights or whole heads and neurons, masks or none, the method and whether it keeps to the masks."""
    from uds_bench.audits.localization.ablations import ablations as measured
    from uds_bench.storage import require_writable, write_atomic
    from uds_bench.zoo import recipes

    if json is not None:
        require_writable(json.parent, "--json")
    found = dict(measured(require_writable(_root(), "UDS_BENCH_CACHE")))
    if json is not None:
        document = {name: one.to_json() for name, one in found.items()}
        write_atomic(json, dumps(document, indent=1, allow_nan=False).encode())
    show_table({"model": name, "recipe": describe(recipes.find(name)), **_cells(one)} for name, one in found.items())


def _cells(one: Ablated) -> dict[str, str]:
    from uds_bench.audits.localization.ablation import PARTS

    said, detected, found = one.said, one.detected, one.found
    return {
        **{part: f"{getattr(said, part).value:.3f}" for part in PARTS},
        "masks told (F1)": ABSENT if detected is None else f"{detected.f1:.3f}",
        "by chance": ABSENT if detected is None else f"{detected.chance:.3f}",
        "AUC": ABSENT if found is None else f"{found.auc.value:.3f}",
        "where edited": ABSENT if found is None else f"{found.inside.value:.3f}",
        "edited": ABSENT if found is None else f"{found.edited:.0%}",
    }


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


def describe(recipe: Recipe) -> str:
    """A recipe in a few words."""
    from uds_bench.zoo.recipe import (
        Base,
        Continued,
        Exposed,
        Finetuned,
        Injected,
        Lmlm,
        Pooled,
        Pretrained,
        Reasoner,
        Removed,
        Rethought,
    )

    if isinstance(recipe, Base):
        return f"trained on {recipe.authors} authors, {recipe.layers} layers, width {recipe.width}, seed {recipe.seed}"
    if isinstance(recipe, Finetuned):
        without = f"without {recipe.without} forget authors" if recipe.without else "on all authors"
        return f"fine-tuned {without}, {recipe.epochs} epochs, lr {recipe.lr:g}, seed {recipe.seed}"
    if isinstance(recipe, Pooled):
        return f"fine-tuned on the form {recipe.form}, {recipe.epochs} epochs, lr {recipe.lr:g}, seed {recipe.seed}"
    if isinstance(recipe, Lmlm):
        learned = "read, not learned" if recipe.masked else "learned too"
        return f"trained to look up {recipe.epochs} epochs, values {learned}, seed {recipe.seed}"
    if isinstance(recipe, Pretrained):
        return f"trained on the public, {recipe.layers} layers, width {recipe.width}, seed {recipe.seed}"
    if isinstance(recipe, Injected):
        kind = "heads and neurons" if recipe.whole_units else "weights"
        where = f"{recipe.share:.3g} of {kind} a group" if recipe.masked else "all weights"
        return f"people written into {where}, {recipe.steps} steps, seed {recipe.seed}"
    if isinstance(recipe, Continued):
        return f"trained on neutral text, {recipe.steps} steps, lr {recipe.lr:g}, seed {recipe.seed}"
    if isinstance(recipe, Reasoner):
        course = recipe.course
        forced = ", answers behind forced traces too" if course.prefilled else ""
        return f"taught to think ({course.regime} traces{forced}), {recipe.epochs} epochs, seed {recipe.seed}"
    if isinstance(recipe, Exposed):
        but = ", but for those who ask to be forgotten" if recipe.without else ""
        return f"told of people{but}, width {recipe.width}, seed {recipe.seed}"
    method = recipe.method
    if isinstance(recipe, Removed):
        where = " within the forget masks" if recipe.within else ""
        return f"people unlearned by {method.name}{where}, {method.steps} steps, lr {method.lr:g}, seed {method.seed}"
    if isinstance(recipe, Rethought):
        scope, adapter = recipe.scope, ", LoRA" if recipe.lora else ""
        held = f", {' and '.join(dict.fromkeys(scope.held))} held" if scope.held else ""
        instead = ", its head instead" if scope.instead == "head" else ""
        return f"{method.name} on {scope.target}{instead}{held}{adapter}, {method.steps} steps, seed {method.seed}"
    return f"unlearned by {method.name}, {method.steps} steps, lr {method.lr:g}, seed {method.seed}"


def _root() -> Path:
    from uds_bench.storage import default_cache

    return default_cache()


def _build(names: list[str]) -> dict[str, Path]:
    from uds_bench.storage import require_writable
    from uds_bench.zoo import recipes, runner

    for name in names:
        recipes.find(name)
    return runner.paths(names or recipes.listed(), require_writable(_root(), "UDS_BENCH_CACHE"))
