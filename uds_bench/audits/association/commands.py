"""`uds-bench forget-set`: what a model holds of a person who asks to be forgotten, as facts that it can unlearn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uds_bench.audits.association import request_commands
from uds_bench.console.app import ABSENT, NOTHING, ends
from uds_bench.console.lines import say, show_data, show_table
from uds_bench.console.options import DeviceOption, ManifestOption, StoreOption, require_file
from uds_bench.errors import ConfigurationError, counted, did_you_mean

if TYPE_CHECKING:
    from uds_bench.audits.association.audit import AssociationAudit
    from uds_bench.audits.association.forget_set import TrueValue
    from uds_bench.audits.association.probe_items import ProbeItem
    from uds_bench.audits.association.probe_set import ProbeSet
    from uds_bench.audits.association.ranking import Ranked
    from uds_bench.audits.association.section import Association

    Ranks = Mapping[str, Sequence[Ranked]]
    """By property of a person, the rank under each template."""


@ends('uds-bench forget-set --manifest uds.toml --subject "Jane Doe" --out forget.jsonl')
def forget_set(
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to write the facts (.jsonl).")] = None,
    subject: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Who is to be forgotten: a name or an id; may be repeated.")
    ] = None,
    manifest: ManifestOption = None,
    lenient: Annotated[bool, typer.Option("--lenient", help="A tie with something untrue counts as held too.")] = False,
    every: Annotated[bool, typer.Option("--every", help="Held only if all phrasings show it (default: any).")] = False,
    phrasings: Annotated[
        int, typer.Option(metavar="N", min=1, help="Facts of one value: in so many of the phrasings that show it.")
    ] = 3,
    ask: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Only write what is asked (.jsonl): for models without weights.")
    ] = None,
    logprobs: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What such a model says: each line of --ask with its logprob."),
    ] = None,
    store: StoreOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Write what the model of [association] holds of people to be forgotten, with the evidence for each fact.

    Without --subject: of those whom the manifest names under forgotten, and of its requests. Without a model of
    [association] it is [references] full that is asked. What it holds of everybody else is written
    beside it, to be retained. `[facts] source` takes the file. Exits 5 if nothing is held of them.

    A model whose weights nobody has: --ask writes the sentences, --logprobs reads each with its log-probability
    (natural, of all tokens), and [association] needs no model.
    """
    from uds_bench.audits.association.forget_set import forget_set as facts_of
    from uds_bench.audits.association.forget_set import held_values
    from uds_bench.storage import write_rows

    if ask is not None:
        if out is not None or logprobs is not None:
            raise ConfigurationError("--ask only writes what is asked: leave out --out and --logprobs")
        _write_sentences(require_file(ask, "--ask"), manifest)
        return
    if out is None:
        raise ConfigurationError("--out: say where to write the facts (.jsonl)")
    require_file(out, "--out")
    section, probe_set = _read_probe_set(manifest, without_model=logprobs is not None)
    people = _chosen(probe_set, subject or ())
    ranks = _said(probe_set, logprobs, section.alpha) if logprobs else _scored(section, probe_set, store, device)
    found = held_values(probe_set.seen, ranks, lenient, every)
    strangers = held_values(probe_set.never_seen, ranks, lenient, every)
    show_table(_row(one, found) for one in probe_set.seen if one.subject.id in people)
    say(_by_mistake(strangers, probe_set.never_seen), err=True)
    rows = facts_of(found, people, phrasings, lenient)
    count = sum(fact.split == "forget" for fact, _ in rows)
    if not count:
        say("nothing is held of them: there is nothing to forget, and nothing was written", err=True)
        raise typer.Exit(NOTHING)
    write_rows(out, ({**fact.to_json(), "evidence": one.to_json()} for fact, one in rows))
    kept = len(rows) - count
    place, named = str(out.absolute()), _sources(manifest)
    tables = [f"[facts]\nsource = {json.dumps(place)}"] if place not in named else []
    # Whom the manifest names already, by request or otherwise, it need not name again.
    if not people <= probe_set.forgotten:
        tables.append(f"[association]\nforget_set = {json.dumps(place)}")
    told = "add to the manifest, each key to its table:" if tables else "the manifest names it already"
    say(f"{counted(count, 'fact')} to forget and {kept} to retain written to {out}; {told}", err=True)
    if tables:
        show_data("\n\n".join(tables))


def _read_probe_set(path: Path | None, without_model: bool) -> tuple[Association, ProbeSet]:
    from uds_bench.audits.association.audit import NAME, read
    from uds_bench.audits.association.section import Association
    from uds_bench.audits.depth.section import Depth
    from uds_bench.audits.manifests import manifest_of

    manifest = manifest_of(path, "quick", judging=False)
    said = manifest.of(Association)
    references = manifest.of(Depth).references
    if said == Association() or (said.model is None and references is None and not without_model):
        said = manifest.require(Association, NAME)
    elif said.model is None and references is not None:
        said = said.model_copy(update={"model": references.full})
    return said, read(said)


def _sources(path: Path | None) -> list[str]:
    """Where the facts of a manifest are from."""
    from uds_bench.audits.depth.section import Depth
    from uds_bench.audits.manifests import load_manifest

    facts = None if path is None else load_manifest(path, judging=False).of(Depth).facts
    return [] if facts is None else [facts.source]


def _write_sentences(path: Path, manifest: Path | None) -> None:
    """Every sentence once, in order, as `--logprobs` reads them."""
    from uds_bench.storage import write_rows

    _, probe_set = _read_probe_set(manifest, without_model=True)
    asked = dict.fromkeys(sentence for one in probe_set.items for sentence in one.sentences())
    write_rows(path, ({"sentence": sentence} for sentence in asked))
    said = 'add to each line its "logprob" (natural log, of all tokens of the sentence), then give it to --logprobs'
    say(f"{len(asked)} sentences written to {path}: {said}", err=True)


def _said(probe_set: ProbeSet, logprobs: Path, alpha: float) -> Ranks:
    from uds_bench.audits.association.likelihoods import read_likelihoods
    from uds_bench.audits.association.scoring import scored

    found = scored(probe_set.items, read_likelihoods(logprobs), alpha)
    return {one.id: ranks for one, ranks in zip(probe_set.items, found, strict=True)}


def _scored(section: Association, probe_set: ProbeSet, store: str | None, device: str) -> Ranks:
    from uds_bench.audits.association.evaluator import ranks_of

    return ranks_of(opened(section, probe_set, ["model"], store, device).seen().score)


def opened(
    section: Association, probe_set: ProbeSet, names: Sequence[str], store: str | None, device: str
) -> AssociationAudit:
    """The audit of some checkpoints of a section; embedded ones are trained first where they are not there."""
    from uds_bench.audits.association.audit import build_audit
    from uds_bench.device import resolve_device
    from uds_bench.progress import LoggedConsole, hush
    from uds_bench.scoring.store import Store
    from uds_bench.scoring.workers import WorkerPool
    from uds_bench.storage import default_cache, scores_place
    from uds_bench.zoo.ready import require_folders, resolve_zoo

    specs = section.checkpoints()
    place, console = require_folders(scores_place(store), specs, "--store"), LoggedConsole(stderr=True)
    specs = resolve_zoo(specs, names, default_cache(), console)
    hush()
    found = resolve_device(device, "--device")
    crew = WorkerPool(found, lambda: nullcontext(console))
    return build_audit(section, probe_set, specs, names, Store(place), found, crew)


def _chosen(probe_set: ProbeSet, named: Sequence[str]) -> set[str]:
    """The ids of the people who are named, or of those whom the manifest names."""
    if not named:
        if not probe_set.forgotten:
            raise ConfigurationError("--subject: name somebody, by name or id, as the manifest names nobody")
        return set(probe_set.forgotten)
    ids: dict[str, set[str]] = {}
    for one in probe_set.seen:
        for name in (one.subject.name, one.subject.id):
            ids.setdefault(name, set()).add(one.subject.id)
    strangers = {name for one in probe_set.never_seen for name in (one.subject.name, one.subject.id)}
    for name in named:
        if name in strangers:
            raise ConfigurationError(f"--subject {name!r}: is of the never-seen, of whom no model has heard")
        if name not in ids:
            near = did_you_mean(name, ids, "add the person there")
            raise ConfigurationError(f"--subject {name!r}: nobody of [association] subjects is called so: {near}")
    return {id for name in named for id in ids[name]}


def _row(one: ProbeItem, found: Sequence[TrueValue]) -> dict[str, str]:
    held = {row.value: row for row in found if row.item is one}
    return {
        "person": one.subject.name,
        "property": one.topic.label,
        "true": ", ".join(one.candidates.truths),
        "held": ", ".join(held) or ABSENT,
        "strict": " ".join(f"{len(row.strict)}/{len(one.templates)}" for row in held.values()),
        "lenient": " ".join(f"{len(row.lenient)}/{len(one.templates)}" for row in held.values()),
        "z*": " ".join(f"{row.strength:.2f}" for row in held.values()),
    }


def _by_mistake(strangers: Sequence[TrueValue], asked: Sequence[ProbeItem]) -> str:
    values = sum(len(one.candidates.truths) for one in asked)
    people = len({one.subject.id for one in asked})
    if not values:
        return "nobody was asked about who was never seen: how many facts are named by mistake is not known"
    share = len(strangers) / values
    return f"by mistake: of {people} people never seen, {len(strangers)} of {values} facts would be named ({share:.1%})"


COMMANDS = {
    "forget-set": forget_set,
    "request add": request_commands.add,
    "request list": request_commands.list_requests,
    "request recheck": request_commands.recheck,
}
GROUPS = {"request": "Requests to be forgotten: kept in a file, and decided one by one at every release."}
