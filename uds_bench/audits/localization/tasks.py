"""Tasks of lm-evaluation-harness: found by name, refused where they do not choose among answers, loaded.

The package is an extra and takes seconds to import, so it is imported where it is used.
"""

from __future__ import annotations

import glob
import io
import logging
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from uds_bench.errors import ConfigurationError, did_you_mean, one_line
from uds_bench.extras import require
from uds_bench.statistics import SEED
from uds_bench.storage import content_key, file_digest

KIND, RIGHT = "multiple_choice", "acc"
"""What a task puts out, and the metric that says of each of its documents whether it was answered rightly."""
Tasks = Mapping[str, Mapping[str, Any]]
"""By name as it was asked for, the tasks that count under it, by their own."""


def catalogue(names: Sequence[str], folder: Path | None = None) -> Any:
    """A TaskManager that knows the names, all of them checked; documents are not loaded.

    Raises ExtraError where the package is missing, and ConfigurationError for a name that is no task, or one of a task
    that does not choose among answers.
    """
    require(f"[localization] tasks = {list(names)}", "lm_eval")
    from lm_eval import tasks

    if not hasattr(tasks.TaskManager, "load"):
        raise ConfigurationError(
            f"lm-evaluation-harness {version('lm_eval')} is too old to run tasks: pip install 'uds-bench[lm-eval]'"
        )
    state = tuple((str(file), file.stat().st_mtime_ns) for file in _own_files(folder))
    return _checked(tuple(names), folder, state)


def load(names: Sequence[str], folder: Path | None = None) -> Tasks:
    """The tasks with their documents, those of a group under its name; `folder`: where task files of one's own lie.

    Raises ConfigurationError as `catalogue` does, and for documents that cannot be had.
    """
    manager, found = catalogue(names, folder), {}
    for name in names:
        try:
            with alone():
                found[name] = manager.load([name])["tasks"]
        except Exception as error:  # the package and its data sets fail in many unrelated ways
            raise ConfigurationError(
                f"tasks = {name!r}: its documents cannot be loaded ({type(error).__name__}: {one_line(error)}): see "
                "that its data set can be reached, or has been fetched before"
            ) from error
        for own, task in found[name].items():
            _require_choices(name, own, task.OUTPUT_TYPE, task.aggregation())
    return found


def digest(names: Sequence[str], folder: Path | None = None) -> str:
    """What documents and their form depend on: the package's version, the files of `folder`, and local files that
    tasks read; not what the hub has under a data set's name."""
    index = catalogue(names, folder).task_index
    read = {file for name in names for entry in _leaves(index, name) for file in _local_files(entry.cfg)}
    own = {str(file.relative_to(folder)): file_digest(file) for file in _own_files(folder)} if folder else {}
    return content_key([version("lm_eval"), list(names), own, sorted(file_digest(file) for file in read)])


@contextmanager
def alone() -> Iterator[None]:
    """Seeded, and without the package's bars and warnings; the process's random numbers and its log are put back."""
    log, drawn, numbers = logging.getLogger("lm_eval"), random.getstate(), np.random.get_state()
    level = log.level
    try:
        with torch.random.fork_rng(range(torch.cuda.device_count())), redirect_stderr(io.StringIO()):
            random.seed(SEED)
            np.random.seed(SEED)
            torch.manual_seed(SEED)
            log.setLevel(logging.ERROR)
            yield
    finally:
        random.setstate(drawn)
        np.random.set_state(numbers)
        log.setLevel(level)


@lru_cache(maxsize=1)
def _checked(names: tuple[str, ...], folder: Path | None, state: tuple[tuple[str, int], ...]) -> Any:
    """As `catalogue`; `state`: of the files in `folder`, which are read again where they have changed.

    Reading all of the package's fourteen thousand files takes ten seconds, so it is done for names alone that are
    neither in `folder` nor in a folder of the package that is called as they begin.
    """
    from lm_eval import tasks

    own = [] if folder is None else [folder]
    shelves = [path for path in sorted(Path(tasks.__file__).parent.iterdir()) if path.is_dir()]
    near = [path for path in shelves if any(f"{name}_".startswith(f"{path.name}_") for name in names)]
    with alone():
        for folders in (own, [*near, *own]):
            found = tasks.TaskManager(include_path=folders, include_defaults=False)
            # A tag may be carried by tasks of any folder.
            if not _unknown(found.task_index, names) and not set(names) & set(found.all_tags):
                break
        else:
            found = tasks.TaskManager(include_path=own)
    _require_known(found.task_index, names)
    return found


def _unknown(index: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    """By name, what is no task: itself, or the first that it names."""
    found = {}
    for name in names:
        try:
            list(_leaves(index, name))
        except KeyError as error:
            found[name] = str(error.args[0])
    return found


def _require_known(index: Mapping[str, Any], names: Sequence[str]) -> None:
    for name, lacking in _unknown(index, names).items():
        advice = did_you_mean(lacking, index, '"lm-eval ls tasks" lists them')
        names_it = "is" if name == lacking else f"names {lacking!r}, which is"
        raise ConfigurationError(f"tasks = {name!r} {names_it} no task of lm-evaluation-harness: {advice}")
    known: dict[str, str] = {}
    for name in names:
        for entry in _leaves(index, name):
            if (other := known.setdefault(entry.name, name)) != name:
                raise ConfigurationError(f"tasks = {name!r} and {other!r} both hold {entry.name}: keep one of them")
            if "class" not in entry.cfg:
                metrics = entry.cfg.get("metric_list") or [{"metric": RIGHT}]
                _require_choices(name, entry.name, entry.cfg.get("output_type"), [one["metric"] for one in metrics])


def _require_choices(name: str, own: str, kind: Any, metrics: Iterable[Any]) -> None:
    if kind != KIND or RIGHT not in metrics:
        lacks = f"output_type {kind}" if kind != KIND else f"no {RIGHT} among its metrics"
        raise ConfigurationError(
            f"tasks = {name!r}: {own} has {lacks}, and answers must be chosen, rightly or wrongly: name tasks of "
            f"output_type {KIND} with {RIGHT}, such as arc_easy"
        )


def _leaves(index: Mapping[str, Any], name: str) -> Iterator[Any]:
    """The entries of single tasks below a name; those that a group itself defines show when it is loaded.

    Raises KeyError with a name that is not there.
    """
    entry = index[name]
    if entry.kind.name == "TAG":
        members: list[Any] = sorted(entry.tags)
    elif entry.kind.name == "GROUP":
        members = entry.cfg.get("task") or []
    else:
        yield entry
        return
    for member in members:
        if isinstance(member, str):
            yield from _leaves(index, member)
        elif isinstance(below := member.get("task", member.get("group")), str) and below in index:
            yield from _leaves(index, below)


def _own_files(folder: Path | None) -> list[Path]:
    found = sorted(folder.rglob("*")) if folder is not None else []
    return [file for file in found if file.is_file() and "__pycache__" not in file.parts]


def _local_files(config: Mapping[str, Any]) -> Iterator[Path]:
    """What lies on this machine of a task's data, as `datasets` is told where it is."""
    given = config.get("dataset_kwargs") or {}
    waiting = [config.get("dataset_path"), given.get("data_dir"), given.get("data_files")]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            for path in map(Path, glob.glob(value, recursive=True)):  # noqa: PTH207  (patterns may be absolute)
                yield from (file for file in [path, *path.rglob("*")] if file.is_file())
        elif isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, Sequence):
            waiting += value
