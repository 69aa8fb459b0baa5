"""Groups as jobs of Slurm, by submitit: one array of so many jobs, each with its share of the groups."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from uds_bench.engines.process import score
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

    def run(
        self, make: Callable[[], Scorer], tasks: Sequence[Groups], wait: bool, takes: Needs
    ) -> Iterator[tuple[Groups, ProcessReport]]:
        """See `Engine.run`. What lost jobs held is dealt out anew, so that what kills its job stands alone at last."""
        if not tasks:
            return
        import submitit

        executor = submitit.AutoExecutor(self._folder or default_cache() / "jobs", cluster=self.cluster)
        executor.update_parameters(
            name="uds-bench",
            timeout_min=MINUTES,
            cpus_per_task=takes.cpus,
            mem_gb=math.ceil(takes.memory / 2**30),
            gpus_per_node=takes.gpus,
            slurm_array_parallelism=self.jobs,
        )
        run, folder = os.urandom(8).hex(), str(Path.cwd())

        def started(groups: Groups) -> submitit.Job[ProcessReport]:
            return executor.submit(score, run, make, groups, wait, takes.cpus, folder)

        left: list[Groups] = list(tasks)
        for _ in range(1 + RETRIES):
            shares = [[group for task in left[at :: self.jobs] for group in task] for at in range(self.jobs)]
            with executor.batch():
                jobs = {started(share): share for share in shares if share}
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
