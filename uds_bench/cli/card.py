"""`uds-bench card` and `uds-bench verify`: what was shown of each candidate, and whether it still holds."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uds_bench.cli.documents import read_run
from uds_bench.console.options import StoreOption
from uds_bench.errors import ConfigurationError
from uds_bench.storage import file_digest, require_writable, write_atomic, write_json

if TYPE_CHECKING:
    from uds_bench.cards.card import Card
    from uds_bench.claims.run_report import RunReport

EXAMPLE = "uds-bench card run.json --out cards"
VERIFY_EXAMPLE = "uds-bench verify cards/npo/card.json run.json"
RunArgument = Annotated[Path, typer.Argument(metavar="RUN.json", help="What `pytest suites/ --uds-json` wrote.")]


def card(
    run: RunArgument,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the cards, one folder a candidate.")],
) -> None:
    """Write a release card for each candidate of a run: card.json, an in-toto statement to sign, and card.md, a page.

    Cards hold numbers and digests: no message of a claim, no reply and nobody's name.
    """
    _, found = read_run(run)
    from uds_bench.cards.card import cards
    from uds_bench.cards.files import model_files

    made = cards(found)
    for one in made:
        # Everything is read before anything is written: a card that cannot be made leaves no other half done.
        model_files(one, found, _manifest(found, run))
    for one in made:
        folder = require_writable(out / one.candidate, "--out")
        files, statement = _made(one, found, run)
        write_json(folder / "card.json", statement)
        write_atomic(folder / "card.md", _page(one, found, files).encode())
        typer.echo(f"{one.result}: {folder / 'card.json'}")


def verify(
    card: Annotated[Path, typer.Argument(metavar="CARD.json", help="What `uds-bench card` wrote.")],
    run: RunArgument,
    store: StoreOption = None,
) -> None:
    """Say what no longer holds of a card: model files, manifest, run report, results, and verdicts by their numbers.

    With --store, scores are held against those that are stored. Exits 1 if anything does not hold.
    """
    from uds_bench.cards.card import cards
    from uds_bench.cards.verify import differences, read_statement

    written, (_, found) = read_statement(card), read_run(run)
    name = written["predicate"]["configuration"][0]["annotations"]["candidate"]
    judged = {one.candidate: one for one in cards(found)}
    if name not in judged:
        raise ConfigurationError(f"{card}: {run} does not judge {name!r}: name the run that the card is of")
    _, made = _made(judged[name], found, run)
    told = list(differences(written, made, judged[name]))
    if store is not None:
        from uds_bench.cards.verify import unlike_stored
        from uds_bench.scoring.store import Store

        told += unlike_stored(found, Store(store))
    for line in told or [f"holds: {name}, {written['predicate']['result']}"]:
        typer.echo(line)
    raise typer.Exit(1 if told else 0)


def _manifest(found: RunReport, run: Path) -> Any:
    from uds_bench.cards.files import judged_manifest

    return judged_manifest(found, str(run))


def _made(one: Card, found: RunReport, run: Path) -> tuple[dict[str, str], dict[str, Any]]:
    """Files and statement of a card, of what is there now."""
    from uds_bench.cards.files import model_files
    from uds_bench.cards.statement import statement

    files = model_files(one, found, _manifest(found, run))
    return files, statement(one, found, files, (run.name, file_digest(run)))


def _page(one: Card, found: RunReport, files: dict[str, str]) -> str:
    from uds_bench.cards.page import page

    return page(one, found, files, f"pytest suites/ --uds-manifest {shlex.quote(Path(found.manifest.path).name)}")
