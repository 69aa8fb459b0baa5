"""Benchmarks asked through lm-evaluation-harness: each document beside a loop over single tokens, and its own sums."""

from __future__ import annotations

import pickle
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from families import FAMILIES, in_memory, tiny_tokenizer
from references import multiple_choice as by_hand
from task_files import documents, write_group, write_task

from uds_bench.audits.localization import tasks, utility
from uds_bench.audits.localization.benchmarks import BenchmarkEvaluator
from uds_bench.errors import ConfigurationError, ExtraError, UdsError
from uds_bench.metrics.metric import Measured
from uds_bench.scores import Score, summarise


def loaded(family: str = "llama", seed: int = 0, tokenizer: Any = None) -> Any:
    """A checkpoint as far as benchmarks need it."""
    return in_memory(FAMILIES[family](seed=seed), tokenizer or tiny_tokenizer(), f"tiny {family}")


def right_by_hand(checkpoint: Any, document: dict[str, Any]) -> tuple[int, int]:
    """Whether the likeliest choice is right, and the likeliest for its number of characters."""

    def expected(ids: Any) -> list[float]:
        logits: list[float] = checkpoint.model(torch.tensor([list(ids)])).logits[0, -1].double().tolist()
        return logits

    question = f"{document['question']}\nAnswer:"
    encode = checkpoint.tokenizer.encode
    told = [by_hand.log_likelihood(expected, encode(question), encode(f"{question} {c}")) for c in document["choices"]]
    normed = [one / len(choice) for one, choice in zip(told, document["choices"], strict=True)]
    return tuple(int(by_hand.chosen(one) == document["right"]) for one in (told, normed))


def scored(evaluator: BenchmarkEvaluator, found: Measured) -> Score:
    return summarise(
        evaluator.measure, found, evaluator.units, checkpoint="m", attack="none", variant="default", provenance={}
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two tasks, and a group of both."""
    write_task(tmp_path / "tasks", "mine", documents(30))
    write_task(tmp_path / "tasks", "yours", documents(12, seed=1))
    write_group(tmp_path / "tasks", "ours", ["mine", "yours"])
    return tmp_path / "tasks"


@pytest.mark.parametrize("family", ["llama", "qwen2", "gemma2", "gpt_neox"])
def test_each_document_is_answered_as_by_a_loop_over_single_tokens(folder: Path, family: str) -> None:
    checkpoint, listed = loaded(family, seed=2), documents(16, uneven=True)
    write_task(folder, "uneven", listed)
    found = BenchmarkEvaluator(("uneven",), None, folder).evaluate(checkpoint)
    expected = [right_by_hand(checkpoint, one) for one in listed]
    assert [(one.value, one.detail["acc_norm"]) for one in found.values] == expected
    assert 0 < sum(right for right, _ in expected) < 16, "else nothing would be told apart"
    assert expected != [(right, right) for right, _ in expected], "nor acc from acc_norm"
    assert [one.detail["choices"] for one in found.values] == [len(one["choices"]) for one in listed]
    assert [one.detail["chance"] for one in found.values] == [1 / len(one["choices"]) for one in listed]


def test_shares_are_those_of_the_package_itself(folder: Path) -> None:
    from lm_eval import simple_evaluate
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    checkpoint = loaded(seed=2)
    found = BenchmarkEvaluator(("mine", "yours"), None, folder).evaluate(checkpoint)
    theirs = simple_evaluate(
        model=HFLM(checkpoint.model, tokenizer=tiny_tokenizer(), batch_size=1),
        tasks=["mine", "yours"],
        task_manager=TaskManager(include_path=folder, include_defaults=False),
        bootstrap_iters=0,
    )["results"]
    for task in ("mine", "yours"):
        own = [one for one in found.values if one.id.startswith(f"{task}/")]
        assert np.mean([one.value for one in own]) == pytest.approx(theirs[task]["acc,none"], abs=1e-12)
        assert np.mean([one.detail["acc_norm"] for one in own]) == pytest.approx(theirs[task]["acc_norm,none"])
    assert found.summary is not None
    assert found.summary.value == pytest.approx((theirs["mine"]["acc,none"] + theirs["yours"]["acc,none"]) / 2)


def test_wmdp_is_asked_as_the_package_asks_it(tmp_path: Path) -> None:
    """Its own template, over documents on this machine: the data set is gated, and nothing is downloaded here."""
    import lm_eval
    from lm_eval import simple_evaluate
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    draw = random.Random(0)
    listed = [
        {"question": f" What is {at}? ", "choices": [str(draw.randrange(99)) for _ in range(4)], "answer": at * 7 % 4}
        for at in range(24)
    ]
    template = Path(lm_eval.__file__).parent / "tasks" / "wmdp" / "_default_template_yaml"
    left = dict.fromkeys(("doc_to_text", "doc_to_choice", "doc_to_target", "metric_list", "output_type"))
    write_task(tmp_path / "tasks", "wmdp_mine", listed, include=str(template), **left)
    checkpoint = loaded(seed=2)
    found = BenchmarkEvaluator(("wmdp_mine",), None, tmp_path / "tasks").evaluate(checkpoint)
    theirs = simple_evaluate(
        model=HFLM(checkpoint.model, tokenizer=tiny_tokenizer(), batch_size=1),
        tasks=["wmdp_mine"],
        task_manager=TaskManager(include_path=tmp_path / "tasks", include_defaults=False),
        bootstrap_iters=0,
    )["results"]["wmdp_mine"]["acc,none"]
    assert [one.detail["choices"] for one in found.values] == [4] * 24
    assert np.mean([one.value for one in found.values]) == pytest.approx(theirs, abs=1e-12)
    assert 0 < theirs < 1, "else any reading would agree"


def test_documents_of_a_group_count_under_its_name(folder: Path) -> None:
    evaluator = BenchmarkEvaluator(("ours",), None, folder)
    score = scored(evaluator, evaluator.evaluate(loaded()))
    assert {fact.kind for fact in score.per_fact} == {"ours"}
    assert [fact.id for fact in score.per_fact] == [f"mine/{i}" for i in range(30)] + [f"yours/{i}" for i in range(12)]
    answers = utility.answers_of(score)
    assert {task: len(listed) for task, listed in answers.items()} == {"ours": 42}
    assert score.value == utility.accuracy(answers).value == np.mean([fact.value for fact in score.per_fact])


def test_a_limit_is_of_each_task_and_one_may_have_fewer(folder: Path) -> None:
    evaluator = BenchmarkEvaluator(("ours",), 20, folder)
    score = scored(evaluator, evaluator.evaluate(loaded()))
    assert [fact.id for fact in score.per_fact] == [f"mine/{i}" for i in range(20)] + [f"yours/{i}" for i in range(12)]
    assert score.reasons == {}
    whole = BenchmarkEvaluator(("ours",), None, folder).evaluate(loaded())
    by_id = {one.id: one.value for one in whole.values}
    assert {fact.id: fact.value for fact in score.per_fact}.items() <= by_id.items()


def test_examples_before_a_question_are_drawn_the_same_each_time(tmp_path: Path) -> None:
    data = {"fewshot_split": "test", "num_fewshot": 2}
    write_task(tmp_path / "tasks", "shown", documents(10), **data)
    evaluator = BenchmarkEvaluator(("shown",), None, tmp_path / "tasks")
    first, again = evaluator.evaluate(loaded()), evaluator.evaluate(loaded())
    assert first == again
    other = BenchmarkEvaluator(("shown",), None, tmp_path / "tasks").evaluate(loaded(seed=1))
    assert other.notes == first.notes, "other weights are asked the same"
    write_task(tmp_path / "tasks", "shown", documents(10), **data | {"num_fewshot": 1})
    fewer = BenchmarkEvaluator(("shown",), None, tmp_path / "tasks").evaluate(loaded())
    assert fewer.notes != first.notes


@pytest.mark.parametrize("family", ["llama", "qwen2", "gemma3_multimodal"])
def test_model_tokenizer_and_random_numbers_are_left_as_they_were(folder: Path, family: str) -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.pad_token = None
    tokenizer.padding_side = "left"
    checkpoint = loaded(family, tokenizer=tokenizer)
    before = {name: one.clone() for name, one in checkpoint.model.state_dict().items()}
    pointers = [one.data_ptr() for one in checkpoint.model.parameters()]
    drawn, numbers, torch_state = random.getstate(), np.random.get_state(), torch.get_rng_state()
    BenchmarkEvaluator(("yours",), None, folder).evaluate(checkpoint)
    after = checkpoint.model.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(one, after[name]) for name, one in before.items())
    assert pointers == [one.data_ptr() for one in checkpoint.model.parameters()]
    assert not checkpoint.model.training
    assert not any(one.requires_grad for one in checkpoint.model.parameters())
    assert (tokenizer.pad_token, tokenizer.padding_side) == (None, "left")
    assert random.getstate() == drawn
    assert all(np.array_equal(one, other) for one, other in zip(np.random.get_state(), numbers, strict=True))
    assert torch.equal(torch.get_rng_state(), torch_state)


def test_a_model_whose_numbers_overflow_answers_nothing(folder: Path) -> None:
    """The first of choices without a number is no answer, though it is what a search for the largest gives."""
    checkpoint = loaded()
    checkpoint.model.lm_head.weight.mul_(1e38)
    evaluator = BenchmarkEvaluator(("mine", "yours"), None, folder)
    score = scored(evaluator, evaluator.evaluate(checkpoint))
    assert [fact.value for fact in score.per_fact] == [None] * 42
    assert score.reasons == {"the log-likelihood of a choice is not finite": 42}
    assert score.value is None
    sound = utility.answers_of(scored(evaluator, evaluator.evaluate(loaded())))
    assert np.isnan(utility.change(sound, utility.answers_of(score)).value)


def test_it_can_be_sent_to_another_process_after_its_documents_were_loaded(folder: Path) -> None:
    evaluator = BenchmarkEvaluator(("mine",), 3, folder)
    assert len(evaluator.units) == 3
    sent = pickle.loads(pickle.dumps(evaluator))
    assert sent == evaluator
    assert (sent.digest, sent.units) == (evaluator.digest, evaluator.units)


def test_the_digest_names_all_that_is_asked(folder: Path, tmp_path: Path) -> None:
    def of(names: tuple[str, ...] = ("mine",), limit: int | None = None, at: Path = folder) -> str:
        return BenchmarkEvaluator(names, limit, at).digest

    found = {of(), of(limit=5), of(("yours",)), of(("mine", "yours"))}
    assert len(found) == 4
    assert of(at=shutil.copytree(folder, tmp_path / "moved")) == of()
    (folder / "mine.yaml").write_text((folder / "mine.yaml").read_text() + "description: ' '\n")
    changed = of()
    write_task(tmp_path / "elsewhere", "mine", documents(30, seed=3))  # the documents lie beside both folders
    assert len({of(), changed, *found}) == 6


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"output_type": "generate_until", "doc_to_choice": None, "metric_list": [{"metric": "exact_match"}]},
            r"tasks = 'odd': odd has output_type generate_until, .*: name tasks of output_type multiple_choice",
        ),
        ({"metric_list": [{"metric": "acc_norm"}]}, r"tasks = 'odd': odd has no acc among its metrics, .*: name tasks"),
    ],
)
def test_a_task_that_does_not_choose_among_answers_is_refused(folder: Path, changes: dict[str, Any], told: str) -> None:
    write_task(folder, "odd", documents(4), **changes)
    for refuse in (tasks.catalogue, tasks.load):
        with pytest.raises(ConfigurationError, match=told):
            refuse(["mine", "odd"], folder)
    write_group(folder, "both", ["mine", "odd"])
    with pytest.raises(ConfigurationError, match="tasks = 'both': odd has "):
        tasks.catalogue(["both"], folder)


def test_a_task_of_part_marks_is_refused(folder: Path) -> None:
    (folder / "marks.py").write_text("def half(doc, results):\n    return {'acc': 0.5}\n")
    path = write_task(folder, "partly", documents(4), metric_list=[{"metric": "acc", "aggregation": "mean"}])
    path.write_text(path.read_text() + "process_results: !function marks.half\n")
    with pytest.raises(ConfigurationError, match=r"partly/0 is answered rightly by 0\.5: name tasks whose documents"):
        BenchmarkEvaluator(("partly",), None, folder).evaluate(loaded())


def test_a_task_that_fails_is_one_line(folder: Path) -> None:
    write_task(folder, "odd", [*documents(3), {"question": "?", "choices": [], "right": 0}])
    with pytest.raises(UdsError, match=r"^lm-evaluation-harness failed on tiny llama \(.*: see what the tasks need"):
        BenchmarkEvaluator(("odd",), None, folder).evaluate(loaded())


def test_a_document_may_have_several_right_answers(folder: Path) -> None:
    listed = [one | {"right": [0, 1]} for one in documents(8)]
    write_task(folder, "several", listed)
    found = BenchmarkEvaluator(("several",), None, folder).evaluate(loaded())
    assert [one.detail["chance"] for one in found.values] == [2 / len(one["choices"]) for one in listed]


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_name_that_is_no_task_is_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch, whole: bool) -> None:
    """Held against what the package has; reading all of its fourteen thousand files takes ten seconds."""
    if not whole:
        monkeypatch.setattr("lm_eval.tasks.TaskManager", of_a_shelf())
    write_group(folder, "lacking", ["mine", "hellaswagg"])
    with pytest.raises(ConfigurationError, match=r"^tasks = 'lacking' names 'hellaswagg', which is no .*'hella"):
        tasks.catalogue(["mine", "lacking"], folder)


def of_a_shelf() -> Any:
    """The package's TaskManager, to which one of its folders is all there is."""
    from lm_eval import tasks as package

    class Shelf(package.TaskManager):
        def __init__(self, include_path: list[Path], include_defaults: bool = True) -> None:
            shelf = [Path(package.__file__).parent / "hellaswag"] if include_defaults else []
            super().__init__(include_path=[*shelf, *include_path], include_defaults=False)

    return Shelf


def test_a_document_counts_once(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"tasks = 'yours' and 'ours' both hold yours: keep one of them"):
        tasks.catalogue(["ours", "yours"], folder)


def test_documents_that_cannot_be_had_are_one_line(folder: Path) -> None:
    (folder.parent / "mine.json").unlink()
    tasks.catalogue(["mine"], folder)
    with pytest.raises(ConfigurationError, match=r"^tasks = 'mine': its documents cannot be loaded \(FileNot.*: see"):
        tasks.load(["mine"], folder)


def test_the_tasks_of_lacuna_are_known_without_reading_every_file() -> None:
    tasks.catalogue(["arc_challenge", "arc_easy", "hellaswag", "mmlu"])


def test_without_the_package_the_line_says_how_to_install_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lm_eval", None)
    with pytest.raises(ExtraError, match=r"needs lm_eval, which is missing: pip install 'uds-bench\[lm-eval\]'$"):
        tasks.catalogue(["mine"], folder)
