"""`uds-bench unlearn`: make a candidate from the manifest's full model by one of the built-in methods."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uds_bench.console.app import ends
from uds_bench.console.lines import say, show_data
from uds_bench.console.options import DeviceOption, ManifestOption
from uds_bench.device import resolve_device
from uds_bench.errors import ConfigurationError, did_you_mean
from uds_bench.storage import default_cache
from uds_bench.zoo.ready import resolve_zoo

if TYPE_CHECKING:
    from uds_bench.checkpoints import Checkpoint, CheckpointSpec
    from uds_bench.facts import FactSet
    from uds_bench.methods import LoraSettings, Method, MethodName


@ends("uds-bench unlearn --manifest uds.toml --method npo --set lr=1e-5 --set epochs=5 --out runs/npo")
def unlearn(
    out: Annotated[Path, typer.Option(metavar="DIR", help="New folder for the weights, or for the adapter.")],
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="grad_ascent, grad_diff, npo, simnpo, idk_nll, idk_dpo, alt_po, rmu, undial, memflex or alphaedit.",
        ),
    ],
    manifest: ManifestOption = None,
    preset: Annotated[
        str,
        typer.Option(metavar="NAME", help="Published settings (default: the method's own; a wrong name lists all)."),
    ] = "",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="One setting other than the preset's.")
    ] = None,
    lora: Annotated[
        bool | None,
        typer.Option(
            "--lora/--no-lora",
            help="Train a LoRA adapter and leave the weights alone, or not (default: above a billion weights).",
        ),
    ] = None,
    rank: Annotated[int, typer.Option(metavar="N", min=1, help="Rank of the adapter; its scale is twice that.")] = 16,
    sentences: Annotated[
        bool, typer.Option("--sentences", help="Forget and keep each answer also as a sentence without its question.")
    ] = False,
    retrain_epochs: Annotated[
        int, typer.Option(metavar="N", min=1, help="Epochs of retraining that the cost is a share of.")
    ] = 5,
    device: DeviceOption = "auto",
) -> None:
    """Unlearn the manifest's forget facts from its full model, with its retain facts beside them.

    Needs [facts] and [references] full, and no retain model. Says first what is trained and how much memory it takes.
    Writes the folder whole or not at all, with unlearning.json: settings, losses, versions, and the cost as a share
    of retraining. Prints the line that makes it a candidate of the manifest.
    """
    from uds_bench.methods import LoraSettings, find_preset, make_method, unlearn_facts
    from uds_bench.methods.release import require_new, require_usable, save

    require_new(out, "--out")
    name = _method_name(method)
    spec, facts = _read(manifest)
    used, found = find_preset(name, preset or None)
    changes = dict(_parsed(settings or ()))
    made = make_method(name, {**found.settings, **changes}, len(facts.split("forget")))
    require_usable(made, facts, bool(lora), sentences)
    place = resolve_device(device, "--device")
    ready = _ready(spec, bool(lora))
    adapter = _adapter(ready, place, made, lora, LoraSettings(rank, 2 * rank))
    full = _load(ready, place, adapter)
    with _progress(f"unlearning by {name}", made.steps) as advance:
        done = unlearn_facts(full, facts, made, adapter, retrain_epochs, advance, sentences)
    notes = {"preset": used, "preset_source": found.source, "changed": changes}
    save(out, done.model, full.tokenizer, done.record | notes)
    _report(out, spec, adapter is not None, done.record)


def _method_name(text: str) -> MethodName:
    from uds_bench.methods import METHODS

    for name in METHODS:
        if name == text:
            return name
    raise ConfigurationError(f"--method: there is no {text!r}: {did_you_mean(text, METHODS)}")


def _parsed(words: Iterable[str]) -> Iterable[tuple[str, int | float]]:
    from uds_bench.methods.presets import WHOLE

    for word in words:
        key, equals, value = word.partition("=")
        try:
            if not equals:
                raise ValueError
            yield key, int(value) if key in WHOLE else float(value)
        except ValueError:
            kind = "a whole number" if key in WHOLE else "a number"
            raise ConfigurationError(f"--set {word}: write KEY=VALUE, as lr=1e-5; VALUE is {kind}") from None


def _read(path: Path | None) -> tuple[CheckpointSpec, FactSet]:
    """The manifest's full model and facts; ConfigurationError where it names none."""
    from uds_bench.audits.depth.audit import read
    from uds_bench.audits.depth.section import Depth
    from uds_bench.audits.manifests import manifest_of

    manifest = manifest_of(path, "quick", judging=False)
    section = manifest.of(Depth)
    if section.facts is None or section.references is None:
        raise ConfigurationError(
            f"{manifest.path}: unlearn needs [facts] source and [references] full: add what is missing"
        )
    return section.references.full, read(section)


def _ready(spec: CheckpointSpec, lora: bool) -> CheckpointSpec:
    """The full model as it can be trained; an embedded one is trained first where it is not cached."""
    if spec.quantization is not None:
        raise ConfigurationError(f"references.full is {spec.quantization}: quantized weights cannot be trained")
    if lora and spec.adapter is not None:
        raise ConfigurationError("--lora: references.full has an adapter already, and a checkpoint takes one: merge it")
    return resolve_zoo({"full": spec}, ["full"], default_cache())["full"]


def _adapter(
    spec: CheckpointSpec, device: str, method: Method, asked: bool | None, settings: LoraSettings
) -> LoraSettings | None:
    """The adapter to train in the place of the weights, None to train these; prints which, and the memory it takes.

    If the user does not say, models above `LORA_ABOVE` weights get one, unless they have one or the method takes none.
    """
    from uds_bench.methods import METHODS, memory

    recipe = METHODS[method.name]
    size = memory.size_of(spec)
    fits = recipe.adapters and spec.adapter is None
    used = size.weights > memory.LORA_ABOVE and fits if asked is None else asked
    lora = settings if used else None
    say(memory.memory_line(size, lora, spec, device, recipe.remembers, recipe.adapters), err=True)
    return lora


def _load(spec: CheckpointSpec, device: str, lora: LoraSettings | None) -> Checkpoint:
    """The full model to train.

    All weights are trained in float32, whatever the manifest measures in: 16 bits would round most steps away. Beside
    an adapter, which is in float32 itself, they stay as the manifest has them.
    """
    from uds_bench.checkpoints import load
    from uds_bench.progress import hush

    hush()
    return load(spec if lora else replace(spec, dtype="float32"), device)


@contextmanager
def _progress(text: str, steps: int) -> Iterator[Callable[[int, float], None]]:
    from rich.console import Console

    from uds_bench.progress import bar

    with bar(Console(stderr=True)) as progress:
        task = progress.add_task(text, total=steps)
        yield lambda step, loss: progress.update(task, completed=step, description=f"{text}, loss {loss:.3f}")


def _report(out: Path, full: CheckpointSpec, adapter: bool, record: dict[str, Any]) -> None:
    """What it cost, and the line for the manifest; TOML's strings are JSON's."""
    cost, place = record["cost"], json.dumps(str(out.absolute()))
    shares = [
        f"{share:.1%} of the {what}"
        for what, share in (("steps", cost["share_of_steps"]), ("passes", cost["share_of_passes"]))
        if share is not None
    ]
    beside = f": {' and '.join(shares)} of {cost['retraining']['epochs']} epochs on the retain facts" if shares else ""
    say(f"{cost['steps']} steps in {cost['seconds']:.0f} s{beside}", err=True)
    say(f"written to {out}; add under [candidates]:", err=True)
    base = json.dumps(full.model) + (f", revision = {json.dumps(full.revision)}" if full.revision else "")
    show_data(f"{json.dumps(out.name)} = " + (f"{{ model = {base}, adapter = {place} }}" if adapter else place))


COMMANDS = {"unlearn": unlearn}
