"""Where groups are scored and models made other than here: engines that exist, by the words of `--engine`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uds_bench.device import cores
from uds_bench.errors import ConfigurationError, did_you_mean
from uds_bench.extras import require

if TYPE_CHECKING:
    from uds_bench.scoring.engine import Engine

LOCAL = "local"
PACKAGES = {"ray": "ray", "slurm": "submitit"}
"""By engine, the package that it takes."""
JOBS = 32
"""Slurm jobs at a time, where no number is given."""


def find_engine(text: str) -> Engine | None:
    """The engine that `--engine` names; None for `local`, the processes of this machine. `slurm:local`: its jobs are
    processes of this machine too.

    Raises ConfigurationError for another word, ExtraError where the engine's package is missing.
    """
    name, colon, number = text.partition(":")
    if text == LOCAL:
        return None
    if name not in PACKAGES or (colon and name != "slurm"):
        raise ConfigurationError(f"--engine: there is no {text!r}: {did_you_mean(text, [LOCAL, *PACKAGES, 'slurm:8'])}")
    if colon and number != LOCAL and not (number.isascii() and number.isdigit() and int(number)):
        raise ConfigurationError(f"--engine {text}: {number!r} is no number of jobs: give 1 or more, as in slurm:8")
    require(f"--engine {name}", PACKAGES[name])
    if name == "ray":
        from uds_bench.engines.on_ray import RayEngine

        return RayEngine()
    from uds_bench.engines.on_slurm import SlurmEngine

    return SlurmEngine(cores(), LOCAL) if number == LOCAL else SlurmEngine(int(number or JOBS))
