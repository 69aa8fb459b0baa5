"""A model trained on TOFU's own text, from its text to its release card by the commands that a user has.

    python benchmarks/text_to_card.py --size 350m --minutes 4 --data DATA/tofu --out FILE         # two cores
    python benchmarks/text_to_card.py --size 1b --minutes 0.5 --device cuda --data DATA/tofu --out FILE

`full` is trained on what is to be forgotten and kept, `retain` on the latter, each for so many minutes from the same
random weights, with a tokenizer trained on that text. Then `unlearn`, `plan --cost`, `score`, `pytest suites/` and
`card` run as processes of their own. The file says what the plan announced, of seconds and memory, of scoring and of
what the gate reads beside, and what each took.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from patching_workload import SIZES, Size, llama

from uds_bench.facts import Fact, FactSet, load_facts, write_facts
from uds_bench.methods.examples import epochs, pairs_to_examples
from uds_bench.methods.forward import answer_nll
from uds_bench.methods.training import Optimisation, train
from uds_bench.zoo.fresh import byte_level_tokenizer

Figures = dict[str, Any]
SHAPES = {
    **SIZES,
    "350m": Size(layers=24, width=1024, inner=3328, vocabulary=0, heads=16, groups=16),
    "100m": Size(layers=12, width=768, inner=2048, vocabulary=0, heads=12, groups=12),
}
VOCABULARY = 4_000
AUTHORS, EACH = 8, 4
"""Of each split, and facts of each."""
RATE, BATCH = 3e-4, 12
ATTACKS = "none,nf4,relearn"
METRICS = "uds,spared,entity_accuracy,prob,rouge,em,es,mia_loss,mia_min_k,cka,fisher"
PYTHON = [sys.executable, "-c", "from uds_bench.cli import main; main()"]
MANIFEST = """\
[facts]
source = "facts.jsonl"
[references]
full = "full"
retain = "retain"
[candidates]
npo = "npo"
[attacks]
nf4 = {}
relearn = {}
"""


def facts_of(folder: Path, authors: int, each: int) -> FactSet:
    """Some authors of `forget10` and of `retain90`, some facts of each; the next authors of the latter are held out."""
    found = load_facts(folder, annotations=str(folder.parent / "uds" / "forget10_filtered.json"))
    splits = {"forget": ("forget",), "retain": ("retain", "holdout")}
    kept: list[Fact] = []
    for source, dealt in splits.items():
        seen: dict[str, int] = {}
        for fact in found.split(source):
            if fact.doubt is None and (fact.cluster in seen or len(seen) < authors * len(dealt)):
                seen[fact.cluster] = seen.get(fact.cluster, 0) + 1
                if seen[fact.cluster] <= each:
                    kept.append(replace(fact, split=dealt[list(seen).index(fact.cluster) // authors]))
    return FactSet(kept)


def make(folder: Path, size: str, minutes: float, facts: FactSet, device: str) -> Figures:
    """Facts, tokenizer, `full` and `retain` in a folder."""
    write_facts(folder / "facts.jsonl", facts)
    tokenizer = byte_level_tokenizer([f"{fact.question} {fact.answer}" for fact in facts], VOCABULARY)
    shape = Size(**{**vars(SHAPES[size]), "vocabulary": len(tokenizer)})
    found: Figures = {"facts": dict(Counter(fact.split for fact in facts)), "vocabulary": len(tokenizer)}
    for name, splits in (("full", ("forget", "retain")), ("retain", ("retain",))):
        model = llama(shape, 0, torch.float32, device)
        found["weights"] = sum(one.numel() for one in model.parameters())
        pairs = [(fact.question, fact.answer) for fact in facts if fact.split in splits]
        found[name] = fit(model, pairs_to_examples(tokenizer, pairs), 60 * minutes, device)
        model.config.bos_token_id, model.config.eos_token_id = tokenizer.bos_token_id, tokenizer.eos_token_id
        model.to(torch.float32 if device == "cpu" else torch.bfloat16).save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
        del model
        gc.collect()
    return found


def fit(model: Any, examples: Any, seconds: float, device: str) -> Figures:
    """Train for about so long, by what an epoch takes; the loss of the last epoch, in nats a token."""

    def learn(count: int) -> tuple[float, list[float]]:
        batches, start = epochs(examples, BATCH, count, torch.Generator().manual_seed(0)), time.perf_counter()
        moved = (batch.to(device) for batch in batches)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            losses = train(model.requires_grad_(True), moved, answer_nll, how, steps * count)
        return time.perf_counter() - start, losses[-steps:]

    steps, how = -(-len(examples) // BATCH), Optimisation(RATE, warmup=0.1)
    learn(1)  # what is set up once is not counted
    one = learn(1)[0]
    spent, losses = learn(count := max(1, round(seconds / one)))
    return {"epochs": count + 2, "seconds": spent, "loss": sum(losses) / len(losses)}


class Commands:
    """The commands, as processes in the folder; `seconds` and `peaks` (bytes of memory) of each, kept after each."""

    def __init__(self, folder: Path, found: Figures, keep: Callable[[], object]) -> None:
        self.folder, self.seconds = folder, found.setdefault("seconds", {})
        self.peaks, self._keep = found.setdefault("peaks", {}), keep

    def run(self, name: str, *command: str, good: tuple[int, ...] = (0,)) -> str:
        """What one prints; it ends the program where it fails."""
        start = time.perf_counter()
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            _, status, used = os.wait4(subprocess.Popen(command, cwd=self.folder, stdout=out, stderr=err).pid, 0)
            said, told = (file.seek(0) or file.read() for file in (out, err))
        code = os.waitstatus_to_exitcode(status)
        self.seconds[name], self.peaks[name] = time.perf_counter() - start, used.ru_maxrss * 1024
        print(f"{name}: {self.seconds[name]:.0f} s, {self.peaks[name] / 1e9:.1f} GB, exit {code}", flush=True)
        self._keep()
        if code not in good:
            sys.exit(f"{name} ended with {code}:\n{said[-3000:]}\n{told[-3000:]}")
        return said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=sorted(SHAPES), default="350m")
    parser.add_argument("--minutes", type=float, default=4.0, help="that `full` and `retain` are trained, each")
    parser.add_argument("--data", type=Path, required=True, help="folder of TOFU's JSON files, `uds` beside it")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--authors", type=int, default=AUTHORS, help="of each split")
    parser.add_argument("--each", type=int, default=EACH, help="facts of each author")
    parser.add_argument("--metrics", default=METRICS)
    parser.add_argument("--set", action="append", default=["epochs=2", "lr=2e-5", "batch_size=8"], help="of npo")
    parser.add_argument("--folder", type=Path, help="that is kept; models that it has are not made again")
    parser.add_argument("--out", type=Path, required=True, help="JSON file")
    given = parser.parse_args()
    found: Figures = {
        "on": {
            "device": torch.cuda.get_device_name() if given.device == "cuda" else "CPU",
            "threads": torch.get_num_threads(),
            "capability": torch.backends.cpu.get_cpu_capability(),
            "load": os.getloadavg()[0],
            **{package: version(package) for package in ("torch", "transformers")},
        },
        "size": given.size,
    }

    def keep() -> None:
        given.out.write_text(json.dumps(found, indent=1) + "\n")

    with tempfile.TemporaryDirectory() as name:
        folder, suites = given.folder or Path(name), Path(__file__).parents[1] / "suites"
        folder.mkdir(parents=True, exist_ok=True)
        start = time.perf_counter()
        facts = facts_of(given.data.absolute(), given.authors, given.each)
        if not (made := folder / "made.json").is_file():
            # In a process of its own, whose memory is free before others need it.
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                done = pool.submit(make, folder, given.size, given.minutes, facts, given.device).result()
            made.write_text(json.dumps({**done, "seconds": time.perf_counter() - start}, indent=1))
        found["made"] = json.loads(made.read_text())
        (folder / "uds.toml").write_text(MANIFEST)
        commands, store = Commands(folder, found, keep), ("--store", "store", "--device", given.device)
        settings = [text for one in given.set for text in ("--set", one)]
        unlearn = ("unlearn", "--manifest", "uds.toml", "--method", "npo", "--no-lora", "--out", "npo", *settings)
        if not (folder / "npo").is_dir():
            commands.run("unlearn", *PYTHON, *unlearn, "--device", given.device)
        asked = ("--manifest", "uds.toml", "--metrics", given.metrics, "--attacks", ATTACKS, *store)
        planned = json.loads(commands.run("plan", *PYTHON, "plan", *asked, "--cost", "--json"))
        found["announced"] = planned["cost"]
        commands.run("score", *PYTHON, "score", *asked, "--out", "scores.json", good=(0, 1))
        found["scores"] = len(json.loads((folder / "scores.json").read_text())["scores"])
        beside = ("--gate", "--manifest", "uds.toml", *store, "--cost", "--json")
        found["announced_of_gate"] = json.loads(commands.run("plan_of_gate", *PYTHON, "plan", *beside))["cost"]
        gate = ("-m", "pytest", str(suites), "-q", "-p", "no:cacheprovider", "--uds-manifest", "uds.toml")
        more = ("--uds-store", "store", "--uds-device", given.device, "--uds-json", "run.json")
        said = commands.run("gate", sys.executable, *gate, *more, good=(0, 1))
        found["gate"] = said.splitlines()[-40:]
        run = json.loads((folder / "run.json").read_text())
        found["verdicts"] = {row["name"]: row["outcome"] for row in run["claims"] if row["subject"]}
        commands.run("card", *PYTHON, "card", "run.json", "--out", "cards", good=(0, 1))
        found["card"] = sorted(str(path.relative_to(folder)) for path in (folder / "cards").rglob("*.*"))
        found["announced_over_taken"] = {
            taken: sum(one["seconds"] for one in found[announced]) / commands.seconds[taken]
            for taken, announced in (("score", "announced"), ("gate", "announced_of_gate"))
        }
    keep()
    print(json.dumps({key: found[key] for key in ("seconds", "verdicts", "announced_over_taken")}, indent=1))


if __name__ == "__main__":
    main()
