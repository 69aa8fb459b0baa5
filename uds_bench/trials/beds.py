"""The trials of an unlearning method: it runs on each audit's bed with each seed, and a manifest judges its models."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from transformers import AutoTokenizer

from uds_bench.audits import registry
from uds_bench.checkpoints.weights import weight_count, weight_files
from uds_bench.children import end_with_parent
from uds_bench.code_digest import code_digest
from uds_bench.engines.builds import Build, run_builds
from uds_bench.engines.shard import Shard
from uds_bench.errors import ConfigurationError, counted, did_you_mean
from uds_bench.progress import hush, hush_process
from uds_bench.scoring.engine import Engine
from uds_bench.storage import content_key, file_digest, write_atomic
from uds_bench.trials.method import UserMethod
from uds_bench.trials.trial import RECORD, Trial, UnusableError, run_trial
from uds_bench.zoo import specimens
from uds_bench.zoo.cache import built, workers
from uds_bench.zoo.recipe import Bed

SEEDS = (0, 1, 2)
MANIFEST = "uds.toml"
KILLED = "ended its process or was killed: see that memory is enough, and that it does not exit"
SECONDS = 3.6e-9
"""Seconds that one core takes per forget token and byte of weights. They were measured with npo: models were made and
judged while other work ran."""
Tell = Callable[[str], None]


class Place(NamedTuple):
    """Where a method is tried. `again`: it runs once more with the same seed, to check that the weights are the
    same."""

    audit: str
    seed: int
    again: bool = False

    def __str__(self) -> str:
        return f"{self.audit}, seed {self.seed}{' once more' if self.again else ''}"

    @property
    def folder(self) -> str:
        """Its folder's name."""
        return f"{self.audit}-{self.seed}{'-again' if self.again else ''}"


@dataclass(frozen=True)
class Trials:
    """The trials of a method. `made`: the folder of the model of each place; `failed`: why a place has no model;
    `manifest`: the file that judges the models."""

    method: UserMethod
    made: Mapping[Place, Path]
    failed: Mapping[Place, str]
    manifest: Path

    def trial(self, place: Place) -> Trial:
        """The record of what the method did at a place."""
        return _trial(self.made[place])

    @property
    def excused(self) -> dict[str, str]:
        """The claims that the method declares it is not meant to pass, of the audits for which it made a model."""
        tried = {place.audit for place in self.made}
        return {claim: why for claim, why in self.method.expected.items() if claim.partition(".")[0] in tried}

    @property
    def problems(self) -> list[str]:
        """The problems that make a run red, whatever its claims come to."""
        alike: dict[str, list[str]] = {}
        for place, why in self.failed.items():
            alike.setdefault(why, []).append(str(place))
        found = [f"{self.method.name} {why}: {'; '.join(places)}" for why, places in alike.items()]
        # A place where it failed the first time has no weights, which is unlike as well.
        weights = {place: _weights(folder) for place, folder in self.made.items()}
        unlike = [
            place for place in weights if place.again and weights[place] != weights.get(place._replace(again=False))
        ]
        return found + [f"{self.method.name} makes other weights of the same seed: {place.audit}" for place in unlike]

    @property
    def remarks(self) -> list[str]:
        """Lines that a reader should know about the method. They make no run red: claims judge what it did."""
        trials = {place: self.trial(place) for place in self.made}
        audits = dict.fromkeys(place.audit for place in self.made)
        one_seed = [name for name in audits if len({_weights(f) for p, f in self.made.items() if p.audit == name}) == 1]
        found = {
            "left the model as it was": [p.audit for p, trial in trials.items() if not trial.moved],
            "read nothing of what is to be kept": [p.audit for p, trial in trials.items() if not trial.reads_retain],
            "makes the same of every seed": one_seed,
        }
        return [
            f"{self.method.name} {told}: {', '.join(dict.fromkeys(names))}" for told, names in found.items() if names
        ]


def require_claims(names: Iterable[str]) -> None:
    """Raises ConfigurationError for the first name that is no claim, of those that a method is not meant to pass."""
    for name in names:
        if name not in registry.claims():
            raise ConfigurationError(f"expected: there is no claim {name!r}: {did_you_mean(name, registry.claims())}")


def beds() -> list[str]:
    """The audits that methods are tried on."""
    return [name for name, audit in registry.audits().items() if audit.bed() is not None]


def try_method(
    method: UserMethod,
    home: Path,
    audits: Iterable[str] = (),
    tell: Tell = lambda line: None,
    engine: Engine | None = None,
    share: Shard | None = None,
) -> Trials:
    """Run a method on the beds of some audits, or of all, with three seeds, and write the manifest that judges them.

    `share`: the part of the models to make; then no manifest is written.

    A model that exists already is kept. It is known by the code in the method's folder, the data that the method gets,
    and the seed. The code of a method without a file is unknown, so its models are made anew.

    Raises ConfigurationError for a method that gives back no model, and for one that made none anywhere.
    """
    chosen = {name: _bed(name) for name in audits or beds()}
    found = {name: _given(bed) for name, (bed, _) in chosen.items()}
    given, size = {name: one for name, (one, _) in found.items()}, {name: one for name, (_, one) in found.items()}
    root = home / f"{method.short}-{content_key([method.name, method.code, code_digest(__name__), given])[:16]}"
    # The longest first, so that the last end together.
    longest = sorted(chosen, key=lambda name: -size[name])
    places = [Place(name, seed) for name in longest for seed in SEEDS] + [Place(longest[-1], SEEDS[0], again=True)]
    if share is not None:
        places = [place for place in places if share.has(content_key([root.name, str(place)]))]
    minutes = SECONDS * sum(size[place.audit] for place in places) / workers() / 60
    taking = f": about {minutes:.0f} min if it is as dear as npo" if engine is None else ""
    tell(f"{counted(len(places), 'model')} to be made{', then judged' if share is None else ''}{taking}")
    made: dict[Place, Path] = {}
    failed: dict[Place, str] = {}
    for place, came in _all(method, {place: root / place.folder for place in places}, engine):
        known: dict[Place, Any] = made if isinstance(came, Path) else failed
        known[place] = came
        tell(f"{method.name} on {place}: {came if place in failed else f'{_trial(made[place]).seconds:.0f} s'}")
    if share is not None:
        return Trials(method, made, failed, root / MANIFEST)
    if not made:
        raise ConfigurationError(f"{method.name} made no model: it {next(iter(failed.values()))}")
    text = f"# What {method.name} made of the shipped models.\n"
    for name, (_, judging) in chosen.items():
        rows = [
            # As their parent computes, and as they are saved, on every device.
            f'{method.short}-seed{place.seed} = {{ model = {json.dumps(str(folder))}, dtype = "float32" }}\n'
            for place, folder in sorted(made.items())
            if place.audit == name and not place.again
        ]
        text += f"\n{judging}{''.join(rows)}" if rows else ""
    write_atomic(root / MANIFEST, text.encode())
    return Trials(method, made, failed, root / MANIFEST)


def _bed(audit: str) -> tuple[Bed, str]:
    found = registry.audits()[audit].bed() if audit in registry.audits() else None
    if found is None:
        raise ConfigurationError(f"no method is tried by the audit {audit!r}: {did_you_mean(audit, beds())}")
    return found


def _given(bed: Bed) -> tuple[list[str], int]:
    """The digests of the model and of the texts that a method gets, and the size of its work. The size is the number of
    forget tokens times the bytes of the weights."""
    parent = specimens.folder(bed.parent)
    data = bed.data(AutoTokenizer.from_pretrained(parent))
    lessons = [[asdict(one) for one in part] for part in (data.forget, data.retain)]
    size = sum(file.stat().st_size for file in parent.glob("*.safetensors"))
    return [specimens.specimens()[bed.parent].digest, content_key(lessons)], size * sum(map(len, data.forget))


def _all(
    method: UserMethod, folders: Mapping[Place, Path], engine: Engine | None
) -> Iterator[tuple[Place, Path | str]]:
    """Yields each place with its folder, or with the reason why it has none, as they finish. They run side by side if
    another process can import the method."""
    if engine is not None:
        yield from _elsewhere(method, folders, engine)
        return
    if not method.is_importable:
        hush()
        yield from ((place, _one(method, place, folder)) for place, folder in folders.items())
        return
    with ProcessPoolExecutor(workers(), get_context("spawn"), _start) as pool:
        running = {pool.submit(_by_name, method.name, place, folder): place for place, folder in folders.items()}
        try:
            for future in as_completed(running):
                try:
                    yield running[future], future.result()
                except BrokenProcessPool:
                    yield running[future], KILLED
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _elsewhere(method: UserMethod, folders: Mapping[Place, Path], engine: Engine) -> Iterator[tuple[Place, Path | str]]:
    if not method.is_importable:
        raise ConfigurationError(f"{method.name}: no other process can import it: name it as package.module:function")
    places = {str(place): place for place in folders}
    builds = [Build(str(place), partial(_made, method.name, place, folder)) for place, folder in folders.items()]
    parents = [specimens.folder(_bed(audit)[0].parent) for audit in {place.audit for place in folders}]
    largest = max((sum(map(weight_count, weight_files(parent))) for parent in parents), default=0)
    for build, error in run_builds(engine, builds, threads=1, largest=largest):
        place = places[build.place]
        if isinstance(error, ConfigurationError):
            raise error
        told = str(error) if isinstance(error, UnusableError) else f"could not be tried ({error})"
        yield place, folders[place] if error is None else told


def _start() -> None:
    import torch

    end_with_parent()
    hush_process()
    torch.set_num_threads(1)


def _by_name(name: str, place: Place, folder: Path) -> Path | str:
    return _one(UserMethod.find(name), place, folder)


def _one(method: UserMethod, place: Place, folder: Path) -> Path | str:
    try:
        return _build(method, place, folder)
    except UnusableError as error:
        return str(error)


def _made(name: str, place: Place, folder: Path) -> None:
    _build(UserMethod.find(name), place, folder)


def _build(method: UserMethod, place: Place, folder: Path) -> Path:
    bed, _ = _bed(place.audit)
    return built(folder, partial(run_trial, method, bed, specimens.folder(bed.parent), place.seed))


def _trial(folder: Path) -> Trial:
    return Trial(**json.loads((folder / RECORD).read_text()))


def _weights(folder: Path) -> Sequence[str]:
    return tuple(file_digest(file) for file in sorted(folder.glob("*.safetensors")))
