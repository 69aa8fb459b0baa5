"""A method put through the gate: tried on every bed, judged by every audit, and told on a card."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from uds_bench.audits import registry
from uds_bench.checkpoints.reading import ANEW
from uds_bench.claims.fact_rows import read_report
from uds_bench.claims.run_report import RunReport
from uds_bench.claims.suite_claims import suites
from uds_bench.errors import ConfigurationError, counted
from uds_bench.scoring.engine import Engine
from uds_bench.storage import StorePlace, default_cache, require_writable
from uds_bench.trials.beds import Tell, require_claims, try_method
from uds_bench.trials.card import MethodCard, method_card
from uds_bench.trials.method import UserMethod

REPORT = "run.json"


def judged(
    options: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    files: Sequence[str] = ("",),
) -> RunReport:
    """What `pytest suites/`, or some files of it, say with some options, and nothing else from outside.

    The report is left in `folder`.

    Raises ConfigurationError, with the last of what was printed, for a run that could not be made.
    """
    report = folder / REPORT
    report.unlink(missing_ok=True)
    places = [str(suites() / name) for name in files]
    # Nobody's own pytest options, such as those of a project that its folder lies in.
    alone = ["-c", os.devnull, f"--rootdir={suites().parent}", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *places, "-q", *alone]
    command += ["--uds-json", str(report), *options]
    # Options from elsewhere must not change what is judged, and a job's page is of the run outside.
    kept, left = ("UDS_BENCH_CACHE", "UDS_BENCH_SPECIMENS", ANEW), ("PYTEST_", "UDS_", "GITHUB_STEP_SUMMARY")
    known = {key: value for key, value in os.environ.items() if key in kept or not key.startswith(left)}
    done = subprocess.run(command, env={**known, **(environment or {})}, cwd=folder, capture_output=True, text=True)
    if done.returncode not in (0, 1) or not report.exists():
        said = " ".join((done.stdout + done.stderr).split())
        raise ConfigurationError(f"{folder} could not be judged: {said[-300:]}")
    return read_report(json.loads(report.read_text()), report, registry.parts())


def methods_home(folder: Path | None = None) -> Path:
    """Where what methods make is kept."""
    return require_writable(folder or default_cache() / "methods", "UDS_BENCH_CACHE" if folder is None else "--out")


def check_method(
    method: str | Callable[..., Any],
    audits: Iterable[str] = (),
    folder: Path | None = None,
    store: StorePlace | None = None,
    tell: Tell = lambda line: None,
    expected: Mapping[str, str] | None = None,
    engine: Engine | None = None,
    options: Sequence[str] = (),
) -> MethodCard:
    """Whether an unlearning method clears the gate, on the shipped models and with three seeds.

    A script calls it under `if __name__ == "__main__":`, as models are made by processes that import the script.

    Args:
        method: A callable, `package.module:function`, or a built-in method's name. It is called with model, tokenizer,
            forget, retain, seed, and reference where it has such a parameter, and gives back the model. `forget` and
            `retain` are lists of dicts with prompt, completion, input_ids and labels.
        audits: Those that judge it; all where none is named.
        folder: Where its models are kept, and found again; the user cache where it is None.
        store: Where scores are kept; the user cache where it is None.
        tell: Called with a line as each model is made.
        expected: Claims that the method is not meant to pass, by id, each with the reason; beside those that the
            function says itself, as `expected_failures`.
        engine: Of machines that see `folder`, where its models are made; this one where it is None.
        options: Of the run that judges them, such as `--uds-device cpu`.

    Returns:
        Its card, whose `ok` says whether every other claim passes with every seed.

    Raises:
        ConfigurationError: The callable cannot be imported, takes other arguments, gives back no model, or made none.
            Or a claim that is expected to fail is none.
    """
    found = UserMethod.find(method) if isinstance(method, str) else UserMethod.of(method)
    require_claims((*found.expected, *(expected or {})))
    trials = try_method(found, methods_home(folder), audits, tell, engine)
    tell(f"judging {counted(len(trials.made), 'model')}")
    given = ["--uds-manifest", str(trials.manifest), *(["--uds-store", str(store)] if store else []), *options]
    run = judged(given, trials.manifest.parent)
    left_out = [] if run.summary.whole else ["claims were left out of the run that judged its models"]
    return method_card(trials, run.claims, [*run.summary.problems, *left_out], expected)
