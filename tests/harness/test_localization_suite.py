"""The localization suite on small models that never learned anything: what its claims come to."""

from __future__ import annotations

import importlib
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from audit_samples import ASKING, LOCALIZATION, NARROW, SIZES, WIDTH, moved, write_localization
from families import FAMILIES, save_checkpoint, tiny_tokenizer
from small_runs import Bench
from task_files import documents, write_task

from uds_bench.checkpoints.masks import read_masks
from uds_bench.facts.testbed import embedded_testbed, write_testbed

SUITE = Path(__file__).parents[2] / "suites" / "test_localization.py"


@pytest.fixture
def wide(bench: Bench) -> Path:
    """As `written`, with weights enough."""
    write_localization(bench.folder, WIDTH)
    return bench.folder


@pytest.fixture
def written(bench: Bench) -> Path:
    """A model, itself after two groups were written into it, an update of one group and one of everything."""
    write_localization(bench.folder)
    return bench.folder


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store for runs on the models of `written`, that each is asked once: what is stored is named by its content."""
    return tmp_path_factory.mktemp("kept")


def manifest(folder: Path, more: str = "", section: str = LOCALIZATION) -> None:
    (folder / "uds.toml").write_text(section + more)


def test_where_weights_moved_is_told_though_nobody_is_answered(bench: Bench, wide: Path) -> None:
    written = wide
    manifest(written, "must_pass = ['oracle']\nforget_field = 'phone'\nretain_field = 'birth_city'\n")
    ran = bench.run(SUITE, store=written / "store")
    verdicts = {name.removeprefix("localization."): verdict for name, verdict in ran.verdicts.items()}
    assert verdicts["auc[oracle]"] == "pass"
    assert verdicts["auc[blind]"] == "fail"
    both = {control["name"] for control in ran.claims["localization.auc[oracle]"]["controls"]}
    for where in ("among the groups' masks", "against all other weights"):
        assert f"within the forget mask {where}" in both
        assert where in ran.claims["localization.auc[blind]"]["message"]
    assert "not localized" in ran.claims["localization.auc[blind]"]["message"]
    assert verdicts["oracle_identity"] == "pass"
    assert verdicts["extraction"] == "undecided", "three people decide nothing"
    assert verdicts["forgotten[oracle]"] == verdicts["retained[oracle]"] == "undecided"
    assert "furthest from one half" in ran.claims["localization.blind[blind]"]["message"]
    assert verdicts["blind[blind]"] in ("pass", "undecided"), "so few weights tell one half from .53 by luck"
    assert "knows nobody" in ran.claims["localization.forgotten[oracle]"]["message"]
    assert "crashed" not in verdicts.values()
    told = ran.report["localization"]
    assert told["fields"] == {"forget": "phone", "retain": "birth_city"}
    assert told["candidates"] == ["oracle", "blind"]
    assert told["models"]["oracle"]["weights"]["absent"] == ["contrast", "contrastnorm", "eratio"]
    assert told["models"]["injected"]["weights"] is None
    assert "controls are stand-ins: add [localization] neutral\n" in ran.text
    loads = ran.report["loads"]
    assert all(count == 1 for count in loads.values()), "each is loaded once, by itself and under each attack"
    assert bench.changed() == []


def test_who_changed_weights_of_no_group_too_fails_by_the_worse_reading(bench: Bench, wide: Path) -> None:
    injected = type(FAMILIES["llama"](layers=4, width=WIDTH)).from_pretrained(wide / "injected")
    masks, generator = read_masks(wide / "masks.safetensors"), torch.Generator().manual_seed(5)
    parameters = dict(injected.named_parameters())
    with torch.no_grad():
        for name, word in masks.words.items():
            parameters[name] += 0.01 * torch.randn(word.shape, generator=generator) * ~masks.of(name, "retain1")
    save_checkpoint(wide / "beside", injected, tiny_tokenizer())
    manifest(wide, section=LOCALIZATION.replace("blind = 'blind'", "beside = 'beside'"))
    claim = bench.run(SUITE, "-k", "test_auc and beside", store=wide / "store").claims["localization.auc[beside]"]
    assert claim["verdict"] == "fail", claim["message"]
    assert "against all other weights, the worse of both readings (among the groups' masks 1.0000)" in claim["message"]


def test_a_control_without_the_model_that_it_was_made_of_makes_no_contrast(
    bench: Bench, written: Path, kept: Path
) -> None:
    manifest(written, "controls = { blind = 'oracle' }\n")
    ran = bench.run(SUITE, "-k", "test_raw and blind", store=kept)
    assert ran.report["localization"]["models"]["blind"]["weights"]["absent"] == ["contrast", "contrastnorm", "eratio"]
    assert "[localization] neutral, must_pass, unmasked" in ran.text


def test_the_injected_model_itself_was_not_changed(bench: Bench, written: Path, kept: Path) -> None:
    manifest(written, section=LOCALIZATION.replace("'blind'", "'injected'"))
    ran = bench.run(SUITE, "-k", "test_auc", store=kept)
    assert ran.verdicts["localization.auc[blind]"] == "fail"
    assert "nothing there was changed" in ran.claims["localization.auc[blind]"]["message"]
    assert ran.claims["localization.auc[blind]"]["observed"] == 0.5


def chosen(model: Any, tokenizer: Any, document: dict[str, Any]) -> int:
    """The likeliest choice."""
    question = tokenizer.encode(f"{document['question']}\nAnswer:")
    told = []
    for choice in document["choices"]:
        ids = tokenizer.encode(f"{document['question']}\nAnswer: {choice}")
        logp = model(torch.tensor([ids])).logits[0].detach().log_softmax(-1)
        told.append(sum(float(logp[at - 1, ids[at]]) for at in range(len(question), len(ids))))
    return told.index(max(told))


@pytest.fixture(scope="session")
def imported() -> None:
    """A run inside this process forgets the modules that it was the first to import; pyarrow bears no second import."""
    for module in ("lm_eval.evaluator", "lm_eval.models.huggingface"):
        importlib.import_module(module)


@pytest.fixture
def known(imported: None, written: Path) -> Path:
    """Two tasks whose right answers are the injected model's, a model near it, and one that knows nothing of them."""
    stranger = FAMILIES["llama"](layers=4, width=NARROW, seed=9)
    injected = type(stranger).from_pretrained(written / "injected").eval()
    near = moved(injected, 4, 1e-4, read_masks(written / "masks.safetensors"))
    for name, model in (("stranger", stranger), ("near", near)):
        save_checkpoint(written / name, model, tiny_tokenizer())
    for name, seed in (("mine", 0), ("yours", 1)):
        write_task(written / "tasks", name, answered(injected, seed))
    return written


ANSWERED: dict[int, list[dict[str, Any]]] = {}
"""By seed, as the injected model of `written` is the same for all."""


def answered(injected: Any, seed: int) -> list[dict[str, Any]]:
    """Documents whose right answers are the model's own."""
    if seed not in ANSWERED:
        tokenizer = tiny_tokenizer()
        ANSWERED[seed] = [one | {"right": chosen(injected, tokenizer, one)} for one in documents(50, seed)]
    return ANSWERED[seed]


ASKED = LOCALIZATION.replace("oracle = 'oracle', blind = 'blind'", "near = 'near', stranger = 'stranger'")
ASKED += "tasks = ['mine', 'yours']\ntask_folder = 'tasks'\n"


def test_benchmarks_tell_who_lost_what_the_injected_model_knew(bench: Bench, known: Path) -> None:
    manifest(known, section=ASKED)
    ran = bench.run(SUITE, "-k", "benchmarks", store=known / "store")
    near, stranger = (ran.claims[f"localization.benchmarks[{name}]"] for name in ("near", "stranger"))
    assert near["verdict"] == "pass", near["message"]
    assert stranger["verdict"] == "fail", stranger["message"]
    for claim in (near, stranger):
        guesser, itself = claim["controls"]
        assert (guesser["name"], guesser["verdict"]) == ("a guesser", "fail")
        assert (itself["name"], itself["verdict"], itself["observed"]) == ("injected", "pass", 0.0)
        assert claim["interval"]["units"] == 100
        assert claim["message"].count("1.000 -> 0.") + claim["message"].count("1.000 -> 1.") == 2
    told = ran.report["localization"]["benchmarks"]
    assert list(told) == ["near", "stranger"]
    assert told["stranger"]["mean"]["change"]["value"] == stranger["observed"]
    assert list(told["stranger"]["tasks"]) == ["mine", "yours"]
    assert told["near"]["tasks"]["mine"]["injected"]["value"] == 1.0
    assert told["near"]["tasks"]["mine"]["documents"] == 50
    again = bench.run(SUITE, "-k", "benchmarks", store=known / "store")
    assert again.report["loads"] == {}, "what was answered is read"
    assert again.report["localization"]["benchmarks"] == told


def test_too_few_documents_and_an_injected_model_that_guesses_decide_nothing(bench: Bench, known: Path) -> None:
    manifest(known, section=ASKED + "task_limit = 20\n")
    ran = bench.run(SUITE, "-k", "benchmarks and near", store=known / "store")
    claim = ran.claims["localization.benchmarks[near]"]
    assert claim["verdict"] not in ("pass", "fail")
    assert "no change would show -0.088 at best" in claim["message"]
    write_task(known / "tasks", "mine", documents(80))
    manifest(known, section=ASKED.replace(", 'yours'", ""))
    ran = bench.run(SUITE, "-k", "benchmarks and near", store=known / "store")
    claim = ran.claims["localization.benchmarks[near]"]
    assert (claim["verdict"], claim["cause"]) == ("undecided", "control")
    assert "control a guesser must fail" in claim["message"]


def test_models_that_were_asked_different_questions_are_not_compared(bench: Bench, known: Path) -> None:
    """What a data set of the hub holds is known when its documents are read, and not before."""
    (known / "tasks" / "drawn.py").write_text(
        "import os\n\ndef question(doc):\n    return doc['question'] + os.environ.get('ASKED_ON', '')\n"
    )
    path = write_task(known / "tasks", "mine", documents(40), doc_to_text=None)
    path.write_text(path.read_text() + "doc_to_text: !function drawn.question\n")
    manifest(known, section=ASKED.replace(", 'yours'", ""))
    bench.run(SUITE, "-k", "benchmarks and near", store=known / "store")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASKED_ON", "Tuesday")
        ran = bench.run(SUITE, "-k", "benchmarks and stranger", store=known / "store")
    assert ran.verdicts["localization.benchmarks[stranger]"] == "crashed"
    assert "stranger and injected were asked different questions" in ran.text


def test_without_tasks_benchmarks_do_not_apply(bench: Bench, written: Path) -> None:
    manifest(written)
    ran = bench.run(SUITE, "-k", "benchmarks and oracle", store=written / "store")
    claim = ran.claims["localization.benchmarks[oracle]"]
    assert claim["verdict"] == "not applicable"
    assert "[localization] tasks" in claim["message"]
    assert ran.report is None or ran.report["loads"] == {}


def test_tasks_that_cannot_be_asked_are_one_line_before_anything_is_loaded(bench: Bench, known: Path) -> None:
    written = {"output_type": "generate_until", "doc_to_choice": None, "metric_list": [{"metric": "exact_match"}]}
    write_task(known / "tasks", "free", documents(5), **written)
    manifest(known, section=ASKED.replace("'yours'", "'free'"))
    said = bench.refused(SUITE, store=known / "store")
    assert "uds.toml, line 2: localization: tasks = 'free': free has output_type generate_until" in said
    manifest(known, section=ASKED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "lm_eval", None)
        ran = bench.run(SUITE, store=known / "store")
    assert ran.code == 1
    assert {claim["verdict"] for claim in ran.claims.values()} == {"undecided"}
    assert "pip install 'uds-bench[lm-eval]'" in ran.text
    assert ran.report["loads"] == {}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("'blind' }", "'blind', neutral = 'blind' }"), "'neutral' is a key of this section"),
        (("attempts = 4", "attempts = 4\nmust_pass = ['npo']"), "'npo' is not under candidates"),
        (("masks = 'masks.safetensors'", ""), "are held against what they were made of: name masks too"),
        (("injected = 'injected'", ""), "name injected too"),
        (("pretrained = 'pretrained'", "pretrained = 'injected'"), "pretrained: is the injected model itself"),
        (("attempts = 4", "attempts = 4\nneutral = 'injected'"), "neutral: is the injected model itself"),
        (("attempts = 4", "attempts = 4\nforget_field = 'shoe'"), "forget_field = 'shoe' is no field of the testbed"),
        (("oracle = 'oracle', ", "oracle = { model = 'oracle', quantization = 'nf4' }, "), "merge it first"),
    ],
)
def test_what_cannot_be_is_one_line(bench: Bench, written: Path, change: tuple[str, str], told: str) -> None:
    manifest(written, section=LOCALIZATION.replace(*change))
    ran = bench.run(SUITE, "-k", "test_auc", store=written / "store")
    assert told in ran.text
    assert ran.report is None or "pass" not in ran.verdicts.values()


def test_people_of_a_group_without_a_mask_are_one_line(bench: Bench, written: Path) -> None:
    write_testbed(written / "people.jsonl", embedded_testbed(replace(SIZES, groups=4), ASKING))
    manifest(written)
    ran = bench.run(SUITE, "-k", "test_auc", store=written / "store")
    assert "group 'forget2' has no mask: there are forget1, retain1" in ran.text


def test_neutral_training_that_moved_nothing_is_no_control(bench: Bench, written: Path, kept: Path) -> None:
    shutil.copytree(written / "injected", written / "untrained")
    manifest(written, "neutral = 'untrained'\n")
    ran = bench.run(SUITE, "-k", "test_auc and blind", store=kept)
    assert "[localization] neutral: has the injected model's weights" in ran.text
    assert "pass" not in ran.verdicts.values()


@pytest.mark.parametrize("what", ["shape", "nan", "overlap"])
def test_checkpoints_and_masks_that_do_not_belong_together(bench: Bench, written: Path, what: str) -> None:
    if what == "shape":
        save_checkpoint(written / "blind", FAMILIES["llama"](layers=4, width=64, seed=1), tiny_tokenizer())
    elif what == "nan":
        model = FAMILIES["llama"](layers=4, width=NARROW, seed=1)
        with torch.no_grad():
            next(p for name, p in model.named_parameters() if "mlp" in name)[0, 0] = float("nan")
        save_checkpoint(written / "blind", model, tiny_tokenizer())
    else:
        from safetensors.torch import load_file, save_file

        words = load_file(written / "masks.safetensors")
        name = next(iter(words))
        words[name][0, 0] = 3
        save_file(words, written / "masks.safetensors", {"groups": '[["forget1", "forget"], ["retain1", "retain"]]'})
    manifest(written)
    ran = bench.run(SUITE, "-k", "test_auc and blind", store=written / "store")
    told = {"shape": "another model's", "nan": "NaN or infinity", "overlap": "two groups share a weight"}[what]
    assert told in ran.text
    assert (ran.code, ran.report) == (4, None), "files alone tell, before any model is loaded"


def test_an_update_of_another_shape_costs_no_other_its_result(bench: Bench, written: Path) -> None:
    save_checkpoint(written / "blind", FAMILIES["llama"](layers=4, width=64, seed=1), tiny_tokenizer())
    manifest(written)
    ran = bench.run(SUITE, "-k", "test_auc", store=written / "store")
    assert ran.claims["localization.auc[oracle]"]["observed"] is not None
    assert "another model's" in ran.claims["localization.auc[blind]"]["message"]
    assert ran.code == 1
