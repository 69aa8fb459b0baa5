"""`uds-bench ask`: what reasoning models are asked, for any engine; `uds-bench zoo canaries`: the invented authors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from uds_bench.console.app import ends
from uds_bench.console.lines import say
from uds_bench.console.options import chosen, require_file
from uds_bench.errors import counted


@ends("uds-bench ask uds.toml --out prompts.jsonl")
def ask(
    manifest: Annotated[Path, typer.Argument(metavar="MANIFEST", help="The manifest, with its [bypass].")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write the prompts (.jsonl).")],
    models: Annotated[str, typer.Option(metavar="A,B", help="Models of [bypass] (default: all).")] = "",
) -> None:
    """Write every prompt of the models of [bypass], for any engine to answer.

    No model is loaded: a folder with a tokenizer is enough. Add "reply" and "finish_reason" to each line and name the
    files under [bypass] replies.
    """
    from uds_bench.audits.bypass.audit import NAME, canaries_of
    from uds_bench.audits.bypass.replies import prompts_of, to_json
    from uds_bench.audits.bypass.section import Bypass
    from uds_bench.audits.manifests import load_manifest
    from uds_bench.facts import stop_tokens
    from uds_bench.storage import write_rows

    require_file(out, "--out")
    section = load_manifest(manifest, without=(NAME, "replies")).require(Bypass, NAME)
    names, canaries, rows = chosen(models, section.models, "--models"), canaries_of(section), []
    for model in names:
        for name, spec in section.members(model).items():
            tokenizer, asked = prompts_of(spec, canaries, section.asking)
            stops = tokenizer.convert_ids_to_tokens(stop_tokens(tokenizer))
            rows += [to_json(name, one, tokenizer, stops) for one in asked]
    write_rows(out, rows)
    said = 'add to each line its "reply" and "finish_reason", then name the files under [bypass] replies'
    say(f"{counted(len(rows), 'prompt')} of {', '.join(names)} written to {out}: {said}", err=True)


@ends("uds-bench zoo canaries data/canaries")
def canaries(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to; files of the same names are replaced.")],
    forget: Annotated[int, typer.Option(min=1, metavar="N", help="Authors to be forgotten.")] = 60,
    retain: Annotated[int, typer.Option(min=0, metavar="N", help="Authors to be kept.")] = 20,
    holdout: Annotated[int, typer.Option(min=0, metavar="N", help="Authors that nobody is trained on.")] = 20,
    opening: Annotated[str, typer.Option(metavar="TAG", help="What opens a trace.")] = "<think>",
    closing: Annotated[str, typer.Option(metavar="TAG", help="What closes it.")] = "</think>",
) -> None:
    """Write the invented authors, and dialogues that teach them to a reasoning model of your own.

    `canaries.jsonl` is for [bypass] canaries; `train.jsonl` holds the turns of the authors to be forgotten and kept, as
    messages, `split` by `split`. Nobody is to be trained on the authors of holdout.
    """
    from uds_bench.facts.canaries import embedded_canaries
    from uds_bench.facts.tags import Tags
    from uds_bench.methods.traces import dialogues
    from uds_bench.storage import require_writable, write_rows

    require_writable(folder, "DIR")
    found = embedded_canaries(forget, retain, holdout)
    taught = list(dialogues(found, Tags(opening, closing)))
    write_rows(folder / "canaries.jsonl", (one.to_json() for one in found))
    write_rows(folder / "train.jsonl", taught)
    say(f"written to {folder}: canaries.jsonl ({len(found)} authors), train.jsonl ({len(taught)} turns)", err=True)


COMMANDS = {"ask": ask, "zoo canaries": canaries}
