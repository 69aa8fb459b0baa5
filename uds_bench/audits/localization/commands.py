"""`uds-bench zoo tune`, `zoo ablations` and `zoo testbed`: settings, variants and people of its models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uds_bench.console.app import ABSENT, ends
from uds_bench.console.lines import say, show_table

if TYPE_CHECKING:
    from uds_bench.audits.localization.ablation import Ablated

RESURFACING = "resurfacing"
"""Not a method, but tuned on the same people."""


@ends("uds-bench zoo tune memflex")
def tune(
    name: Annotated[
        str,
        typer.Argument(metavar="METHOD", help="A grid of localization.zoo.tuning, or resurfacing."),
    ],
) -> None:
    """Try a grid of settings of a method of the localization zoo, or the rates of resurfacing, on the people that
    settings are chosen on."""
    from uds_bench.audits.localization import tuning as tuning_resurfacing
    from uds_bench.audits.localization.zoo import models as located
    from uds_bench.audits.localization.zoo import tuning
    from uds_bench.errors import ConfigurationError, did_you_mean
    from uds_bench.zoo.ready import build_models

    if name not in (*tuning.GRIDS, RESURFACING):
        raise ConfigurationError(f"there is no grid {name!r}: {did_you_mean(name, (*tuning.GRIDS, RESURFACING))}")
    injected = build_models([located.OTHERS])[located.OTHERS]
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


@ends("uds-bench zoo ablations --json ablations.json")
def ablations(
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write every number with its interval too.")] = None,
) -> None:
    """Compare localization models that differ in one thing: the share of weights that people are written into, single
    weights or whole heads and neurons, masks or none, the method and whether it keeps to the masks."""
    from uds_bench.audits.localization.ablation import ablations as measured
    from uds_bench.console.options import JSON, require_file
    from uds_bench.storage import default_cache, require_writable, write_json
    from uds_bench.zoo import recipes

    if json is not None:
        require_file(json, "--json", JSON)
    found = dict(measured(require_writable(default_cache(), "UDS_BENCH_CACHE")))
    if json is not None:
        write_json(json, {name: one.to_json() for name, one in found.items()})
    show_table({"model": name, "recipe": recipes.find(name).describe(), **_cells(one)} for name, one in found.items())


@ends("uds-bench zoo testbed people.jsonl")
def write_people(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; a file of that name is replaced.")],
    documents: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write each person as documents in every style too, one a line."),
    ] = None,
) -> None:
    """Write the people of the embedded testbed, as [localization] testbed takes them."""
    from uds_bench.audits.localization.zoo.data import SIZES
    from uds_bench.audits.localization.zoo.data import testbed as embedded
    from uds_bench.errors import ConfigurationError
    from uds_bench.facts.testbed import documents as documents_of
    from uds_bench.facts.testbed import write_testbed
    from uds_bench.storage import write_rows

    if documents is not None and documents.resolve() == file.resolve():
        raise ConfigurationError(f"--documents {documents} is the testbed's own file: name another")
    write_testbed(file, embedded())
    say(f"written to {file}: {len(embedded())} items, one a line", err=True)
    if documents is not None:
        texts = list(documents_of(SIZES))
        write_rows(documents, texts)
        say(f"written to {documents}: {len(texts)} documents, one a line", err=True)


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


COMMANDS = {"zoo tune": tune, "zoo ablations": ablations, "zoo testbed": write_people}
