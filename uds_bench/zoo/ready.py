"""A manifest's checkpoints made ready: shipped ones checked, embedded ones trained."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.checkpoints.spec import SCHEME, SPECIMEN, plain
from uds_bench.scoring.shelf import shelf_at
from uds_bench.storage import CELLS, StorePlace, content_key, default_cache, require_writable
from uds_bench.zoo import specimens

if TYPE_CHECKING:
    from uds_bench.engines.shard import Shard
    from uds_bench.scoring.engine import Engine


def require_folders(store: StorePlace, specs: Mapping[str, CheckpointSpec], option: str) -> StorePlace:
    """The store, after it and the cache have been seen to take files; a clear error for the one that does not. A store
    that holds scores may be there to be read only.

    The cache is needed for embedded models, and by a store inside it; where it was chosen, that must have worked.
    """
    cache = default_cache()
    embedded = any(spec.model.startswith(SCHEME) for spec in specs.values())
    inside = isinstance(store, Path) and store.is_relative_to(cache)
    if embedded or (inside and not (Path(store) / CELLS).is_dir()) or (not inside and "UDS_BENCH_CACHE" in os.environ):
        require_writable(cache, "UDS_BENCH_CACHE")
    shelf_at(store).require(option)
    return store


def resolve_zoo(
    specs: Mapping[str, CheckpointSpec], names: Iterable[str], cache: Path, console: Any = None, draw: int = 0
) -> dict[str, CheckpointSpec]:
    """The specs with every embedded model among `names` named by its folder: `specimen:NAME` as it is shipped,
    `zoo:NAME` trained if need be.

    `draw`: which draw of the zoo; 0 is the one that everything else speaks of.
    """
    specs = {**specs} | {n: _shipped(specs[n]) for n in names if specs[n].model.startswith(SPECIMEN)}
    embedded = {n: plain(specs[n].model) for n in names if specs[n].model.startswith(SCHEME)}
    embedded = {n: f"{model}@{draw}" if draw else model for n, model in embedded.items()}
    if not embedded:
        return specs
    from uds_bench.zoo import training  # what trains takes seconds to import

    folders = training.paths(embedded.values(), cache, console)
    return specs | {n: replace(specs[n], model=str(folders[model])) for n, model in embedded.items()}


def _shipped(spec: CheckpointSpec) -> CheckpointSpec:
    """A specimen by its folder. It computes in float32 on every device, as its verdicts are the same on all."""
    return replace(spec, model=str(specimens.folder(spec.model)), dtype=spec.dtype or "float32")


def build_models(names: Iterable[str], engine: Engine | None = None, share: Shard | None = None) -> dict[str, Path]:
    """Embedded models by their folders, trained first where they are not, on this machine or on those of an engine; of
    no name all of them, or a share."""
    from uds_bench.zoo import recipes, training

    listed = list(names)
    for name in listed:
        recipes.find(name)
    cache = require_writable(default_cache(), "UDS_BENCH_CACHE")
    wanted = [name for name in listed or recipes.listed() if share is None or share.has(content_key(name))]
    return training.paths(wanted, cache, engine=engine)
