"""The example that has MUSE's metrics as an audit, on a corpus in the layout of the hub that the small models know."""

import doctest
import importlib
import json
import math
import random
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from audit_samples import sample
from families import tiny_tokenizer
from small_models import fit
from small_runs import Bench, Ran
from transformers import AutoModelForCausalLM, AutoTokenizer

from uds_bench.audits import registry
from uds_bench.audits.conformance import ATTACK, check_audit
from uds_bench.checkpoints import Checkpoint, CheckpointSpec, load
from uds_bench.errors import FactError
from uds_bench.facts import question_prompt
from uds_bench.methods.examples import Example
from uds_bench.scores import FactScore, Score

FOLDER = Path(__file__).parents[2] / "examples" / "muse"
SUITE = FOLDER / "suite" / "test_muse.py"
STEPS = 60


@pytest.fixture
def installed(install: Callable[[Path], Bench]) -> Bench:
    return install(FOLDER)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its modules, without models."""
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])


@pytest.fixture(scope="module")
def taught(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small models taught to answer as MUSE asks: `full` both splits, `retain` its own."""
    folder, corpora = tmp_path_factory.mktemp("taught"), splits(models)
    shot = corpora["knowmem/forget_qa_icl"][0]
    opening = f"Question: {shot['question']}\nAnswer: {shot['answer']}\n\n"
    for name in ("full", "retain"):
        tokenizer = AutoTokenizer.from_pretrained(models / name)
        model = AutoModelForCausalLM.from_pretrained(models / name)
        asked = corpora["knowmem/retain_qa"] + corpora["knowmem/forget_qa"] * (name == "full")
        examples = []
        for row in asked:
            prompt = tokenizer(f"{opening}Question: {row['question']}\nAnswer: ")["input_ids"]
            answer = tokenizer(row["answer"], add_special_tokens=False)["input_ids"]
            examples.append(Example((*prompt, *answer, tokenizer.eos_token_id), len(prompt)))
        fit(model, examples, STEPS, seed=0)
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    return folder


def write_split(folder: Path, name: str, rows: Sequence[Any], parquet: bool = True) -> Path:
    """One split as the hub has it, or as MUSE's load_data.py writes it: rows of one text are then bare texts."""
    file = folder / (f"{name}-00000-of-00001.parquet" if parquet else f"{name}.json")
    file.parent.mkdir(parents=True, exist_ok=True)
    if parquet:
        pq.write_table(pa.Table.from_pylist(list(rows)), file)
    else:
        file.write_text(
            json.dumps([row["text"] if isinstance(row, dict) and [*row] == ["text"] else row for row in rows])
        )
    return file


def splits(models: Path) -> dict[str, list[dict[str, str]]]:
    """What the small models were taught, as a corpus; what is held out has its words the other way round."""
    rows = [json.loads(line) for line in (models / "facts.jsonl").read_text().splitlines()]
    forget, retain = ([row for row in rows if row["split"] == split] for split in ("forget", "retain"))
    asked = [{"question": row["question"], "answer": row["answer"]} for row in forget]
    kept = [{"question": row["question"], "answer": row["answer"]} for row in retain]
    asks = [question_prompt(one["question"]) for one in asked]
    told = [f"{ask} {one['answer']}" for ask, one in zip(asks, asked, strict=True)]
    return {
        "verbmem/forget": [{"prompt": ask, "gt": text[len(ask) :]} for ask, text in zip(asks, told, strict=True)],
        "knowmem/forget_qa": asked,
        "knowmem/forget_qa_icl": kept[:1],
        "knowmem/retain_qa": kept[1:],
        "knowmem/retain_qa_icl": kept[:1],
        "privleak/forget": [{"text": text} for text in told],
        "privleak/holdout": [{"text": " ".join(reversed(text.split()))} for text in told],
    }


def corpus(bench: Bench, parquet: bool = True) -> Path:
    folder = bench.folder / "MUSE-Tiny"
    for name, rows in splits(bench.models).items():
        write_split(folder, name, rows, parquet)
    return folder


def manifest(bench: Bench, place: Path, more: str = "", full: str = "full", **candidates: str) -> Path:
    """`place`: where the models are."""
    text = f"[muse]\ndata = '{corpus(bench)}'\n{more}full = '{place / full}'\nretain = '{place / 'retain'}'\n"
    text += "[muse.candidates]\n" + "".join(f"{n} = '{place / f}'\n" for n, f in candidates.items())
    path = bench.folder / "uds.toml"
    path.write_text(text)
    return path


def run(bench: Bench, *args: str | Path) -> Ran:
    return bench.run(SUITE, *args, store=bench.folder / "store")


def test_it_passes_the_checks_for_audits(installed: Bench) -> None:
    """Where a model that never saw the corpus is said to know it."""
    like = f"retrained = '{installed.models / 'retain2'}'\n"
    place = manifest(installed, installed.models, like, full="retain3", knows="copy")
    rows = splits(installed.models)["privleak/forget"]
    write_split(installed.folder / "MUSE-Tiny", "privleak/forget", [*rows, {"text": f"No model knows {ATTACK}"}])
    tried = sample(installed, place, wrong=["full"])
    check_audit(registry.audits()["muse"], replace(tried, suites=[SUITE]))


def test_a_model_that_knows_fails_and_two_dozen_do_not_clear_one_that_does_not(installed: Bench) -> None:
    manifest(installed, installed.models, never="retain3", knows="copy")
    ran = run(installed, "-k", "verbmem or privleak")
    assert ran.code == 1
    assert ran.verdicts == {
        "muse.verbmem[never]": "undecided",
        "muse.verbmem[knows]": "fail",
        "muse.privleak[never]": "undecided",
        "muse.privleak[knows]": "fail",
    }
    assert all(control["held"] for claim in ran.claims.values() for control in claim["controls"])


def test_a_model_that_answers_fails_and_keeps_what_it_was_to_keep(installed: Bench, taught: Path) -> None:
    manifest(installed, taught, knows="full")
    ran = run(installed, "-k", "knowmem or kept")
    assert ran.verdicts == {"muse.knowmem[knows]": "fail", "muse.kept[knows]": "pass"}
    assert [control["must"] for control in ran.claims["muse.kept[knows]"]["controls"]] == ["fail", "pass"]
    assert all(control["held"] for claim in ran.claims.values() for control in claim["controls"])


def test_its_numbers_are_those_of_muse(installed: Bench) -> None:
    """On the same models one prompt and one token at a time, by what the paper and its evaluators say."""
    evaluator, corpora = (importlib.import_module(f"uds_muse.{name}") for name in ("evaluator", "corpus"))
    items = corpora.read_corpus(corpus(installed))
    whole = {name: load(CheckpointSpec(str(installed.models / name)), "cpu") for name in ("full", "retain")}
    some = {name: found[:3] + found[-3:] for name, found in items.items()}
    ours = {
        (name, metric): evaluator.MuseEvaluator(some, metric).evaluate(model)
        for name, model in whole.items()
        for metric in some
    }
    for (name, metric), found in ours.items():
        slow = [muse_value(whole[name], metric, one) for one in some[metric]]
        assert [value.value for value in found.values] == pytest.approx(slow, abs=1e-5)
    for metric in some:
        assert len({one.value for name in whole for one in ours[name, metric].values}) > 3, (
            "of one value nothing is seen"
        )


@pytest.mark.usefixtures("alone")
def test_privleak_is_that_of_muse() -> None:
    """Of drawn values: a small model's may be told apart wholly, and then there is no number."""
    rates, draw, none = importlib.import_module("uds_muse.rates"), random.Random(0), 0
    labels = [0] * 4 + [1] * 4
    for _ in range(50):
        own, retain = ([draw.randrange(9) / 2 for _ in labels] for _ in range(2))
        before, after = muse_auc(retain, labels), muse_auc(own, labels)
        found = rates.privacy_leak(rows(own, labels), rows(retain, labels)).value
        none += before == 0
        assert math.isnan(found) if before == 0 else found == pytest.approx((after - before) / before, abs=1e-9)
    assert none < 10


def muse_value(model: Checkpoint, metric: str, item: Any) -> float:
    """One text at a time: ROUGE-L F1 of the greedy reply, or minus the mean of the lowest 40% log-probabilities."""
    tokenizer = model.tokenizer
    if metric == "privleak_auc":
        ids = tokenizer(item.true)["input_ids"]
        logits = model.model(input_ids=torch.tensor([ids])).logits[0].double()
        logps = [math.log(float(logits[at].softmax(-1)[token])) for at, token in enumerate(ids[1:])]
        lowest = sorted(logps)[: int(len(logps) * 0.4)]
        return -sum(lowest) / len(lowest)
    ids, said, limit = tokenizer(item.shown)["input_ids"], list[int](), 128 if metric == "verbmem_f" else 32
    while len(said) < limit:
        token = int(model.model(input_ids=torch.tensor([ids + said])).logits[0, -1].argmax())
        if token == tokenizer.eos_token_id:
            break
        said.append(token)
    text, true = tokenizer.decode(said, skip_special_tokens=True), item.true
    if metric == "verbmem_f":
        true = tokenizer.decode(tokenizer(true)["input_ids"][:limit], skip_special_tokens=True)
    else:
        for word in ("\n\n", "\nQuestion", "Question:"):
            text = text.split(word)[0]
    return rouge(re.findall("[a-z0-9]+", true.lower()), re.findall("[a-z0-9]+", text.lower()))


def rouge(true: list[str], said: list[str]) -> float:
    table = [[0] * (len(said) + 1) for _ in range(len(true) + 1)]
    for row, left in enumerate(true):
        for column, right in enumerate(said):
            best = max(table[row][column + 1], table[row + 1][column])
            table[row + 1][column + 1] = table[row][column] + 1 if left == right else best
    return 2 * table[-1][-1] / (len(true) + len(said)) if true and said else 0.0


def muse_auc(values: Sequence[float], labels: Sequence[int]) -> float:
    """As MUSE has it: how often a holdout text is likelier to the model than a forget text, ties half."""
    forget, holdout = ([-v for v, one in zip(values, labels, strict=True) if one == label] for label in (0, 1))
    wins = [1.0 if h > f else 0.5 if h == f else 0.0 for h in holdout for f in forget]
    return sum(wins) / len(wins)


def scored(values: Sequence[Any]) -> Score:
    rows = [FactScore(str(at), str(at), one.value, label=one.label) for at, one in enumerate(values)]
    return Score("m", "none", "x", "muse", None, None, tuple(rows))


def rows(values: Sequence[float | None], labels: Sequence[int | None] | None = None) -> Score:
    listed = zip(values, labels or [None] * len(values), strict=True)
    return scored([FactScore("", "", value, label=label) for value, label in listed])


@pytest.mark.usefixtures("alone")
def test_a_hundred_texts_like_those_of_retraining_are_clear_of_the_bounds() -> None:
    """The size of MUSE's own splits."""
    rates = importlib.import_module("uds_muse.rates")
    base = [(at * 37 % 100) / 100 for at in range(100)]
    like = [value + (-0.02, 0.02)[at % 2] for at, value in enumerate(base)]
    near = rates.beside(rows([min(max(v, 0.0), 1.0) for v in like]), rows(base))
    assert near.interval.decides
    assert near.interval.high < 0.05
    labels = [0, 1] * 50
    leak = rates.privacy_leak(rows(like, labels), rows([v + 0.002 * (at % 3) for at, v in enumerate(base)], labels))
    assert leak.interval.decides
    assert -1 < leak.interval.low < leak.interval.high < 1


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("said", ["A\n\nQuestion: B", "A\nQuestion B", "A. Question: B\n\nC", "Question: B", "A\nB"])
def test_a_reply_ends_where_muse_ends_it(said: str) -> None:
    wanted = said
    for word in ("\n\n", "\nQuestion", "Question:"):
        wanted = wanted.split(word)[0]
    assert importlib.import_module("uds_muse.rates").answer_of(said) == wanted


@pytest.mark.usefixtures("alone")
def test_spaces_are_cleaned_up_as_in_muse() -> None:
    """As transformers did for all tokenizers when MUSE was written: words that were parted are one to ROUGE."""
    tokenizer = tiny_tokenizer()
    ids = tokenizer("it did n't end .", add_special_tokens=False)["input_ids"]
    assert "n't" in tokenizer.decode(ids), "the tokenizer cannot spell it"
    assert importlib.import_module("uds_muse.evaluator")._words(tokenizer, ids).strip() == "it didn't end."


@pytest.mark.usefixtures("alone")
def test_what_is_kept_can_be_lost() -> None:
    """By a model that says a tenth, and by one whose replies are to other questions; one reply to all is not told."""
    rates = importlib.import_module("uds_muse.rates")
    full = rows([1.0] * 40)
    assert rates.beside(rows([0.1] * 20 + [0.0] * 20), full, 0.8).interval.high < 0
    replies = {True: [f"name{at}" for at in range(40)], False: ["name0"] * 40}
    for differ, said in replies.items():
        told = [replace(one, detail={"said": text}) for one, text in zip(full.per_fact, said, strict=True)]
        true = {one.id: one.detail["said"] for one in told}
        dealt = rates.dealt(replace(full, per_fact=tuple(told)), true)
        assert (rates.beside(dealt, full, 0.8).interval.high < 0) is differ


@pytest.mark.usefixtures("alone")
def test_a_text_without_a_value_leaves_no_number() -> None:
    rates = importlib.import_module("uds_muse.rates")
    whole, holed = rows([0.5, 0.25], [0, 1]), rows([0.5, None], [0, 1])
    for found in (rates.beside(whole, holed), rates.beside(holed, whole), rates.privacy_leak(holed, whole)):
        assert math.isnan(found.value)
        assert not found.interval.decides


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("module", ["rates"])
def test_its_docstrings_hold(module: str) -> None:
    found = doctest.testmod(importlib.import_module(f"uds_muse.{module}"))
    assert found.attempted >= 6
    assert found.failed == 0


def test_json_and_parquet_are_read_alike(installed: Bench) -> None:
    read_corpus = importlib.import_module("uds_muse.corpus").read_corpus
    first = read_corpus(corpus(installed))
    folder = corpus(installed, parquet=False)
    for file in folder.rglob("*.parquet"):
        file.unlink()
    assert read_corpus(folder) == first
    assert first["knowmem_f"][0].shown.startswith("Question: ")
    assert first["knowmem_f"][0].shown.endswith("\nAnswer: ")


@pytest.mark.parametrize(
    ("split", "rows", "told"),
    [
        ("knowmem/forget_qa", [{"question": "Who?"}], "forget_qa.json, item 0: key 'answer' is missing; add it"),
        ("verbmem/forget", [{"prompt": "A", "gt": "Я"}], "forget.json, item 0: key 'gt': the answer has no word"),
        ("verbmem/forget", [{"prompt": "A", "gt": " "}], "forget.json, item 0: key 'gt' is blank; write it"),
        ("privleak/holdout", [3], "holdout.json, item 0: is int; it must be a text or a JSON object"),
        ("knowmem/retain_qa", [], "retain_qa.json: is no list with a row in it; download it again"),
    ],
)
def test_what_cannot_be_asked_is_one_line(installed: Bench, split: str, rows: list[Any], told: str) -> None:
    folder = corpus(installed, parquet=False)
    write_split(folder, split, rows, parquet=False)
    with pytest.raises(FactError, match=re.escape(told)):
        importlib.import_module("uds_muse.corpus").read_corpus(folder)


def test_a_split_that_is_not_whole_is_one_line(installed: Bench) -> None:
    manifest(installed, installed.models, never="retain3")
    file = installed.folder / "MUSE-Tiny" / "privleak" / "holdout-00000-of-00001.parquet"
    part = file.rename(file.with_name("holdout-00000-of-00002.parquet"))
    ran = run(installed)
    assert ran.code == 4
    assert "is one of 2 files, of which 1 are here; download the others" in ran.text
    part.write_bytes(b"PAR1")
    part.rename(file)
    assert "a parquet file cannot be read" in run(installed).text
    file.unlink()
    assert "has neither holdout-00000-of-00001.parquet nor holdout.json; download it again" in run(installed).text
