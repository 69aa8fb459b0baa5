"""What only a GPU can tell: passes, seconds and memory of a model of 10^9 weights, and rows embedded a second.

    python benchmarks/gpu_figures.py --out docs/explanation/gpu.json --page docs/explanation/gpu.md
    python benchmarks/gpu_figures.py --out FILE --device cpu --size small      # the same code, on any machine

Weights are random, in the shape of Llama-3.2-1B, and the encoder's in that of MiniLM-L6: cost does not depend on what
they are. Parts come by worth, and each has a time limit. One that fails or is stopped is told so, with what it found by
then, and the others go on; the file is written after each.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from patching_workload import SIZES, Workload, launches, llama

from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.facts import embedded, encode_question
from uds_bench.inference.generation import continue_greedily
from uds_bench.inference.parts import part_bytes
from uds_bench.inference.target import PatchingTarget
from uds_bench.methods.examples import epochs, pairs_to_examples
from uds_bench.methods.forward import answer_nll
from uds_bench.methods.training import Optimisation, train
from uds_bench.scoring.metric_runner import MetricRunner
from uds_bench.scoring.runner import ScoreRequest
from uds_bench.scoring.store import Store
from uds_bench.zoo.fresh import byte_level_tokenizer

Figures = dict[str, Any]
GOALS = {"bfloat16": 2.5, "float32": 2.0}
"""Plain passes that reading one candidate may cost where the full model's part is stored."""
ROUNDS = 7
FACTS, RETAINED = 20, 40
"""Authors of eight facts each: 160 to be forgotten, and kept ones at more positions than states are wide."""
METRICS = (
    ("uds",),
    ("prob", "em", "es", "mia_loss", "mia_zlib", "mia_min_k", "mia_min_k_plus_plus"),
    ("rouge",),
    ("cka",),
    ("fisher",),
)
"""What is scored together."""
ROWS = {"1b": 100_000, "small": 200}
TOKENS = 64
"""Generated after each prompt."""
LIMITS = {
    "depth_bfloat16": 20,
    "depth_float32": 25,
    "models": 25,
    "reading": 60,
    "encoder": 60,
    "generation": 15,
    "loading": 15,
    "relearning": 15,
    "score": 90,
}
"""Seconds that each part may take, in its order: 325 at most. Depth took 7 and 12 on an H200; a run without limits was
stopped after 8 minutes among its metrics."""


class StoppedError(BaseException):
    """A part's time is over; no `except Exception` on the way keeps it."""


@contextmanager
def limit(seconds: float | None) -> Iterator[None]:
    """Raises StoppedError where what is done inside takes longer; None: it may take any time."""

    def stop(*_: Any) -> None:
        raise StoppedError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds or 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Machine:
    """The device, its clock and its memory."""

    def __init__(self, device: str) -> None:
        self.device, self.is_gpu = device, device == "cuda"

    def seconds(self, work: Callable[[], Any]) -> float:
        """Wall time until all that was asked of the device is done."""
        self._wait()
        start = time.perf_counter()
        work()
        self._wait()
        return time.perf_counter() - start

    def turns(self, ways: dict[str, Callable[[], Any]], rounds: int = ROUNDS) -> dict[str, float]:
        """Median seconds of each way, in rounds in which all take turns, after one that is not counted."""
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for at in range(rounds + 1):
            for name, way in ways.items():
                spent = self.seconds(way)
                if at:
                    taken[name].append(spent)
        return {name: statistics.median(spent) for name, spent in taken.items()}

    def peak(self, work: Callable[[], Any]) -> int | None:
        """Bytes that `work` took at most beside what was there before; None where torch does not count them."""
        if not self.is_gpu:
            work()
            return None
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        work()
        return torch.cuda.max_memory_allocated() - before

    def free(self) -> None:
        """Gives back what nobody holds."""
        gc.collect()
        if self.is_gpu:
            torch.cuda.empty_cache()

    def told(self) -> Figures:
        """Hardware and versions."""
        name = torch.cuda.get_device_name() if self.is_gpu else "CPU"
        packages = ("torch", "transformers", "sentence-transformers")
        found = {package.replace("-", "_"): version(package) for package in packages}
        cuda = {"cuda": torch.version.cuda, "tf32": torch.backends.cuda.matmul.allow_tf32} if self.is_gpu else {}
        return {"device": name, "cores": os.cpu_count(), "python": sys.version.split()[0], **found, **cuda}

    def _wait(self) -> None:
        if self.is_gpu:
            torch.cuda.synchronize()


def depth(machine: Machine, size: str, dtype: str) -> Figures:
    """One batch: a plain pass, the streams on a stored part, the same with the part, and the loop over layers."""
    work = Workload(SIZES[size], getattr(torch, dtype), machine.device)
    part, weights = work.part, sum(p.nbytes for p in work.full.model.parameters())
    gap = (work.streams() - work.loop()).abs().max().item()
    ways = {
        "plain": work.plain,
        "streams": work.streams,
        "first_streams": work.streams_from_scratch,
        "loop": work.loop,
    }
    spent = machine.turns(ways)
    return {
        "facts": work.size.facts,
        "tokens": work.size.facts * work.size.tokens,
        "weights_bytes": weights,
        "milliseconds": {name: 1e3 * seconds for name, seconds in spent.items()},
        "plain_passes": {name: seconds / spent["plain"] for name, seconds in spent.items()},
        "launches": launches(work),
        "goal": GOALS[dtype],
        "largest_gap_nats": gap,
        "above_weights_bytes": {name: machine.peak(ways[name]) for name in ("plain", "streams", "loop")},
        "part_bytes": part_bytes(part),
    }


class Models:
    """Three random models on disk, as `full`, `retain` and `npo`, with a tokenizer made of the facts' own text."""

    def __init__(self, folder: Path, size: str, machine: Machine) -> None:
        forget, others = (FACTS, RETAINED) if size == "1b" else (3, 2)
        self.facts, self.folder, self.machine = embedded(forget, others, others), folder, machine
        self.tokenizer = byte_level_tokenizer([f"{fact.question} {fact.answer}" for fact in self.facts], 4000)
        smallest = SIZES[size] if size == "1b" else replace(SIZES[size], vocabulary=4000)
        self.specs = {}
        for seed, name in enumerate(("full", "retain", "npo")):
            model = llama(smallest, seed, torch.bfloat16, machine.device)
            model.save_pretrained(folder / name)
            self.tokenizer.save_pretrained(folder / name)
            self.specs[name] = CheckpointSpec(str(folder / name), dtype="bfloat16")
            del model
            machine.free()
        self._kept: dict[str, Any] = {}

    def loaded(self, name: str) -> Any:
        """One of them on the device, where it stays."""
        if name not in self._kept:
            self._kept[name] = self.anew(name)
        return self._kept[name]

    def anew(self, name: str, **changed: Any) -> Any:
        """One of them, read from its files."""
        return load(replace(self.specs[name], **changed), self.machine.device)


class Runner(MetricRunner):
    """Takes the models that are there: what is timed is scoring, and none is loaded once a metric."""

    models: Models

    def loaded(self, name: str) -> Any:
        return self.models.loaded(name)


def score(machine: Machine, models: Models, found: Figures) -> None:
    """A candidate's scores, by `uds-bench score`'s own runner; the references are read before.

    One metric after another, so that those that are there when time is over are told.
    """
    runner = Runner(models.specs, models.facts, Store(models.folder / "store"), machine.device)
    runner.models = models
    for name in models.specs:
        models.loaded(name)
    found["metrics"] = {}
    found["facts"] = len(models.facts.split("forget"))
    found["seconds_reading_references"] = machine.seconds(lambda: runner.score(ScoreRequest("retain", "uds")))
    for names in METRICS:
        try:
            above = machine.peak(partial(_compute, runner, names))
            for name in names:
                told = runner.score(ScoreRequest("npo", name)).provenance
                found["metrics"][name] = {"seconds": told["seconds"], "batches": told.get("batches")}
            found["metrics"][names[0]]["above_models_bytes"] = above
        except Exception as error:  # the others are told all the same
            found["metrics"][names[0]] = {"failed": _line(error)}


def reading(machine: Machine, models: Models) -> Figures:
    """One reading of a candidate, as an audit takes it, beside plain passes of the full model over the same batches."""
    full, npo = models.loaded("full"), models.loaded("npo")
    target = PatchingTarget(full, models.facts.split("forget"))
    spent = machine.turns(
        {
            "plain": lambda: [_plain(full, batch) for batch in target.batches],
            "read": lambda: target.read(npo),
        },
        rounds=3,
    )
    return {
        "facts": len(models.facts.split("forget")),
        "tokens": target.positions,
        "path": target.path(),
        "why": target.path_reason,
        "seconds_plain_pass": spent["plain"],
        "seconds_one_reading": spent["read"],
        "reading_in_plain_passes": spent["read"] / spent["plain"],
    }


def _compute(runner: MetricRunner, names: tuple[str, ...]) -> None:
    plan = [ScoreRequest("npo", name) for name in names]
    for request in plan:
        runner.score(request, plan)


def _plain(full: Any, batch: Any) -> None:
    with torch.inference_mode():
        full.model(**batch.inputs())


def loading(machine: Machine, models: Models) -> Figures:
    """A model of 16 bits and of four: seconds to load it, with its digest known, and bytes that it holds."""
    return {"bfloat16": _loaded(machine, models), "nf4": _loaded(machine, models, quantization="nf4")}


def _loaded(machine: Machine, models: Models, **changed: Any) -> Figures:
    machine.free()
    before = torch.cuda.memory_allocated() if machine.is_gpu else 0
    kept: list[Any] = []
    seconds = machine.seconds(lambda: kept.append(models.anew("npo", **changed)))
    held = torch.cuda.memory_allocated() - before if machine.is_gpu else None
    batch = PatchingTarget(kept[0], models.facts.split("forget")).batches[0]
    spent = machine.turns({"pass": lambda: _plain(kept[0], batch)}, rounds=3)
    return {"seconds_to_load": seconds, "bytes": held, "milliseconds_a_batch": 1e3 * spent["pass"]}


def generation(machine: Machine, models: Models) -> Figures:
    """Greedy answers, 128 prompts at a time."""
    npo = models.loaded("npo")
    prompts = [encode_question(npo.tokenizer, fact.question) for fact in models.facts][:128]
    said: list[Any] = []

    def generate() -> None:
        said[:] = continue_greedily(npo, prompts, TOKENS)

    generate()
    seconds = machine.seconds(generate)
    tokens = sum(len(one.ids) for one in said)
    return {"prompts": len(prompts), "new_tokens": tokens, "seconds": seconds, "tokens_a_second": tokens / seconds}


def relearning(machine: Machine, models: Models) -> Figures:
    """Steps of the relearning attack, 32 questions with their answers each."""
    return {dtype: _relearned(machine, models, dtype) for dtype in ("bfloat16", "float32")}


def _relearned(machine: Machine, models: Models, dtype: str, steps: int = 8) -> Figures:
    machine.free()
    npo, spent = models.anew("npo", dtype=dtype), list[float]()
    pairs = [(fact.question, fact.answer) for fact in models.facts.split("forget")]
    examples = pairs_to_examples(npo.tokenizer, pairs)

    def learn(count: int) -> None:
        batches = epochs(examples, 32, count, torch.Generator().manual_seed(0))
        train(npo.model, (batch.to(npo.device) for batch in batches), answer_nll, Optimisation(2e-5), count)

    learn(1)
    above = machine.peak(lambda: spent.append(machine.seconds(lambda: learn(steps))))
    return {"steps_a_second": steps / spent[0], "above_weights_bytes": above}


def encoder(machine: Machine, size: str) -> Figures:
    """Rows of a database as vectors: of an encoder in MiniLM-L6's shape, its weights and its tokenizer made up."""
    from made_encoder import write_encoder
    from many_rows import rows_of

    from uds_bench.retrieval.encoder import Encoder

    keys = [row.key for row in rows_of(ROWS[size])]
    with tempfile.TemporaryDirectory() as folder:
        place = str(write_encoder(Path(folder) / "encoder"))
        there, here = Encoder(place, machine.device), Encoder(place, "cpu")
        some = keys[: max(100, len(keys) // 50)]
        there.embed(keys[:100]), here.embed(keys[:100])
        on_cpu = machine.seconds(lambda: here.embed([f"{key}," for key in some]))
        apart = float(abs(there.embed(some[:100]) - here.embed(some[:100])).max())
        seconds = machine.seconds(lambda: there.table(keys))
    tokens = sum(len(one) for one in here._model.tokenizer(some[:1000])["input_ids"]) / min(1000, len(some))
    return {
        "rows": len(keys),
        "tokens_a_row": tokens,
        "seconds": seconds,
        "rows_a_second": len(keys) / seconds,
        "rows_a_second_on_the_cpu": len(some) / on_cpu,
        "largest_difference": apart,
    }


def weighing(weights: int) -> Figures:
    """Localization: an update of so many weights, weighed on one thread of the CPU."""
    import subprocess

    import localization_workload

    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        localization_workload.write(Path(folder), weights, everything=True)
        written = time.perf_counter() - start
        command = [sys.executable, localization_workload.__file__, "weigh", folder]
        ran = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **single})
    found: Figures = json.loads(ran.stdout.splitlines()[-1])
    return found | {"seconds_to_write": written}


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="JSON file, written after each part")
    parser.add_argument("--page", type=Path, help="Markdown page of it")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--size", choices=["1b", "small"], default="1b")
    parser.add_argument("--weigh", type=lambda text: int(float(text)), help="weigh an update of so many weights alone")
    given = parser.parse_args()
    if given.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: this machine has no usable CUDA device: run it where there is one")
    machine = Machine(given.device)
    found: Figures = {"on": machine.told(), "size": given.size, "parts": {}}

    def part(name: str, work: Callable[[Figures], Any]) -> None:
        start, figures = time.perf_counter(), Figures()
        try:
            with limit(LIMITS.get(name)):
                work(figures)
        except StoppedError:
            figures["stopped"] = f"stopped after {time.perf_counter() - start:.0f} s"
        except Exception as error:  # what else can be told is told
            figures["failed"] = _line(error)
        machine.free()
        found["parts"][name] = figures | {"took_seconds": time.perf_counter() - start}
        given.out.write_text(json.dumps(found, indent=1) + "\n")
        print(name, json.dumps(found["parts"][name]), flush=True)

    if given.weigh:
        part("weighing", lambda told: told.update(weighing(given.weigh)))
        return
    part("depth_bfloat16", lambda told: told.update(depth(machine, given.size, "bfloat16")))
    part("depth_float32", lambda told: told.update(depth(machine, given.size, "float32")))
    with tempfile.TemporaryDirectory() as folder:
        made: list[Models] = []
        part("models", lambda _: made.append(Models(Path(folder), given.size, machine)))
        part("reading", lambda told: told.update(reading(machine, made[0])))
        part("encoder", lambda told: told.update(encoder(machine, given.size)))
        part("generation", lambda told: told.update(generation(machine, made[0])))
        part("loading", lambda told: told.update(loading(machine, made[0])))
        part("relearning", lambda told: told.update(relearning(machine, made[0])))
        part("score", lambda told: score(machine, made[0], told))
    if given.page is not None:
        from gpu_page import page

        given.page.write_text(page(found))
    if short := [name for name, figures in found["parts"].items() if {"failed", "stopped"} & figures.keys()]:
        sys.exit(f"failed or stopped: {', '.join(short)}")


if __name__ == "__main__":
    main()
