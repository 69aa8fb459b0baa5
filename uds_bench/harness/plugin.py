"""Pytest entry point: declares options, markers and fixtures, and registers the ledger of the run."""

from __future__ import annotations

import pytest

from uds_bench.errors import UdsError
from uds_bench.harness.fixtures import (
    LACKS,
    RUN,
    asker,
    association,
    bypass,
    canaries,
    candidate,
    claim,
    eraser,
    facts,
    full,
    goldens,
    inquiry,
    is_ours,
    lmlm,
    localization,
    manifest,
    meta,
    reasoner,
    retain,
    scores,
    testbed,
    trial,
    uds_run,
    unlearner,
)
from uds_bench.harness.options import add_options, read_settings
from uds_bench.harness.subjects import SUBJECTS, names

__all__ = [
    "asker",
    "association",
    "bypass",
    "canaries",
    "candidate",
    "claim",
    "eraser",
    "facts",
    "full",
    "goldens",
    "inquiry",
    "lmlm",
    "localization",
    "manifest",
    "meta",
    "reasoner",
    "retain",
    "scores",
    "testbed",
    "trial",
    "uds_run",
    "unlearner",
]

MARKERS = (
    'claim(name): the claim that this test decides, such as "depth.score"',
    'scores(metric, ..., of=("full", "retain", "nested", "pools", "candidates"), under=("none",)): what this test will '
    "read, of which checkpoints and under which attacks, so that it is computed while the models are loaded",
    'needs(what): what the machine must have, such as "gpu"; elsewhere the test is skipped as not applicable',
    "laboratory: about metrics, methods, settings or papers, and no candidate: not in the default run",
    "slow: takes minutes; run with -m slow",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    from uds_bench.harness.ledger import Ledger
    from uds_bench.harness.run import Run
    from uds_bench.harness.screen import Screen

    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    try:
        run = Run(read_settings(config), config)
        if run.settings.manifest is not None:
            run.rules  # noqa: B018  manifest, thresholds and waivers are read before anything runs: exit 4
    except UdsError as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[RUN] = run
    ledger = Ledger(config, run)
    config.pluginmanager.register(ledger, "uds_bench_ledger")
    config.pluginmanager.register(Screen(config, ledger), "uds_bench_screen")


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for fixture in SUBJECTS:
        if fixture in metafunc.fixturenames and is_ours(fixture, metafunc._arg2fixturedefs):
            named = names(metafunc.config.stash[RUN].manifest, fixture)
            metafunc.parametrize(fixture, named, ids=[name or "none" for name in named], indirect=True)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("needs"):
        if "gpu" in marker.args and item.config.stash[RUN].device != "cuda":
            item.stash[LACKS] = "needs a CUDA device"
            pytest.skip(f"not applicable: {item.stash[LACKS]}")
