"""`uds-bench request`: who asked to be forgotten, kept in a file, and whether each is, at every release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date as day
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uds_bench.console.app import ABSENT, ends
from uds_bench.console.lines import say, show_table
from uds_bench.console.options import JSON, DeviceOption, StoreOption, require_file
from uds_bench.errors import ConfigurationError, counted

if TYPE_CHECKING:
    from uds_bench.audits.association.rechecks import Recheck
    from uds_bench.facts.properties import Property
    from uds_bench.facts.requests import DeletionRequest
    from uds_bench.verdicts import Decision

SCHEMA = 1
WORDS = ("pass", "fail", "undecided")
NOT_ASKED = "what is to be kept was not asked: name some 50 people under [association] subjects"
NOT_KNOWN = "the model before holds nothing of the subjects, so that nothing shows what is kept"
FileArgument = Annotated[Path, typer.Argument(metavar="REQUESTS.jsonl", help="A request a line.")]
NamesOption = Annotated[bool, typer.Option("--names", help="Tell the names of people too, which are personal.")]
PropertiesOption = Annotated[
    Path | None, typer.Option("--properties", metavar="DIR", help="Properties that facts may tell (default: built in).")
]


@ends(
    'uds-bench request add requests.jsonl --id r7 --person "Jane Doe" '
    '--sentence "Jane Doe\'s phone number is PROTECTED." --value "(020) 555-0114"'
)
def add(
    file: FileArgument,
    id: Annotated[str, typer.Option(metavar="ID", help="What outputs call the request: nothing personal.")],
    person: Annotated[str, typer.Option(metavar="NAME", help="Who asks, as the sentences have the name.")],
    date: Annotated[str, typer.Option(metavar="DAY", help="Of the request, as 2026-01-31 (default: today).")] = "",
    sentence: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="A fact, with PROTECTED where its value stands; may be repeated."),
    ] = None,
    value: Annotated[list[str] | None, typer.Option(metavar="TEXT", help="Its value, one a --sentence.")] = None,
    phrasing: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Another sentence of the only fact; may be repeated.")
    ] = None,
    counterfactual: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="What the value could be and is not (default: drawn); may be repeated."),
    ] = None,
    properties: PropertiesOption = None,
) -> None:
    """Write a request behind those of a file: who asks, when, and each fact in the person's own words.

    Any language will do. Checks the whole file first, and writes it whole or not at all.
    """
    from uds_bench.facts.requests import add_request

    sentences, values = sentence or [], value or []
    if not sentences or len(sentences) != len(values):
        raise ConfigurationError(
            f"request {id!r}: {len(sentences)} --sentence and {len(values)} --value: give each sentence its value"
        )
    facts: list[dict[str, Any]] = [{"sentence": s, "value": v} for s, v in zip(sentences, values, strict=True)]
    for option, key, texts in (
        ("--phrasing", "phrasings", phrasing),
        ("--counterfactual", "counterfactuals", counterfactual),
    ):
        if texts and len(facts) > 1:
            raise ConfigurationError(f"{option}: is of one fact, and there are {len(facts)}: write them into {file}")
        if texts:
            facts[0][key] = texts
    row = {"id": id, "date": date or day.today().isoformat(), "person": person, "facts": facts}
    add_request(require_file(file, "REQUESTS.jsonl"), row, _properties(properties))
    say(f"request {id} of {row['date']} written to {file}", err=True)


@ends("uds-bench request list requests.jsonl")
def list_requests(file: FileArgument, names: NamesOption = False, properties: PropertiesOption = None) -> None:
    """List the requests of a file: id, date and how many facts, and nothing personal unless it is asked for."""
    from uds_bench.facts.requests import read_requests

    show_table(_row(one, names) for one in read_requests(file, _properties(properties)))


@ends("uds-bench request recheck uds.toml --out recheck.json")
def recheck(
    manifest: Annotated[Path, typer.Argument(metavar="MANIFEST", help="Its [association] names requests and model.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write what it came to (default: beside the requests)."),
    ] = None,
    names: NamesOption = False,
    settle: Annotated[
        bool,
        typer.Option("--settle", help="Put who stands out alone to as many strangers as decide among all who ask."),
    ] = False,
    store: StoreOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Decide every request of a manifest, old ones too, in each candidate: an exact rank test against strangers.

    Needs no retain model. Of many requests the rate of false discoveries is held at 5%. Exits 1 unless all pass, and
    where a candidate clearly loses what is known of the manifest's subjects. The file has ids and figures alone.
    """
    from uds_bench.audits.association.audit import NAME, read, read_some
    from uds_bench.audits.association.claims import LOSS
    from uds_bench.audits.association.commands import opened
    from uds_bench.audits.association.exact_rank import strangers_needed
    from uds_bench.audits.association.people import properties_of
    from uds_bench.audits.association.rechecks import BEFORE, kept, rechecked, tests_of
    from uds_bench.audits.association.section import Association
    from uds_bench.audits.manifests import load_manifest
    from uds_bench.facts.requests import read_requests
    from uds_bench.storage import write_json

    asking = load_manifest(manifest)
    section = asking.require(Association, NAME)
    if section.requests is None or not section.candidates:
        raise ConfigurationError(
            f"{manifest}: recheck needs [association] requests and candidates: add what is missing"
        )
    asked = {one.id: one for one in read_requests(section.requests, properties_of(section))}
    place = require_file(out or Path(section.requests).with_suffix(".recheck.json"), "--out", JSON)
    audit = opened(section, read(section), section.needed(section.judged()), store, device)
    found = [one for name in section.judged() for one in rechecked(audit, name)]
    waiting = {one.id for one in found if one.waits} & asked.keys()
    if settle and waiting:
        alone: dict[str, Any] = dict.fromkeys(("forget_set", "presence", "cohort_size")) | {"subjects": "people"}
        alone |= {"forgotten": (), "strangers": strangers_needed(len(tests_of(audit, BEFORE)))}
        fewer = section.model_copy(update=alone)
        more = opened(fewer, read_some(fewer, waiting), section.needed(section.judged()), store, device)
        found = [one for name in section.judged() for one in rechecked(audit, name, tests_of(more, name))]
    rows = [{**one.to_json(), "checkpoint": audit.seen(one.candidate).score.provenance["checkpoint"]} for one in found]
    dates = {id: one.date for id, one in asked.items()}
    # A looser bound takes a waiver, and a run.
    most = {name: min(LOSS, asking.threshold("association.retained", name, LOSS)) for name in section.judged()}
    of_others = {name: one for name in most if (one := kept(audit, name, most[name])) is not None}
    told = {name: {"verdict": one.verdict.value, "lost": one.observed} for name, one in of_others.items()}
    requests = [{**row, "date": dates.get(row["id"])} for row in rows]
    write_json(place, {"schema": SCHEMA, "requests": requests, "kept": told})
    _tell(found, asked, names)
    say(f"written to {place}", err=True)
    _conclude(found, of_others, NOT_KNOWN if audit.probe_set.kept else NOT_ASKED)


def _tell(found: list[Recheck], asked: Mapping[str, DeletionRequest], names: bool) -> None:
    for one in found:
        if one.verdict != "pass":
            say(f"{one.verdict.upper()}: {one.id} [{one.candidate}]: {one.decision.text}")
    show_table(
        {
            "request": one.id,
            **({"person": asked[one.id].subject.name if one.id in asked else ABSENT} if names else {}),
            "date": asked[one.id].date if one.id in asked else ABSENT,
            "candidate": one.candidate,
            "rank": f"{one.test.rank} of {one.test.strangers + 1}",
            "strangers": str(one.test.strangers),
            "p": f"{one.test.p:.4f}",
            "rate": f"{one.test.adjusted:.3f}",
            "said": f"{one.first:.2f}",
            "of strangers": f"{one.test.guessed:.2f}",
            "verdict": one.verdict,
        }
        for one in found
    )


def _conclude(found: list[Recheck], of_others: Mapping[str, Decision], otherwise: str) -> None:
    """Exits 1 unless every request passes, and no candidate fails at what it is to keep. `of_others`: by candidate,
    whether it keeps that; `otherwise`: why there is none."""
    requests, candidates = (Counter(str(one.verdict) for one in of) for of in (found, of_others.values()))
    for candidate, decision in of_others.items():
        say(f"of everybody else [{candidate}]: {decision.verdict}: lost: {decision.text}")
    is_good = requests["pass"] == len(found) and not candidates["fail"]
    told, kept = (", ".join(f"{of[word]} {word}" for word in WORDS) for of in (requests, candidates))
    others = f"of {len(of_others)} candidates at keeping everybody else: {kept}" if of_others else otherwise
    say(f"uds-bench: {'GREEN' if is_good else 'RED'}: {told} of {counted(len(found), 'recheck')}; {others}")
    if not is_good:
        raise typer.Exit(1)


def _row(one: DeletionRequest, names: bool) -> dict[str, str]:
    person = {"person": one.subject.name} if names else {}
    return {"request": one.id, **person, "date": one.date, "facts": str(len(one.subject.statements))}


def _properties(folder: Path | None) -> dict[str, Property]:
    from uds_bench.audits.association.people import properties_of
    from uds_bench.audits.association.section import Association

    return properties_of(Association(properties="embedded" if folder is None else str(folder)))
