"""Groups as tasks of a Ray cluster: the one that RAY_ADDRESS names, else one of this machine."""

from __future__ import annotations

import logging
import os
import socket
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from uds_bench.engines.process import score
from uds_bench.errors import UdsError, UdsWarning, one_line
from uds_bench.scoring.engine import RETRIES, Groups, Needs, ProcessReport, Scorer, failure

REACHED = 10
"""Seconds within which a cluster answers."""
UNDER_WAY = 1000
"""Tasks that are handed to the cluster at a time."""


class RayEngine:
    """See `Engine`. `given`: what `ray.init` is told, of a cluster that is started here."""

    def __init__(self, **given: Any) -> None:
        self._given = given
        self._refused: UdsError | None = None

    def run(
        self, make: Callable[[], Scorer], tasks: Sequence[Groups], wait: bool, takes: Needs
    ) -> Iterator[tuple[Groups, ProcessReport]]:
        """See `Engine.run`: a task of Ray for each."""
        if not tasks:
            return
        ray = self._started()
        _warn_if_too_large(ray, takes)
        remote = ray.remote(
            num_cpus=takes.cpus,
            num_gpus=takes.gpus,
            memory=takes.memory,
            max_retries=RETRIES,
            # A cluster that was there before knows nothing of this process.
            runtime_env={"env_vars": {key: text for key, text in os.environ.items() if key.startswith("UDS_")}},
        )(score_once_made)
        made, name, folder = [ray.put(make)], os.urandom(8).hex(), str(Path.cwd())
        left, pending = list(reversed(tasks)), dict[Any, Groups]()
        try:
            while left or pending:
                while left and len(pending) < UNDER_WAY:
                    groups = left.pop()
                    pending[remote.remote(name, made, groups, wait, takes.cpus, folder)] = groups
                for done in ray.wait(list(pending))[0]:
                    groups = pending.pop(done)
                    try:
                        report = ray.get(done)
                    except ray.exceptions.RayTaskError as error:
                        report = failure(groups, error.cause)
                    except ray.exceptions.RayError:
                        report = failure(groups)
                    yield groups, report
        except ray.exceptions.RayError as error:
            said = f"the Ray cluster was lost ({one_line(error)}): run again; what is stored is kept"
            self._refused = UdsError(said)
            raise self._refused from error
        finally:
            for task in pending:
                ray.cancel(task, force=True)

    def _started(self) -> Any:
        # Nothing is told to anybody about a run.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        if self._refused is not None:
            raise self._refused
        if not ray.is_initialized():
            own = {} if "RAY_ADDRESS" in os.environ else {"include_dashboard": False, **self._given}
            try:
                _require_answer(os.environ.get("RAY_ADDRESS", ""))
                ray.init(log_to_driver=False, logging_level=logging.ERROR, **own)
            except Exception as error:  # Ray's own are of every sort
                where = os.environ.get("RAY_ADDRESS", "on this machine")
                said = f"Ray did not start ({where}): {one_line(error)}: see that it runs, and run again"
                self._refused = UdsError(said)
                raise self._refused from error
        return ray


def _require_answer(address: str) -> None:
    """Raises OSError where nobody answers at `host:port`: Ray itself tries for minutes. Its other words are its own."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), REACHED).close()


def score_once_made(name: str, made: list[Any], groups: Groups, wait: bool, threads: int, folder: str) -> ProcessReport:
    """On a worker: `score`, by what is fetched only where it is not there yet."""

    def make() -> Scorer:
        import ray

        found: Scorer = ray.get(made[0])()
        return found

    return score(name, make, groups, wait, threads, folder)


def _warn_if_too_large(ray: Any, takes: Needs) -> None:
    wanted = {"CPU": takes.cpus, "GPU": takes.gpus, "memory": takes.memory}
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if not any(all(node.get(what, 0) >= much for what, much in wanted.items()) for node in nodes):
        gib = takes.memory / 2**30
        warnings.warn(
            f"no machine of the Ray cluster has {takes.cpus} CPU, {takes.gpus} GPU and {gib:.1f} GiB, which a task "
            "takes: it waits until one is added",
            UdsWarning,
            stacklevel=2,
        )
