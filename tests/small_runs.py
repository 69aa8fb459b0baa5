"""Fixtures that run pytest with the plugin on small real checkpoints and read what came out."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import small_models as small
from filelock import FileLock

if TYPE_CHECKING:
    from uds_bench.audits.metrics.metric_rows import Models

DEPTH = Path(__file__).parents[1] / "suites" / "test_depth.py"
SHARED = "shared"
"""Stands for the store in which every small model is scored already."""
ATTACKS = "[attacks]\nnf4 = {}\nrelearn = { epochs = 1, lr = 3e-3, batch_size = 6 }\n"


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder of the session, filled by `make` in one of its processes; what was left half done is made anew."""
    root = factory.getbasetemp()
    folder: Path = (root.parent if "popen" in root.name else root) / name
    with FileLock(f"{folder}.lock"):
        if not (folder / "whole").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            (folder / "whole").touch()
    return folder


@pytest.fixture(scope="session")
def authors_cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of runs on shipped models and the embedded authors, which score each model once a session."""
    return os.environ | {"UDS_BENCH_CACHE": str(made_once(tmp_path_factory, "authors", lambda folder: None))}


@pytest.fixture(scope="session")
def one_thread() -> Iterator[None]:
    """Sums have one order, as in every training process."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of `small_models`, trained once a session, by one process if there are several."""
    return made_once(tmp_path_factory, "small-models", small.build_small_models)


@pytest.fixture(scope="session")
def shared_store(models: Path) -> Path:
    """A store that has every score of the depth suite on the small models."""
    import uds_bench
    from uds_bench.checkpoints import CheckpointSpec
    from uds_bench.facts import load_facts
    from uds_bench.scoring.metric_runner import MetricRunner
    from uds_bench.scoring.runner import ScoreRequest
    from uds_bench.scoring.store import Store

    # A run inside this process forgets the modules that it was the first to import; torch bears no second import.
    for module in pkgutil.walk_packages(uds_bench.__path__, "uds_bench."):
        importlib.import_module(module.name)
    specs = {name: CheckpointSpec(str(models / name)) for name in small.NAMES}
    runner = MetricRunner(specs, load_facts(models / "facts.jsonl"), Store(models / "store"))
    forms = [("uds", form) for form in (None, "block", "published", "turned")]
    forms += [("spared", None), ("entity_accuracy", None), ("entity_accuracy", "free")]
    plan = [ScoreRequest(name, metric, variant) for name in small.NAMES for metric, variant in forms]
    with FileLock(models / "store.lock"):
        for request in plan:
            runner.score(request, plan)
    runner.loaded("retain")
    return runner.store.folder


def judged_models() -> Models:
    """What `judged_store` has every score of; `Bench.judged` writes its manifest."""
    from uds_bench.audits.metrics.metric_rows import Models

    return Models("full", "retain", ("full2",), ("retain2",), ("swapped", "shallow"))


@pytest.fixture(scope="session")
def judged_store(models: Path, shared_store: Path) -> Path:
    """A store with every score that judging the metrics on `judged_models` reads, under `ATTACKS`, on the facts of
    `judged.jsonl`: those of six, six and four authors to be forgotten, retained and held out."""
    import tomllib

    from uds_bench.attacks import find_attack
    from uds_bench.audits.metrics.meta_evaluation import requests
    from uds_bench.checkpoints import CheckpointSpec
    from uds_bench.facts import FactSet, embedded, write_facts
    from uds_bench.scoring.metric_runner import MetricRunner
    from uds_bench.scoring.store import Store

    known = FactSet(f for f in embedded(small.FORGET, small.RETAIN, 4) if f.kind in small.KINDS)
    chosen = [c for split, n in (("forget", 6), ("retain", 6), ("holdout", 4)) for c in known.split(split).clusters[:n]]
    facts = FactSet(fact for fact in known if fact.cluster in chosen)
    specs = {name: CheckpointSpec(str(models / name)) for name, _ in judged_models().needed(robust=False)}
    attacks = {name: find_attack(name, **given) for name, given in tomllib.loads(ATTACKS)["attacks"].items()}
    with FileLock(models / "judged.lock"):
        if not (models / "swapped").exists():
            small.build_swapped(models)
        write_facts(models / "judged.jsonl", facts)
        runner = MetricRunner(specs, facts, Store(models / "judged"), attacks=attacks)
        plan = requests(judged_models(), robust=True)
        for request in plan:
            # One place at a time: other processes would take longer to start than to score.
            runner.score(request, [other for other in plan if other.place == request.place])
    return runner.store.folder


@dataclass(frozen=True)
class Ran:
    """One finished run: its exit code, all it printed, and its run report, None where none was written."""

    code: int
    text: str
    report: Any

    @property
    def claims(self) -> dict[str, dict[str, Any]]:
        assert self.report is not None, self.text
        return {claim["name"]: claim for claim in self.report["claims"]}

    @property
    def verdicts(self) -> dict[str, str]:
        """What each claim came to: why it is undecided where that is not its interval, else its status."""
        return {name: told(claim) for name, claim in self.claims.items()}

    @property
    def counts(self) -> dict[str, int]:
        """What occurred, counted, after the sum has been held against what was planned."""
        assert self.report is not None, self.text
        summary = self.report["summary"]
        assert summary["planned"] == sum(summary["counts"].values()) == len(self.report["claims"])
        assert f"{summary['planned']} claims planned = " in self.text
        counted = {word: number for word, number in summary["counts"].items() if number}
        assert counted == Counter(row["status"] for row in self.report["claims"])
        return dict(Counter(map(told, self.report["claims"])))


def told(claim: Mapping[str, Any]) -> str:
    """The cause of a claim that is undecided for another reason than its interval, else its status."""
    stands = claim["cause"] in (None, "interval", "too few units") or claim["flag"]
    return str(claim["status"] if stands else claim["cause"])


class Bench:
    """Writes manifests and tests into the folder of `pytester` and runs them."""

    def __init__(self, pytester: pytest.Pytester, models: Path, store: Path) -> None:
        self.pytester, self.models, self.store = pytester, models, store
        self.folder = pytester.path

    def copy(self, name: str, to: str) -> Path:
        """A checkpoint of its own to damage."""
        return Path(shutil.copytree(self.models / name, self.folder / to))

    def manifest(
        self,
        candidates: Mapping[str, str | Path] | Iterable[str] = ("retain3",),
        *,
        positive: Iterable[str] = ("full2",),
        negative: Iterable[str] = ("retain2",),
        facts: str | Path | None = None,
        more: str = "",
        **references: str | Path,
    ) -> Path:
        """`uds.toml`: candidates by name (of a small model) or name -> folder; `more` is appended."""
        named = candidates if isinstance(candidates, Mapping) else {name: self.models / name for name in candidates}
        references = {"full": self.models / "full", "retain": self.models / "retain"} | references
        pools = {
            word: "{ " + ", ".join(f"{name} = '{self.models / name}'" for name in names) + " }"
            for word, names in (("positive", positive), ("negative", negative))
        }
        text = f"[facts]\nsource = '{facts or self.models / 'facts.jsonl'}'\n"
        for section, table in (("references", references), ("candidates", named)):
            text += f"[{section}]\n" + "".join(f"{name} = '{path}'\n" for name, path in table.items())
        text += "[pools]\n" + "".join(f"{word} = {table}\n" for word, table in pools.items())
        path = self.folder / "uds.toml"
        path.write_text(text + more)
        return path

    def judged(self, more: str = ATTACKS, **changed: Any) -> Path:
        """The manifest of `judged_models`, whose scores `judged_store` has, with parts of it changed."""
        named = judged_models()
        pools = {"positive": named.positive, "negative": named.negative}
        given = {"candidates": named.candidates, "facts": self.models / "judged.jsonl", "more": more, **pools}
        return self.manifest(**given | changed)

    def test(self, body: str, name: str = "test_written") -> Path:
        """A test file with the usual imports on top."""
        path: Path = self.pytester.makepyfile(**{name: "import math\nimport numpy as np\nimport pytest\n" + body})
        return path

    def arguments(self, *args: str | Path, manifest: Path | None, store: str | Path | None) -> list[str]:
        options = [] if manifest is None else ["--uds-manifest", str(manifest)]
        if store is not None:
            options += ["--uds-store", str(self.store if store == SHARED else store)]
        # pytest-benchmark asks three other programs where it is whenever it is loaded.
        plugins = ["-p", "no:cacheprovider", "-p", "no:benchmark"]
        return [*plugins, "--uds-json", str(self.folder / "report.json"), *options, *map(str, args)]

    def changed(self) -> list[str]:
        """What has changed of that which the last run rests on."""
        from uds_bench.audits.manifests import load_manifest
        from uds_bench.cli.documents import read_run
        from uds_bench.cli.inputs import changed_inputs

        run = read_run(self.folder / "report.json")
        return [line for _, line in changed_inputs(run, load_manifest(self.folder / "uds.toml"))]

    def run(
        self,
        *args: str | Path,
        manifest: Path | None = None,
        store: str | Path | None = SHARED,
        subprocess: bool = False,
    ) -> Ran:
        """Run pytest; with the manifest that was written last, if any, unless another is given."""
        from uds_bench.claims.fact_rows import with_rows

        written = self.folder / "uds.toml"
        line = self.arguments(*args, manifest=manifest or (written if written.exists() else None), store=store)
        json_file = self.folder / "report.json"
        json_file.unlink(missing_ok=True)
        kind = self.pytester.runpytest_subprocess if subprocess else self.pytester.runpytest_inprocess
        done = kind(*line)
        report = json.loads(json_file.read_text(), parse_constant=pytest.fail) if json_file.exists() else None
        report = report and with_rows(report, json_file)
        return Ran(int(done.ret), done.stdout.str() + done.stderr.str(), report)

    def refused(self, *args: str | Path, **asked: Any) -> str:
        """What a run says that cannot be judged: it ends with 4 in a line, and leaves no report."""
        ran = self.run(*args, **asked)
        assert (ran.code, ran.report) == (pytest.ExitCode.USAGE_ERROR, None), ran.text
        assert "Traceback" not in ran.text
        return ran.text


@pytest.fixture
def bench(pytester: pytest.Pytester, models: Path, shared_store: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Runs of pytest on the small models, in an own folder, as on a machine of one's own: no CI, no xdist above.

    Runs within this process score in it: others take ten times as long to start as to score so small models, and
    `test_scoring_processes` holds what they find against what one finds.
    """
    for name in (
        "CI",
        "GITHUB_STEP_SUMMARY",
        "PYTEST_XDIST_TESTRUNUID",
        "PYTEST_XDIST_WORKER",
        "PYTEST_ADDOPTS",
        "UDS_BENCH_CACHE",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UDS_BENCH_CACHE", str(pytester.path / "cache"))
    monkeypatch.setattr("uds_bench.scoring.workers.processes", lambda *_: 1)
    return Bench(pytester, models, shared_store)
