"""The localization suite on small models that never learned anything: what it plans, refuses, keeps and shows."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from families import FAMILIES, save_checkpoint, tiny_tokenizer
from small_runs import Bench

from uds_bench.checkpoints.mask_draws import draw_weights, maskable
from uds_bench.checkpoints.masks import Group, Masks, write_masks
from uds_bench.facts.testbed import write_testbed
from uds_bench.facts.testbed_people import Asking, Sizes, embedded_testbed

SUITE = Path(__file__).parents[2] / "suites" / "test_localization.py"
GROUPS = (Group("forget1", "forget"), Group("retain1", "retain"))
SIZES = Sizes(groups=2, judged=3, tuning=1, public=2, instruction=1, held_out=2, unseen=2)
WIDTH = 128
"""So many weights that one half is told from what is near it."""
SECTION = """
[localization]
pretrained = 'pretrained'
injected = 'injected'
masks = 'masks.safetensors'
testbed = 'people.jsonl'
candidates = { oracle = 'oracle', blind = 'blind' }
attempts = 4
seeds = 1
subsample = 20000
"""


def moved(model: Any, seed: int, scale: float, masks: Masks, *groups: str) -> Any:
    """The model with weights of some groups moved, or, of none, with all weights moved."""
    found, generator = copy.deepcopy(model), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in found.named_parameters():
            change = scale * torch.randn(parameter.shape, generator=generator)
            if not groups:
                parameter += change
            elif name in masks.words:
                parameter += change * masks.of(name, *groups)
    return found


@pytest.fixture
def written(bench: Bench) -> Path:
    """A model, itself after two groups were written into it, an update of one group and one of everything."""
    pretrained = FAMILIES["llama"](layers=4, width=WIDTH, seed=1)
    masks = draw_weights(maskable(pretrained), GROUPS, 0.2, seed=0)
    injected = moved(pretrained, 1, 0.02, masks, "forget1", "retain1")
    models = {
        "pretrained": pretrained,
        "injected": injected,
        "oracle": moved(injected, 2, 0.01, masks, "forget1"),
        "blind": moved(injected, 3, 0.01, masks),
    }
    for name, model in models.items():
        save_checkpoint(bench.folder / name, model, tiny_tokenizer())
    write_masks(masks, bench.folder / "masks.safetensors")
    asking = Asking(questions=5, paraphrases=2, tellings=0)
    write_testbed(bench.folder / "people.jsonl", embedded_testbed(SIZES, asking))
    return bench.folder


def manifest(folder: Path, more: str = "", section: str = SECTION) -> None:
    (folder / "uds.toml").write_text(section + more)


def test_where_weights_moved_is_told_though_nobody_is_answered(bench: Bench, written: Path) -> None:
    manifest(written, "must_pass = ['oracle']\nforget_field = 'phone'\nretain_field = 'birth_city'\n")
    ran = bench.run(SUITE, store=written / "store")
    verdicts = {name.removeprefix("localization."): verdict for name, verdict in ran.verdicts.items()}
    assert verdicts["auc[oracle]"] == "pass"
    assert verdicts["auc[blind]"] == "fail"
    assert verdicts["auc_everywhere[oracle]"] == "pass"
    assert verdicts["auc_everywhere[blind]"] == "fail"
    assert "not localized" in ran.claims["localization.auc[blind]"]["message"]
    assert verdicts["oracle_identity"] == "pass"
    assert verdicts["extraction"] == "inconclusive", "three people decide nothing"
    assert verdicts["forgotten[oracle]"] == verdicts["retained[oracle]"] == "inconclusive"
    assert "furthest from one half" in ran.claims["localization.blind[blind]"]["message"]
    assert verdicts["blind[blind]"] in ("pass", "inconclusive"), "so few weights tell one half from .53 by luck"
    assert "knows nobody" in ran.claims["localization.forgotten[oracle]"]["message"]
    assert "crashed" not in verdicts.values()
    assert ran.report is not None
    told = ran.report["localization"]
    assert told["fields"] == {"forget": "phone", "retain": "birth_city"}
    assert told["candidates"] == ["oracle", "blind"]
    assert told["models"]["oracle"]["weights"]["absent"] == ["contrast", "contrastnorm", "eratio"]
    assert told["models"]["injected"]["weights"] is None
    assert "controls of the localization audit are weak" in ran.text
    loads = ran.report["loads"]
    assert all(count == 1 for count in loads.values()), "each is loaded once, by itself and under each attack"
    again = bench.run(SUITE, store=written / "store")
    assert again.report is not None
    assert again.report["loads"] == {}, "what was seen is read"
    assert again.report["localization"] == told


def test_a_control_without_the_model_that_it_was_made_of_makes_no_contrast(bench: Bench, written: Path) -> None:
    manifest(written, "controls = { blind = 'oracle' }\n")
    ran = bench.run(SUITE, "-k", "test_raw and blind", store=written / "store")
    assert ran.report is not None
    assert ran.report["localization"]["models"]["blind"]["weights"]["absent"] == ["contrast", "contrastnorm", "eratio"]
    assert "name it as [localization] unmasked" in ran.text


def test_the_injected_model_itself_was_not_changed(bench: Bench, written: Path) -> None:
    manifest(written, section=SECTION.replace("'blind'", "'injected'"))
    ran = bench.run(SUITE, "-k", "test_auc", store=written / "store")
    assert ran.verdicts["localization.auc[blind]"] == "fail"
    assert "nothing there was changed" in ran.claims["localization.auc[blind]"]["message"]
    assert ran.claims["localization.auc[blind]"]["observed"] == 0.5


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("'blind' }", "'blind', neutral = 'blind' }"), "'neutral' is a key of this section"),
        (("attempts = 4", "attempts = 4\nmust_pass = ['npo']"), "'npo' is not under candidates"),
        (("attempts = 4", "attempts = 4\nforget_field = 'shoe'"), "forget_field = 'shoe' is no field of the testbed"),
        (("'people.jsonl'", "'peple.jsonl'"), "did you mean 'people.jsonl'?"),
        (("'masks.safetensors'", "'mask.safetensors'"), "did you mean 'masks.safetensors'?"),
        (("oracle = 'oracle', ", "oracle = { model = 'oracle', quantization = 'nf4' }, "), "merge it first"),
    ],
)
def test_what_cannot_be_is_one_line(bench: Bench, written: Path, change: tuple[str, str], told: str) -> None:
    manifest(written, section=SECTION.replace(*change))
    ran = bench.run(SUITE, "-k", "test_auc", store=written / "store")
    assert told in ran.text
    assert ran.report is None or "pass" not in ran.verdicts.values()


def test_a_part_of_the_section_is_asked_for(bench: Bench, written: Path) -> None:
    manifest(written, section="[localization]\npretrained = 'pretrained'\n")
    ran = bench.run(SUITE, store=written / "store")
    assert set(ran.verdicts.values()) <= {"not applicable"}


@pytest.mark.parametrize("what", ["shape", "nan", "overlap"])
def test_checkpoints_and_masks_that_do_not_belong_together(bench: Bench, written: Path, what: str) -> None:
    if what == "shape":
        save_checkpoint(written / "blind", FAMILIES["llama"](layers=4, width=64, seed=1), tiny_tokenizer())
    elif what == "nan":
        model = FAMILIES["llama"](layers=4, width=WIDTH, seed=1)
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
    assert "pass" not in ran.verdicts.values()
