"""Groups as jobs of Slurm, by submitit: one array of so many jobs, each with its share of the groups."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from uds_bench.engines.process import score
from uds_bench.errors import UdsError, one_line
from uds_bench.scoring.engine import RETRIES, Groups, Needs, ProcessReport, Scorer, failure
from uds_bench.storage import default_cache

LOOK = 1
"""Seconds between two looks at jobs."""
MINUTES = 24 * 60
"""A job's limit, where SBATCH_TIMELIMIT sets no other. Partition and account are Slurm's own: SBATCH_PARTITION, ..."""


class SlurmEngine:
    """See `Engine`. At most `jobs` at a time. `cluster`: "local" runs the same jobs as processes of this machine."""

    def __init__(self, jobs: int, cluster: str = "slurm", folder: Path | None = None) -> None:
        self.jobs, self.cluster, self._folder = jobs, cluster, folder
        self._refused: UdsError | None = None

    def run(
        self, make: Callable[[], Scorer], tasks: Sequence[Groups], wait: bool, takes: Needs
    ) -> Iterator[tuple[Groups, ProcessReport]]:
        """See `Engine.run`. What lost jobs held is dealt out anew, so that what kills its job stands alone at last."""
        if not tasks:
            return
        import submitit

        run, folder = os.urandom(8).hex(), str(Path.cwd())
        left: list[Groups] = list(tasks)
        for _ in range(1 + RETRIES):
            shares = [[group for task in left[at :: self.jobs] for group in task] for at in range(self.jobs)]
            jobs = self._submitted(takes, [(run, make, share, wait, takes.cpus, folder) for share in shares if share])
            left = []
            try:
                for job in submitit.helpers.as_completed(list(jobs), poll_frequency=LOOK):
                    groups = jobs.pop(job)
                    try:
                        yield groups, job.result()
                    except submitit.core.utils.FailedJobError as error:
                        yield groups, failure(groups, error)
                    except submitit.core.utils.UncompletedJobError:
                        left += [[group] for group in groups]
            finally:
                for job in jobs:
                    job.cancel()
            if not left:
                return
        for task in left:
            yield task, failure(task)

    def _submitted(self, takes: Needs, calls: Sequence[Any]) -> dict[Any, Groups]:
        """A job for each call of `score`, with its groups."""
        import submitit

        if self._refused is not None:
            raise self._refused
        try:
            executor = submitit.AutoExecutor(self._folder or default_cache() / "jobs", cluster=self.cluster)
            executor.update_parameters(
                name="uds-bench",
                timeout_min=MINUTES,
                cpus_per_task=takes.cpus,
                mem_gb=math.ceil(takes.memory / 2**30),
                # A Slurm that knows no GPUs may refuse to give none.
                gpus_per_node=takes.gpus or None,
                slurm_array_parallelism=self.jobs,
                # The step of a job does not take over its cores, from Slurm 22.05 on.
                slurm_srun_args=[f"--cpus-per-task={takes.cpus}"],
            )
            with executor.batch():
                jobs = [executor.submit(score, *call) for call in calls]
        except Exception as error:  # submitit's own, and of its commands, are of every sort
            self._refused = UdsError(
                f"Slurm took no jobs ({one_line(error)}): see that srun and sbatch work here, and run again; "
                "what is stored is kept"
            )
            raise self._refused from error
        return {job: call[2] for job, call in zip(jobs, calls, strict=True)}
