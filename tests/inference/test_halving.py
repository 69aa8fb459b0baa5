"""Too little memory for a batch: it is halved until it fits, and what comes out is the same.

The models are real; a hook before each forward pass refuses more rows than a small device would hold.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from audit_samples import write_bypass
from families import FAMILIES, save_checkpoint, tiny_tokenizer

from uds_bench.audits.association.evaluator import AssociationEvaluator
from uds_bench.audits.association.people_runner import PeopleRunner
from uds_bench.audits.association.probe_items import ask_about
from uds_bench.audits.bypass.audit import BypassRunner
from uds_bench.audits.bypass.evaluator import BypassEvaluator
from uds_bench.audits.bypass.section import ReplySettings
from uds_bench.checkpoints import Checkpoint, CheckpointSpec, load
from uds_bench.device import at_a_time, batches
from uds_bench.errors import CheckpointError, ConfigurationError, UdsError
from uds_bench.facts import embedded, encode_answer, encode_question
from uds_bench.facts import properties as known
from uds_bench.facts.canaries import read_canaries
from uds_bench.facts.exposed_people import embedded_people
from uds_bench.inference.answers import score_answers
from uds_bench.inference.batches import halved
from uds_bench.inference.generation import continue_greedily
from uds_bench.inference.sentences import nll_apart, sentence_nll
from uds_bench.scoring.metric_runner import MetricRunner
from uds_bench.scoring.runner import ScoreRequest
from uds_bench.scoring.store import Store

FACTS = embedded(forget=3, retain=2, holdout=0)
METRICS = ("uds", "prob", "cka", "rouge")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place, tokenizer = tmp_path_factory.mktemp("models"), tiny_tokenizer()
    for seed, name in enumerate(("full", "retain", "npo")):
        save_checkpoint(place / name, FAMILIES["llama"](len(tokenizer), seed=seed), tokenizer)
    return place


@pytest.fixture
def model(folder: Path) -> Checkpoint:
    return load(CheckpointSpec(str(folder / "npo")))


GPU = torch.OutOfMemoryError("out of memory. Tried to allocate")
CPU = RuntimeError(
    "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
    "you tried to allocate 307200000 bytes. Error code 12 (Cannot allocate memory)"
)


@contextmanager
def room_for(rows: int, error: Exception = GPU) -> Iterator[list[int]]:
    """Every block of every model refuses more rows; the sizes that were tried are listed."""
    tried: list[int] = []

    def refuse(module: Any, args: tuple[Any, ...]) -> None:
        if not type(module).__name__.endswith("DecoderLayer"):
            return
        tried.append(len(args[0]))
        if len(args[0]) > rows:
            raise error

    handle = torch.nn.modules.module.register_module_forward_pre_hook(refuse)
    try:
        yield tried
    finally:
        handle.remove()


def answers(model: Checkpoint) -> list[Any]:
    return [encode_answer(model.tokenizer, fact.question, fact.answer) for fact in FACTS]


@pytest.mark.parametrize("error", [GPU, CPU, MemoryError()], ids=["gpu", "cpu", "python"])
def test_answers_sentences_and_replies_are_those_of_any_room(model: Checkpoint, error: Exception) -> None:
    prompts = [encode_question(model.tokenizer, fact.question) for fact in FACTS]
    sentences = [one.ids for one in answers(model)]

    def read() -> tuple[Any, ...]:
        scored = score_answers(model, answers(model))
        return (
            np.concatenate([one.logp for one in scored]),
            continue_greedily(model, prompts, 12),
            nll_apart(model, sentences),
        )

    logp, said, nll = read()
    with room_for(3, error) as tried:
        short_logp, short_said, short_nll = read()
    assert max(tried) > 3 >= min(tried)
    np.testing.assert_allclose(short_logp, logp, atol=1e-5)
    np.testing.assert_allclose(short_nll, nll, atol=1e-4)
    assert short_said == said


def test_a_tree_that_is_too_large_is_told(model: Checkpoint) -> None:
    sentences = [one.ids for one in answers(model)]
    with halved() as few:
        nll = sentence_nll(model, sentences)
    assert few == {}
    with halved() as few, room_for(1):
        short = sentence_nll(model, sentences)
    assert few["shared beginnings"] == 0
    np.testing.assert_allclose(short, nll, atol=1e-4)


def scored(folder: Path, store: Path) -> tuple[list[Any], list[Any]]:
    """The scores of a model, and where each is stored."""
    specs = {name: CheckpointSpec(str(folder / name)) for name in ("full", "retain", "npo")}
    runner, plan = MetricRunner(specs, FACTS, Store(store)), [ScoreRequest("npo", metric) for metric in METRICS]
    return [runner.score(one, plan) for one in plan], [runner.cell(one) for one in plan]


@pytest.fixture(scope="module")
def plain(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Any], list[Any]]:
    """As it is scored where there is room."""
    return scored(folder, tmp_path_factory.mktemp("plain"))


def alike(found: list[Any], plain: list[Any], most: int) -> None:
    assert found[0].provenance["batches"] == f"right padding, at most {most} facts of like length"
    for one, other in zip(found, plain, strict=True):
        assert one.value == pytest.approx(other.value, abs=1e-5), one.metric


def test_scores_are_those_of_any_room_and_say_so(folder: Path, tmp_path: Path, plain: Any) -> None:
    with room_for(4):
        short, _ = scored(folder, tmp_path)
    alike(plain[0], plain[0], 16)
    alike(short, plain[0], 4)
    assert not any("halved" in one.provenance for one in plain[0])
    told = {one.metric: one.provenance.get("halved") for one in short}
    # Facts go on as few at a time, so that later scores need not halve them, and `batches` says it of each.
    assert told == {"uds": {"facts": 4}, "prob": None, "cka": None, "rouge": {"prompts": 4}}


def test_scores_of_audits_say_so_too(folder: Path, tmp_path: Path) -> None:
    write_bypass(tmp_path)
    bypass = BypassEvaluator(read_canaries(tmp_path / "canaries.jsonl"), ReplySettings(24, samples=1))
    first = ask_about(embedded_people()[:1], known.embedded(), None)[0]
    few = replace(first.candidates, others=first.candidates.others[:3])
    asked = (replace(first, names=first.names[:2], candidates=few),)
    named = AssociationEvaluator(asked, asking=None)
    specs, request = {"npo": CheckpointSpec(str(folder / "npo"))}, ScoreRequest("npo")

    def found(place: Path) -> list[Any]:
        store = Store(place)
        apart = PeopleRunner(specs, named, [asked], store, "cpu", {})
        return [runner.score(request) for runner in (BypassRunner(specs, bypass, store), apart)]

    plain = found(tmp_path / "plain")
    with room_for(2):
        short = found(tmp_path / "short")
    assert not any("halved" in one.provenance for one in plain)
    said, of_people = (one.provenance["halved"] for one in short)
    assert said["prompts"] == 2
    assert of_people["shared beginnings"] == 0, "what is found of each group is part of what is found of all"
    for one, other in zip(short, plain, strict=True):
        assert [fact.value for fact in one.per_fact] == pytest.approx([fact.value for fact in other.per_fact], abs=1e-5)


@pytest.mark.parametrize("size", [3, 64])
def test_fewer_or_more_at_a_time_are_the_same_scores_at_the_same_place(
    folder: Path, tmp_path: Path, plain: Any, size: int
) -> None:
    with batches(str(size), "--batch-size"):
        found, cells = scored(folder, tmp_path)
    assert cells == plain[1]
    alike(found, plain[0], size)
    assert at_a_time(16) == 16


def test_no_more_than_asked_for_go_through_at_a_time(model: Checkpoint) -> None:
    prompts = [encode_question(model.tokenizer, fact.question) for fact in FACTS]
    with batches("2", "--batch-size"), room_for(len(FACTS)) as tried:
        continue_greedily(model, prompts, 4)
    assert max(tried) == 2


def test_what_is_no_batch_size_is_a_line() -> None:
    with pytest.raises(ConfigurationError, match="--batch-size: '-1' is no batch size"), batches("-1", "--batch-size"):
        pass


def test_one_of_the_environment_is_looked_at_before_a_model_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UDS_BENCH_BATCH_SIZE", "abc")
    with pytest.raises(ConfigurationError, match="UDS_BENCH_BATCH_SIZE: 'abc' is no batch size"), batches("", "-b"):
        pass


@pytest.mark.parametrize(
    ("error", "said"),
    [(GPU, "out of memory"), (CPU, "tried to allocate 307200000 bytes"), (MemoryError(), "out of memory")],
    ids=["gpu", "cpu", "python"],
)
def test_one_that_does_not_fit_is_a_line(model: Checkpoint, error: Exception, said: str) -> None:
    told = rf"too little memory for one at a time of answers \({said}\): use a device with more"
    with room_for(0, error), pytest.raises(CheckpointError, match=told):
        score_answers(model, answers(model))


def test_what_fails_otherwise_is_not_tried_again(model: Checkpoint) -> None:
    with room_for(0, RuntimeError("shapes do not match")) as tried, pytest.raises(RuntimeError, match="shapes"):
        score_answers(model, answers(model))
    assert len(tried) == 1


def test_a_model_that_does_not_fit_is_a_line(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*given: object) -> None:
        raise CPU

    monkeypatch.setattr("uds_bench.scoring.runner.load", load)
    runner = MetricRunner({"npo": CheckpointSpec(str(folder / "npo"))}, FACTS, Store(tmp_path))
    told = r"npo: the device has too little memory \(tried to allocate 307200000 bytes\): use a device with more"
    with pytest.raises(UdsError, match=told):
        runner.score(ScoreRequest("npo", "em"))


LIMITED = """
import resource, torch
from uds_bench.inference.batches import halving
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + 2**30, -1))
print(halving(lambda rows: len(torch.empty(rows, 2**28, dtype=torch.uint8)), 64))
halving(lambda rows: torch.empty(rows, 2**31, dtype=torch.uint8), 4)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a process has such a limit on Linux alone")
def test_a_process_with_a_limit_halves_on_its_processor() -> None:
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True)
    assert int(done.stdout) in (1, 2, 4)
    assert done.stderr.splitlines()[-1] == (
        "uds_bench.errors.CheckpointError: the device has too little memory for one at a time of facts "
        "(tried to allocate 2147483648 bytes): "
        "use a device with more, fewer bits (dtype, quantization), or shorter texts"
    )
