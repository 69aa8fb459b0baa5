"""`uds-bench gate-method`: an unlearning method put through every audit, and what it came to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uds_bench.audits import registry
from uds_bench.console.app import ABSENT, show_interval, show_number
from uds_bench.console.lines import say, show_json, show_table
from uds_bench.console.options import EngineOption, JsonOption, ShardOption, StoreOption
from uds_bench.engines import LOCAL, find_engine
from uds_bench.engines.shard import read_shard
from uds_bench.errors import ConfigurationError, counted
from uds_bench.storage import scores_place, write_json

if TYPE_CHECKING:
    from uds_bench.trials.card import ClaimRow, MethodCard

EXAMPLE = "uds-bench gate-method mypackage.methods:forget"


def gate_method(
    method: Annotated[
        str, typer.Argument(metavar="MODULE:FUNCTION", help="The method, or a built-in one by its name, such as npo.")
    ],
    audits: Annotated[str, typer.Option(metavar="A,B", help="Audits that judge it (default: all that can).")] = "",
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the models that it makes (default: the user cache).")
    ] = None,
    card: Annotated[Path | None, typer.Option(metavar="FILE", help="Write its card as JSON too.")] = None,
    expect: Annotated[
        list[str] | None,
        typer.Option(metavar="CLAIM=WHY", help="A claim that it is not meant to pass, and why; may be repeated."),
    ] = None,
    engine: EngineOption = LOCAL,
    shard: ShardOption = "",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Try an unlearning method on the shipped models with three seeds, and judge what it makes by every audit.

    It is called as fn(model, tokenizer, forget, retain, seed), with reference where it has such a parameter, and gives
    back the model. Models are kept while the code in its folder is the same. Exits 1 where a claim does not pass with
    every seed, and where one does that is expected not to. An engine makes the models, which are judged here; its
    machines must see their folder under the same name. A share of the models is made and not judged: run it without
    `--shard` when all are there.
    """
    from uds_bench.console.options import JSON, chosen, require_file
    from uds_bench.trials.method import UserMethod

    if card is not None:
        require_file(card, "--card", JSON)
    # A slip is told before the libraries are loaded.
    chosen(audits, registry.audits(), "--audits")
    where, share = find_engine(engine), read_shard(shard)
    if share is not None and (card is not None or expect or store is not None):
        raise ConfigurationError(
            "--shard: a share is not judged: give --card, --expect and --store to the run that judges all"
        )
    found_method = UserMethod.find(method)

    from uds_bench.trials.beds import beds, try_method
    from uds_bench.trials.check import check_method, methods_home

    named = chosen(audits, beds(), "--audits") if audits else []
    place = None if out is None else out.absolute()
    scores = None if store is None else scores_place(store)
    if share is not None:
        trials = try_method(found_method, methods_home(place), named, _tell, where, share)
        say(f"{trials.manifest.parent}: {counted(len(trials.made), 'model')} of share {share}")
        raise typer.Exit(1 if trials.failed else 0)
    expected = dict(map(_expected, expect or []))
    found = check_method(method, named, place, scores, _tell, expected, where)
    if card is not None:
        write_json(card, found.to_json())
    if as_json:
        show_json({"schema": 1, "ok": found.ok, **found.to_json()})
    else:
        _show(found)
    raise typer.Exit(0 if found.ok else 1)


def _tell(line: str) -> None:
    say(line, err=True)


def _expected(text: str) -> tuple[str, str]:
    claim, _, why = (part.strip() for part in text.partition("="))
    if not why:
        raise ConfigurationError(f"--expect: {text!r} has no reason: write CLAIM=WHY")
    return claim, why


def _show(card: MethodCard) -> None:
    show_table(_table_row(row) for row in card.rows)
    costs = (f"{one.audit} {one.seconds:.0f} s{_share(one.share)}" for one in card.costs)
    say()
    say(f"cost of a model: {', '.join(costs)}")
    for row in card.rows:
        if row.expected:
            say(f"expected: {row.claim}: {row.expected}")
        elif row.why:
            say(f"{row.verdict.upper()}: {row.claim}: {row.why}")
    for line in card.remarks:
        say(f"note: {line}")
    for line in card.problems:
        say(f"error: {line}")
    say(card.sentence)


def _table_row(row: ClaimRow) -> dict[str, Any]:
    from uds_bench.trials.recorded_cards import cleared_by, nearest, recorded

    bounds = None if row.low is None or row.high is None else (row.low, row.high)
    return {
        "claim": row.claim,
        "verdict": row.verdict if row.is_good else row.verdict.upper(),
        "seeds": ", ".join(f"{count} {word}" for word, count in row.seeds.items()),
        "mean": show_number(row.observed),
        "95% CI over seeds": show_interval(bounds),
        "needs": row.needs or ABSENT,
        "built-in": cleared_by(row.claim, recorded()),
        "nearest": nearest(row.claim, row.observed, recorded()) or ABSENT,
    }


def _share(share: float | None) -> str:
    return "" if share is None else f" ({share:.0%} of retraining)"
