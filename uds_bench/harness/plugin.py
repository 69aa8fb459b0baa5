"""Pytest entry point: declares options, markers and fixtures, and registers the session of the run."""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from uds_bench.device import batches
from uds_bench.errors import UdsError
from uds_bench.extras import is_installed
from uds_bench.harness.fixtures import LACKS, RUN, uds_attack, uds_audit, uds_claim, uds_goldens, uds_run, uds_subject
from uds_bench.harness.items import ATTACK, SUBJECT, UNATTACKED, audit_of, decides_claim
from uds_bench.harness.options import Settings, add_options, read_settings

if TYPE_CHECKING:
    from uds_bench.harness.result import RunResult
    from uds_bench.harness.session import RunSession

__all__ = ["uds_attack", "uds_audit", "uds_claim", "uds_goldens", "uds_run", "uds_subject"]

RUN_SESSION: pytest.StashKey[RunSession] = pytest.StashKey()
RUNNING: list[pytest.Config] = []
"""The runs of this process: a test may run another."""
MARKERS = (
    'claim(name, audit=...): the claim that this test decides, such as "depth.score"; audit: of a claim of your own',
    'scores(metric, ..., of=("full", "retain", "nested", "pools", "candidates"), under=("none",)): what this test will '
    "read, of which checkpoints and under which attacks, so that it is computed while the models are loaded",
    'needs(what): "gpu", or a package as it is imported; elsewhere the test is skipped as not applicable',
    "laboratory: about metrics, methods, settings or papers, and no candidate: not in the default run",
    "slow: takes minutes; run with -m slow",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares our options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Reads options, manifest and waivers before anything runs."""
    from uds_bench.harness.run import Run

    RUNNING.append(config)
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    try:
        settings = read_settings(config)
        meanwhile = ExitStack()
        meanwhile.enter_context(batches(settings.batch_size, "--uds-batch-size"))
        config.add_cleanup(meanwhile.close)
        run = Run(settings, config)
        tried = None
        if settings.manifest is not None:
            run.rules  # noqa: B018  manifest, thresholds and waivers are read before anything runs: exit 4
        if settings.method:
            manifest, tried = _tried(config, settings)
            run = Run(replace(settings, manifest=manifest), config)
            run.rules  # noqa: B018
        config.stash[RUN] = run
    except UdsError as error:
        raise pytest.UsageError(*error.causes) from None
    # A process with workers collects nothing itself: it only hears in the end whether there are claims.
    if run.settings.manifest is not None or config.getoption("numprocesses", None):
        found = run_session_of(config).found
        if tried is not None:
            found.problems, found.remarks, found.of_method = tried.problems, tried.remarks, tried.of_method


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    if RUN_SESSION in config.stash:
        keep_alive(config)  # before it ends pytest itself looks through all of it
    if config in RUNNING:
        RUNNING.remove(config)


def keep_alive(config: pytest.Config) -> None:
    """Keep the garbage collector from looking through libraries and scores, which live as long as the process: that
    took a fifth of a run. A run within a test is left alone, as its process goes on."""
    if RUNNING[:1] == [config]:
        gc.freeze()


def _tried(config: pytest.Config, settings: Settings) -> tuple[Path, RunResult]:
    """The manifest of the run, and what is seen of a method. If none is named, it is the manifest that judges the
    method's models; else a run of their own judges these first."""
    from uds_bench.trials.method import UserMethod

    method = UserMethod.find(settings.method)  # a slip is told before the libraries are loaded

    from uds_bench.harness.result import RunResult
    from uds_bench.trials.beds import beds, require_claims, try_method
    from uds_bench.trials.check import check_method, methods_home

    config.option.uds_method = None  # workers have the options of the process above them
    tell = partial(print, file=sys.__stderr__)
    # If the command line names the suites of some audits, these audits alone try the method.
    named = {Path(word.partition("::")[0]).stem.removeprefix("test_") for word in config.args}
    audits = [name for name in beds() if name in named] if named.issubset(beds()) else []
    if settings.manifest is not None:
        given = {"--uds-device": settings.device, "--uds-batch-size": settings.batch_size}
        options = [word for option in given.items() if option[1] for word in option]
        card = check_method(settings.method, audits, store=settings.store, tell=tell, options=options)
        return settings.manifest, RunResult(of_method=card.records, remarks=[*card.remarks, card.sentence])
    require_claims(method.expected)
    trials = try_method(method, methods_home(), audits, tell)
    config.option.uds_excused = trials.excused
    config.option.uds_manifest = str(trials.manifest)
    return trials.manifest, RunResult(problems=trials.problems, remarks=trials.remarks)


def run_session_of(config: pytest.Config) -> RunSession:
    """The plugin that keeps the claims of a run. The first claim registers it: a run without one imports next to
    nothing."""
    if RUN_SESSION not in config.stash:
        from uds_bench.harness.screen import Screen
        from uds_bench.harness.session import RunSession

        run_session = config.stash[RUN_SESSION] = RunSession(config, config.stash[RUN])
        for name, plugin in (("uds_bench_session", run_session), ("uds_bench_screen", Screen(config, run_session))):
            if config.pluginmanager.is_blocked(name):
                raise pytest.UsageError(f"-p no:{name}: no claim is kept, or told, without it: leave the option out")
            config.pluginmanager.register(plugin, name)
    return config.stash[RUN_SESSION]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    """Selects and orders claims, where there are any."""
    if RUN_SESSION in config.stash or any(map(decides_claim, items)):
        collects = gc.isenabled()
        gc.disable()  # while libraries are imported
        try:
            return (yield from run_session_of(config).collect(items))
        finally:
            if collects:
                gc.enable()
            keep_alive(config)
    return (yield)


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Makes a test of each judged model of a claim, and of each attack of the manifest."""
    if {SUBJECT, ATTACK}.isdisjoint(metafunc.fixturenames):
        return
    run = metafunc.config.stash[RUN]
    try:
        audit = audit_of(metafunc.definition)
        given = {SUBJECT: run.judged(audit), ATTACK: run.attacks(audit) or [UNATTACKED]}
    except UdsError as error:
        raise pytest.UsageError(*error.causes) from None
    for fixture in metafunc.fixturenames:
        if named := given.get(fixture):
            metafunc.parametrize(fixture, named, ids=[name or "none" for name in named], indirect=True)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a test that needs a GPU, or a package, that is not there."""
    for what in (what for marker in item.iter_markers("needs") for what in marker.args):
        if what == "gpu" and item.config.stash[RUN].device != "cuda":
            item.stash[LACKS] = "needs a CUDA device"
        elif what != "gpu" and not is_installed(what):
            item.stash[LACKS] = f"needs the package {what}"
        else:
            continue
        pytest.skip(f"not applicable: {item.stash[LACKS]}")
