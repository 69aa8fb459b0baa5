"""Models that an engine's machines make: each is a task, which leaves a whole folder or says why there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from uds_bench.errors import UdsError
from uds_bench.scoring.engine import BASE, FLOAT32, HELD, TRAINED, Engine, Needs, ProcessReport


@dataclass(frozen=True)
class Build:
    """`place`: what is made, in words. `run`: makes it in whichever process, which finds `run` by its name; what is
    there already it leaves as it is. It locks what it makes."""

    place: str
    run: Callable[[], object]


class Builder:
    """See `Scorer`: a group is one build."""

    def __init__(self) -> None:
        self.loads = Counter[str]()
        self._failed: dict[str, UdsError] = {}

    def compute_group(self, group: Sequence[Build]) -> bool:
        """Make what is not there; whoever makes it meanwhile is waited for."""
        for build in group:
            try:
                build.run()
            except UdsError as error:
                self._failed[build.place] = error
        return True

    def lease_of(self, group: Sequence[Build]) -> str:
        """No build is left to another process."""
        return group[0].place

    def failed(self) -> Mapping[str, UdsError]:
        """Why something was not made, by place."""
        return self._failed

    def take(self, outcome: ProcessReport) -> None:
        """Nothing is made here in another one's place."""


def run_builds(
    engine: Engine, builds: Sequence[Build], threads: int, largest: int
) -> Iterator[tuple[Build, UdsError | None]]:
    """Make all of them on an engine.

    Args:
        engine: Of machines that share the folders.
        builds: What is to be made, none of which needs another one.
        threads: Cores that each takes.
        largest: Weights of the largest model that is trained. Each is given the memory that scoring takes where it
            trains such a model on a CPU.

    Yields:
        Each with None, or with why it was not made, as they are done.
    """
    takes = Needs(threads, BASE + largest * FLOAT32 * (HELD + TRAINED), 0)
    for groups, report in engine.run(Builder, [[[build]] for build in builds], True, takes):
        for (build,) in groups:
            yield build, report.failed.get(build.place)
