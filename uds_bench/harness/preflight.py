"""What configuration files alone tell about checkpoints, before any is loaded."""

from __future__ import annotations

from collections.abc import Iterable

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.errors import UdsError


def preflight(specs: dict[str, CheckpointSpec], names: Iterable[str]) -> dict[str, str]:
    """By checkpoint that cannot be used, why and what to do, in a line."""
    from uds_bench.checkpoints import resolve
    from uds_bench.checkpoints.spec import SPECIMEN
    from uds_bench.scoring.shapes import check_shapes
    from uds_bench.zoo import specimens

    problems: dict[str, str] = {}
    wanted = set(names)
    for name in [n for n in specs if n in wanted and not specs[n].model.startswith("zoo:")]:
        try:
            if specs[name].model.startswith(SPECIMEN):
                specimens.folder(specs[name].model)
                continue
            resolve(specs[name])
            check_shapes(name, specs)
        except UdsError as error:
            # What is wrong with the shipped models is told once, whoever needs them.
            told = str(error).startswith(name) or specs[name].model.startswith(SPECIMEN)
            problems[name] = str(error) if told else f"{name}: {error}"
    return problems
