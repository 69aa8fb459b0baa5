"""`uds-bench card` and `uds-bench verify`: what was shown of each candidate, and whether it still holds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uds_bench.checkpoints.reading import read_anew
from uds_bench.cli.documents import read_run
from uds_bench.cli.inputs import changed_inputs
from uds_bench.console.lines import say
from uds_bench.console.options import StoreOption
from uds_bench.errors import CheckpointError, ConfigurationError
from uds_bench.storage import (
    StorePlace,
    file_digest,
    load_document,
    read_regular,
    require_writable,
    scores_place,
    write_atomic,
    write_json,
)

if TYPE_CHECKING:
    from uds_bench.cards.card import Card
    from uds_bench.claims.run_report import RunReport
    from uds_bench.manifest.manifest import Manifest

MOST = 1 << 26
"""Bytes of a file beside a card."""
ROWS = "eval_results/uds_bench.yaml"
"""Beside a card, what the hub shows of it."""
DATASET = r"[\w.-]+/[\w.-]+"
EXAMPLE = "uds-bench card run.json --out cards"
VERIFY_EXAMPLE = "uds-bench verify cards/npo/card.json run.json"
RunArgument = Annotated[Path, typer.Argument(metavar="RUN.json", help="What `pytest suites/ --uds-json` wrote.")]


@read_anew()
def card(
    run: RunArgument,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the cards, one folder a candidate.")],
    benchmark: Annotated[
        str | None,
        typer.Option(metavar="OWNER/NAME", help="Dataset of the hub that eval_results/ is filed under."),
    ] = None,
) -> None:
    """Write a release card for each candidate of a run: card.json, an in-toto statement to sign, and card.md, a page.

    Beside them the same for other tools: cyclonedx.json, every_eval_ever.json and, with --benchmark, as the hub files
    results by one, eval_results/uds_bench.yaml for a model repository.

    Cards hold numbers and digests: no message of a claim, no reply and nobody's name. Exits 1 if a candidate gets none.
    """
    found = read_run(run)
    from uds_bench.cards.card import cards
    from uds_bench.cards.files import judged_manifest
    from uds_bench.cards.verify import contradicted

    if benchmark is not None and not re.fullmatch(DATASET, benchmark):
        raise ConfigurationError(f"--benchmark: {benchmark!r} is no dataset of the hub: give owner/name")

    made, manifest, missing = cards(found), judged_manifest(found, str(run)), False
    judged = {
        name for section in manifest.sections.values() for one in section.judged() for name in section.members(one)
    }
    changed = list(changed_inputs(found, manifest))
    if others := [line for name, line in changed if name not in judged]:
        raise ConfigurationError(f"{run}: {others[0]}: run `pytest suites/` again")
    for one in made:
        if why := next((f"{of.name} {told}" for of in (*one.claims, *one.basis) if (told := contradicted(of))), ""):
            say(f"uds-bench: no card: {why}: {run} contradicts itself, run `pytest suites/` again", err=True)
            missing = True
            continue
        try:
            files, statement = _made(one, found, run, manifest)
            # A claim names the files of one seed, and no questions: what scores were read from is looked up as well.
            behind = _behind(one.candidate, manifest)
            if own := [line for name, line in changed if name in behind]:
                raise CheckpointError(f"{own[0]}: run `pytest suites/` again")
        except CheckpointError as error:
            say(f"uds-bench: no card: {error}", err=True)
            missing = True
            continue
        folder = require_writable(out / one.candidate, "--out")
        write_json(folder / "card.json", statement)
        for name, text in _beside(one, found, files, benchmark).items():
            write_atomic(folder / name, text)
        say(f"{one.result}: {folder / 'card.json'}")
    raise typer.Exit(1 if missing else 0)


@read_anew()
def verify(
    card: Annotated[Path, typer.Argument(metavar="CARD.json", help="What `uds-bench card` wrote.")],
    run: RunArgument,
    store: StoreOption = None,
    again: Annotated[bool, typer.Option("--again", help="Decide all claims anew, by scores in --store.")] = False,
    waivers: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --again: what the run had as --uds-waivers.")
    ] = None,
) -> None:
    """Say what no longer holds of a card: files of models and references, facts, manifest, run report, results, what
    `card` wrote beside it, and verdicts by their numbers, bounds and controls.

    With --store, scores are held against those that are stored. A report can be written by hand: with --again nothing
    of it is taken for granted, and with a store of your own no score either. Exits 1 if anything does not hold.
    """
    from uds_bench.audits import registry
    from uds_bench.cards.card import cards
    from uds_bench.cards.files import judged_manifest
    from uds_bench.cards.reading import read_statement
    from uds_bench.cards.rerun import unlike_rules
    from uds_bench.cards.verify import differences, has_plain_rule
    from uds_bench.verdicts import Verdict

    if waivers is not None and not again:
        raise ConfigurationError("--waivers: claims are decided anew by it, so it goes with --again")
    written, found = read_statement(card), read_run(run)
    name = written["predicate"]["configuration"][0]["annotations"]["candidate"]
    judged, told = {one.candidate: one for one in cards(found)}, list[str]()
    kept = None if store is None else scores_place(store)
    if name not in judged:
        raise ConfigurationError(f"{card}: {run} does not judge {name!r}: name the run that the card is of")
    try:
        manifest = judged_manifest(found, str(run))
        told = [line for _, line in changed_inputs(found, manifest)]
        files, made = _made(judged[name], found, run, manifest)
        told += differences(written, made, judged[name])
        told += unlike_rules(judged[name], manifest)
        for file, text in _beside(judged[name], found, files, _dataset(card.parent / ROWS)).items():
            if not (place := card.parent / file).exists():
                continue
            if _said(file, read_regular(place, MOST) or b"") != _said(file, text):
                told.append(f"{place} is not what `uds-bench card` writes of this run")
        told += _decided_anew(found, manifest, kept, waivers) if again else []
    except (ConfigurationError, CheckpointError) as error:
        told = [*told, str(error)]
    if kept is not None:
        from uds_bench.cards.verify import unlike_stored
        from uds_bench.scoring.store import Store

        told += unlike_stored(found, Store(kept))
    passes = [one for one in judged[name].claims if one.verdict is Verdict.PASS]
    bare = [one.id for one in passes if not (has_plain_rule(one) or (again and one.id in registry.claims()))]
    holds = f"holds: {name}, {written['predicate']['result']}"
    holds += f"; the run alone tells that these pass, no number on the card does: {', '.join(bare)}" if bare else ""
    for line in told or [holds]:
        say(line)
    raise typer.Exit(1 if told else 0)


OF_HOLDER = "every_eval_ever.json"
"""In which whoever hands it in fills in who he is."""


def _beside(one: Card, found: RunReport, files: Mapping[str, str], benchmark: str | None) -> dict[str, bytes]:
    """What stands beside card.json, by name, as it is written; rows for the hub where a dataset of it is named."""
    from huggingface_hub.utils import yaml_dump  # type: ignore[attr-defined]

    from uds_bench.cards.cyclonedx import cyclonedx
    from uds_bench.cards.eval_results import eval_results
    from uds_bench.cards.every_eval_ever import every_eval
    from uds_bench.cards.markdown import page

    told = {"cyclonedx.json": cyclonedx(one, found, files), OF_HOLDER: every_eval(one, found, files)}
    plain = {name: json.dumps(value, indent=1, allow_nan=False).encode() + b"\n" for name, value in told.items()}
    rows = {} if benchmark is None else {ROWS: yaml_dump(eval_results(one, found, benchmark)).encode()}
    return {"card.md": page(one, found, files).encode(), **plain, **rows}


def _dataset(rows: Path) -> str:
    """The dataset that rows for the hub are filed under, as the first of them says; "" where none does."""
    text = (read_regular(rows, MOST) or b"") if rows.exists() else b""
    said = re.search(rf"\bid: ({DATASET})$", text.decode(errors="replace"), re.MULTILINE)
    return said[1] if said else ""


def _said(name: str, text: bytes) -> Any:
    """What a file beside card.json says; of the one for its holder all but who he is."""
    if not name.endswith(".json"):
        return text
    try:
        found = load_document(text.decode())
    except ValueError:
        return text
    if name == OF_HOLDER and isinstance(found, dict) and isinstance(source := found.get("source_metadata"), dict):
        return found | {"source_metadata": source.get("additional_details")}
    return found


def _decided_anew(found: RunReport, manifest: Manifest, store: StorePlace | None, waivers: Path | None) -> list[str]:
    """Where the claims of a run come out otherwise now."""
    from uds_bench.cards.rerun import departures, files_of
    from uds_bench.scoring.store import Store
    from uds_bench.trials.check import judged

    if not (files := files_of(found.claims)):
        return ["no claim of the run is of a file of `suites/`: none can be decided anew"]
    given = {"manifest": manifest.path.absolute(), "device": found.environment["device"], "store": store}
    given["waivers"] = None if waivers is None else waivers.absolute()
    options = [f"--uds-{name}={value}" for name, value in given.items() if value is not None]
    # Vectors, digests and trained models are then not taken from those of earlier runs either.
    own = {} if store is None else {"UDS_BENCH_CACHE": str(Store(store).cache.absolute())}
    with TemporaryDirectory() as folder:
        now = judged(options, Path(folder), own, files)
        return list(departures(found.claims, now.claims))


def _behind(candidate: str, manifest: Manifest) -> set[str]:
    """The checkpoints that the verdicts on a candidate rest on: its own, one or one a seed, and controls."""
    judging = [section for section in manifest.sections.values() if candidate in section.judged()]
    return {name for section in judging for name in section.needed([candidate])}


def _made(one: Card, found: RunReport, run: Path, manifest: Manifest) -> tuple[dict[str, str], dict[str, Any]]:
    """Files and statement of a card, of what is there now."""
    from uds_bench.cards.files import model_files
    from uds_bench.cards.statement import statement

    files = model_files(one, found, manifest)
    return files, statement(one, found, files, (run.name, file_digest(run)))
