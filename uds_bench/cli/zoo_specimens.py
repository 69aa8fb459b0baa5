"""`uds-bench zoo specimens`: the shipped models, how to make them anew, and whether that changes a verdict."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uds_bench.audits import registry
from uds_bench.checkpoints.spec import plain
from uds_bench.console.app import ABSENT, example
from uds_bench.console.lines import say, show_table
from uds_bench.errors import ConfigurationError
from uds_bench.storage import default_cache, require_writable

if TYPE_CHECKING:
    from uds_bench.claims.record import ClaimRecord

HEADS = {"cleared by": "pass", "caught by": "fail"}
EXAMPLE = "uds-bench zoo specimens --rebuild anew && uds-bench zoo specimens --compare anew"


def specimens(
    rebuild: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Train all of them anew and write them into a new folder.")
    ] = None,
    compare: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Judge those of a folder and the shipped ones, claim by claim.")
    ] = None,
) -> None:
    """List the shipped models that the default run judges; make them anew; compare verdicts. Exits 1 if one differs."""
    if rebuild is not None and compare is not None:
        raise ConfigurationError("--rebuild and --compare are two steps: give one of them")
    if rebuild is not None:
        _rebuild(rebuild)
    elif compare is not None:
        _compare(compare)
    else:
        _list()


def _list() -> None:
    from uds_bench.zoo.specimens import home, made, specimens

    root, must = home(), _verdicts()
    show_table(
        {
            "name": one.name,
            "role": one.role,
            **{head: ", ".join(must.get((one.name, word), ())) or ABSENT for head, word in HEADS.items()},
            "parent": one.parent or ABSENT,
            "recipe": str(one.recipe["kind"]),
            "kB": str(sum((root / one.name / file).stat().st_size for file in one.files) // 1000),
            "digest": one.digest[:12],
        }
        for one in specimens().values()
    )
    say("made by " + ", ".join(f"{key} {value}" for key, value in made().items()), err=True)


def _verdicts() -> dict[tuple[str, str], list[str]]:
    """By model and verdict, the claims of the default that must come to it."""
    from uds_bench.audits.manifests import embedded_manifest

    manifest, found = embedded_manifest("quick"), defaultdict[tuple[str, str], list[str]](list)
    for claim, verdicts in manifest.common.specimens.items():
        audit, _, short = claim.partition(".")
        kind = registry.audits()[registry.owners()[audit]].section()
        assert kind is not None
        models = manifest.of(kind).checkpoints()
        for word, subjects in verdicts.items():
            for subject in subjects:
                found[plain(models[subject].model), "pass" if word == "pass" else "fail"].append(short)
    return found


def _rebuild(folder: Path) -> None:
    from rich.console import Console

    from uds_bench.zoo import shipping

    cache = require_writable(default_cache(), "UDS_BENCH_CACHE")
    say(f"written to {shipping.rebuild(folder.absolute(), cache, Console(stderr=True))}", err=True)


def _compare(folder: Path) -> None:
    from uds_bench.claims.compared import changes
    from uds_bench.zoo.specimens import INDEX

    if not (folder / INDEX).is_file():
        raise ConfigurationError(f"--compare {folder}: it has no {INDEX}: name a folder that --rebuild wrote")
    shipped, other = _judged(None), _judged(folder.absolute())
    words = [{name: record.status for name, record in side.items()} for side in (shipped, other)]
    differing = {change["claim"]: change["change"] for change in changes(*words)}
    show_table(
        {
            "claim": name,
            **{head: _verdict(side.get(name)) for head, side in (("shipped", shipped), ("other", other))},
            "change": differing.get(name, ""),
        }
        for name in dict.fromkeys([*shipped, *other])
    )
    say(f"{len(differing)} of {len(shipped)} verdicts differ", err=True)
    raise typer.Exit(1 if differing else 0)


def _verdict(record: ClaimRecord | None) -> str:
    if record is None:
        return ABSENT
    return record.status if record.observed is None else f"{record.status} {record.observed:.3f}"


def _judged(folder: Path | None) -> dict[str, ClaimRecord]:
    """What every claim of the default run comes to, by a run of its own; `folder` None: on the shipped models.

    Neither is held against goldens: these are of weights, and the question is of verdicts.
    """
    from uds_bench.trials.check import judged
    from uds_bench.zoo import specimens

    place = folder or specimens.home()
    with tempfile.TemporaryDirectory() as scratch:
        # Scores of other models must not stand between the two runs.
        apart = {specimens.ANOTHER: str(place), "UDS_BENCH_CACHE": str(Path(scratch) / "cache")}
        return {record.name: record for record in judged([], Path(scratch), apart).claims}


EPILOG = example(EXAMPLE)
