"""Engines, for real: a Ray cluster of two workers, jobs of Slurm as processes of this machine. Scores are those of
this process, what is wrong is told, who is killed is begun anew."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import made_cells as made
import psutil
import pytest
from made_cells import started, wait_until

from uds_bench import engines, extras
from uds_bench.engines import find_engine
from uds_bench.engines.builds import Build, run_builds
from uds_bench.engines.on_ray import RayEngine
from uds_bench.engines.on_slurm import SlurmEngine
from uds_bench.engines.shard import read_shard
from uds_bench.errors import ConfigurationError, ExtraError
from uds_bench.scoring.engine import RETRIES, Needs
from uds_bench.storage import file_digest
from uds_bench.trials.beds import try_method
from uds_bench.trials.method import UserMethod

ENGINES = [
    pytest.param("ray", marks=pytest.mark.needs("ray")),
    pytest.param("slurm", marks=pytest.mark.needs("submitit")),
]


METHOD = """
import torch

def nudged(model, tokenizer, forget, retain, seed):
    if seed == 1:
        raise ValueError("not this one")
    with torch.no_grad():
        next(iter(model.parameters())).add_(seed + 1)
    return model
"""
WHY = "crashed (ValueError: not this one)"


def weights(folder: Path) -> list[str]:
    return [file_digest(file) for file in sorted(folder.glob("*.safetensors"))]


def write_commands(folder: Path, commands: dict[str, str]) -> None:
    """Commands of the shell, by name, where none of a cluster are."""
    for name, text in commands.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an engine starts finds the made cells."""
    own = str(Path(made.__file__).parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([own, *filter(None, [os.environ.get("PYTHONPATH")])]))


@pytest.mark.parametrize("name", ENGINES)
def test_scores_are_those_of_this_process_what_is_wrong_is_told_once_and_who_is_killed_is_begun_anew(
    name: str, tmp_path: Path, one_thread: None
) -> None:
    names = [*made.names_of(12), made.WRONG, made.DEADLY]
    here = made.score_all(made.made_runner(tmp_path / "here", names[:12]))
    runner = made.made_runner(tmp_path / name, names, made.engine_of(name, tmp_path / name))
    found = made.score_all(runner)
    assert {key: found[key] for key in here} == here, "to the last bit"
    assert found[made.WRONG] == f"{made.WRONG}: scoring failed with ValueError: such input is wrong"
    assert isinstance(found[made.DEADLY], float)
    assert made.times(tmp_path / name) == {**dict.fromkeys(names, 1), made.DEADLY: 2}
    assert {path.name.split(".")[1] for path in (tmp_path / name / "log").iterdir()} != {str(os.getpid())}


@pytest.mark.parametrize("name", ENGINES)
def test_what_is_built_is_there_what_is_wrong_is_told_once_and_who_is_killed_is_begun_anew(
    name: str, tmp_path: Path
) -> None:
    engine, log = made.engine_of(name, tmp_path), tmp_path / "log"
    assert engine is not None
    log.mkdir()
    builds = [Build(one, partial(made.build, log, one)) for one in ("a", "b", made.WRONG, made.DEADLY)]
    came = {build.place: error for build, error in run_builds(engine, builds, threads=1, largest=0)}
    assert {one: str(error) for one, error in came.items() if error} == {made.WRONG: "such input is wrong"}
    assert set(came) == {"a", "b", made.WRONG, made.DEADLY}
    assert made.times(tmp_path) == {"a": 1, "b": 1, made.WRONG: 1, made.DEADLY: 2}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
def test_a_method_is_tried_elsewhere(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same weights as here; what a method does wrong is told of the place where it does."""
    (tmp_path / "mine.py").write_text(METHOD)
    monkeypatch.chdir(tmp_path)
    engine, method = made.engine_of(name, tmp_path), UserMethod.find("mine:nudged")
    sides = [try_method(method, tmp_path / where, ["bypass"], engine=on) for where, on in (("a", engine), ("b", None))]
    there, here = ({str(place): weights(folder) for place, folder in side.made.items()} for side in sides)
    assert there == here
    assert len(there) == 3
    assert [side.problems for side in sides] == [[f"mine:nudged {WHY}: bypass, seed 1"]] * 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
def test_what_kills_every_process_is_told_and_the_others_are_scored(name: str, tmp_path: Path) -> None:
    names = ["c0", "c1", made.FATAL]
    found = made.score_all(made.made_runner(tmp_path, names, made.engine_of(name, tmp_path)))
    assert isinstance(found["c0"], float)
    assert isinstance(found["c1"], float)
    assert f"was lost {1 + RETRIES} times" in str(found[made.FATAL])
    assert made.times(tmp_path)[made.FATAL] == 1 + RETRIES


@pytest.mark.needs("ray")
def test_a_ray_cluster_that_nobody_answers_for_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    ray.shutdown()
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    monkeypatch.setattr(ray, "init", lambda **_: pytest.fail("it would try for minutes"))
    (said,) = set(made.score_all(made.made_runner(tmp_path, ["c0", "c1"], RayEngine())).values())
    assert str(said).startswith("Ray did not start (127.0.0.1:1): [Errno 111] Connection refused: see that it runs")


@pytest.mark.needs("ray")
def test_a_ray_cluster_that_is_lost_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    engine = made.engine_of("ray", tmp_path)

    def lost(*_: object) -> None:
        raise ray.exceptions.RaySystemError("no answer")

    monkeypatch.setattr(ray, "wait", lost)
    (said,) = set(made.score_all(made.made_runner(tmp_path, ["c0", "c1"], engine)).values())
    assert str(said).startswith("the Ray cluster was lost (")
    assert str(said).endswith("run again; what is stored is kept")


@pytest.mark.needs("submitit")
@pytest.mark.parametrize(
    ("commands", "why"),
    [({}, 'Could not detect "srun"'), ({"srun": "", "sbatch": "echo no partition >&2; exit 1"}, "no")],
)
def test_a_slurm_that_takes_no_jobs_is_a_line_with_what_to_do(
    commands: dict[str, str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_commands(tmp_path, commands)
    monkeypatch.setenv("PATH", str(tmp_path))
    engine = SlurmEngine(2, folder=tmp_path / "jobs")
    for said in made.score_all(made.made_runner(tmp_path, ["c0", "c1"], engine)).values():
        assert str(said).startswith(f"Slurm took no jobs ({why}")
        assert "see that srun and sbatch work here, and run again" in str(said)


@pytest.mark.needs("submitit")
@pytest.mark.parametrize(
    ("takes", "asked"),
    [
        (Needs(1, 3 << 30, 0), {"cpus-per-task": "1", "mem": "3GB"}),
        (Needs(4, (5 << 30) + 1, 1), {"cpus-per-task": "4", "mem": "6GB", "gpus-per-node": "1"}),
    ],
)
def test_slurm_is_asked_for_an_array_of_what_tasks_take_and_an_interrupted_run_gives_it_back(
    takes: Needs, asked: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands are no cluster's: they keep what they are given, and no job runs."""
    import submitit

    kept = {"sbatch": 'cat "$1" >> GIVEN; echo Submitted batch job 7', "scancel": 'echo "$1" >> GIVEN', "srun": ""}
    write_commands(tmp_path, {name: text.replace("GIVEN", f"{tmp_path}/{name}.given") for name, text in kept.items()})
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(submitit.helpers, "as_completed", interrupted)
    engine, tasks = SlurmEngine(3, folder=tmp_path / "jobs"), [[[made.ScoreRequest(name)]] for name in "abcdefg"]
    with pytest.raises(KeyboardInterrupt):
        next(engine.run(dict, tasks, wait=True, takes=takes))
    script = (tmp_path / "sbatch.given").read_text()
    lines = dict(re.findall(r"^#SBATCH --([\w-]+)=(.*)$", script, re.MULTILINE))
    told = ("array", "cpus-per-task", "mem", "gpus-per-node")
    assert {word: lines[word] for word in told if word in lines} == {"array": "0-2%3", **asked}
    assert lines["time"] == f"{24 * 60}"
    (step,) = re.findall(r"^srun .*", script, re.MULTILINE)
    assert f" --cpus-per-task={takes.cpus} " in step
    assert (tmp_path / "scancel.given").read_text().split() == ["7_0", "7_1", "7_2"]


@pytest.mark.needs("submitit")
def test_slurms_jobs_can_be_processes_of_this_machine() -> None:
    engine = find_engine("slurm:local")
    assert isinstance(engine, SlurmEngine)
    assert engine.cluster == "local"


@pytest.mark.needs("ray")
@pytest.mark.parametrize("signal", ["terminate", pytest.param("kill", marks=pytest.mark.slow)])
def test_a_cluster_ends_with_the_run_that_started_it(signal: str, tmp_path: Path) -> None:
    driver = started(tmp_path, 9, "ray", seconds=600)
    wait_until(lambda: made.times(tmp_path))
    below = psutil.Process(driver.pid).children(recursive=True)
    assert len(below) > 2
    getattr(driver, signal)()
    driver.wait()
    # Two agents of Ray, which score nothing, see a killed run's end after a minute.
    _, alive = psutil.wait_procs(below, timeout=180)
    for process in alive:
        process.kill()
    assert not alive


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
def test_a_killed_driver_is_taken_up(name: str, tmp_path: Path, killed: Callable[..., None]) -> None:
    killed(tmp_path, name, 20 if name == "ray" else 1)


def test_an_engine_is_named_by_its_word() -> None:
    assert find_engine("local") is None
    for text, said in {
        "": "there is no ''",
        "rays": "did you mean 'ray'",
        "ray:4": "did you mean 'ray'",
        "slurm:0": "'0' is no number of jobs: give 1 or more",
        "slurm:": "'' is no number of jobs",
        "slurm:x": "'x' is no number of jobs",
    }.items():
        with pytest.raises(ConfigurationError, match=said):
            find_engine(text)


@pytest.mark.parametrize(("name", "package"), engines.PACKAGES.items())
def test_a_missing_extra_is_one_line_with_the_command(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "is_installed", lambda _: False)
    with pytest.raises(ExtraError) as raised:
        find_engine(name)
    assert str(raised.value) == (
        f"--engine {name} needs {package}, which is missing: pip install 'uds-bench[{extras.EXTRAS[package]}]'"
    )


def test_a_group_is_in_one_share_whatever_it_is_called(tmp_path: Path) -> None:
    runner = made.made_runner(tmp_path, made.names_of(100))
    runner.specs["copy"] = runner.specs["c00007"]
    every = [made.ScoreRequest(name) for name in runner.specs]
    shares = [read_shard(f"{at}/4").share(runner, every) for at in (1, 2, 3, 4)]
    assert sorted(map(str, every)) == sorted(str(request) for share in shares for request in share)
    assert all(10 < len(share) < 40 for share in shares)
    (both,) = [share for share in shares if made.ScoreRequest("copy") in share]
    assert made.ScoreRequest("c00007") in both


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/0", "a/b", "1/2/3", " 1/2", "1.0/2", "١/٢", "1/1000000"])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^--shard: .* is no share: write it as 2/8"):
        read_shard(text)
