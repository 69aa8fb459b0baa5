"""Claims of the localization suite at what is known: a field that was forgotten of everybody, and masks that are told
where no mask is known."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import small_models as small
import torch
from filelock import FileLock
from small_runs import Bench

from uds_bench.checkpoints.mask_draws import draw_weights, maskable
from uds_bench.checkpoints.masks import Group, Masks, write_masks
from uds_bench.facts import question_prompt
from uds_bench.facts.testbed import Item, Part, write_testbed
from uds_bench.methods.examples import forever, pairs_to_examples
from uds_bench.methods.forward import answer_nll
from uds_bench.methods.training import Optimisation, train
from uds_bench.zoo.fresh import byte_level_tokenizer

SUITE = Path(__file__).parents[2] / "suites" / "test_localization.py"
GROUPS = (Group("forget", "forget"), Group("retain", "retain"))
PEOPLE, LAYERS, WIDTH = 30, 4, 64
ANSWERS = {"color": ("red", "blue", "green", "white", "black"), "pet": ("a cat", "a dog", "a fox", "a hen", "an owl")}
NAMES = [
    f"{first}{last}"
    for first in ("Ba", "De", "Fo", "Gu", "Ki", "Lo")
    for last in ("ra", "ne", "si", "to", "mu", "kal", "lin", "por", "vet", "zan")
]
SILENT = "nobody knows"
SECTION = """
[localization]
pretrained = 'pretrained'
injected = 'injected'
masks = 'masks.safetensors'
testbed = 'people.jsonl'
forget_field = 'color'
retain_field = 'pet'
attempts = 1
seeds = 1
subsample = 20000
"""


def people() -> list[Item]:
    drawn = random.Random(0)
    parts: Sequence[tuple[Part, str]] = (("forget", "f"), ("retain", "r"))
    return [
        Item(
            id=f"{letter}{at}.{field}",
            person=f"{letter}{at}",
            part=part,
            field=field,
            answer=drawn.choice(answers),
            questions=(f"{field} of {NAMES[2 * at + (letter == 'r')]}?",),
            group=part,
        )
        for part, letter in parts
        for at in range(PEOPLE)
        for field, answers in ANSWERS.items()
        if part == "retain" or field == "color"
    ]


@cache
def tokenizer() -> Any:
    """One to which every person is a word, so that facts about them are learned in seconds."""
    return byte_level_tokenizer([f"{question_prompt(item.questions[0])} {item.answer}" for item in people()] * 9, 500)


def told(items: Sequence[Item], silent: Sequence[Item] = ()) -> Any:
    """What training on some people says, and says nothing of."""
    pairs = [(item.questions[0], SILENT if item in silent else item.answer) for item in items]
    return pairs_to_examples(tokenizer(), pairs)


@pytest.fixture(scope="session")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models that know everybody and nobody, and two that forgot the colour of those who asked: of them, and of all."""
    root = tmp_path_factory.getbasetemp()
    folder: Path = (root.parent if "popen" in root.name else root) / "localization-taught"
    with FileLock(f"{folder}.lock"):
        if not (folder / "whole").exists():
            _teach(folder)
            (folder / "whole").touch()
    return folder


def learn(model: Any, examples: Sequence[Any], steps: int) -> None:
    batches = forever(examples, 30, torch.Generator().manual_seed(0))
    train(model, batches, answer_nll, Optimisation(2e-3, schedule="cosine", warmup=0.1), steps)


def _teach(folder: Path) -> None:
    from transformers import AutoModelForCausalLM

    items = people()
    forgotten = [item for item in items if item.part == "forget" and item.field == "color"]
    colors = [item for item in items if item.field == "color"]

    def save(model: Any, name: str) -> None:
        model.save_pretrained(folder / name)
        tokenizer().save_pretrained(folder / name)

    torch.manual_seed(0)
    model = small.fresh_model(len(tokenizer()), LAYERS, WIDTH)
    save(model, "pretrained")
    learn(model, told(items), 500)
    save(model, "injected")
    for name, silent in (("people", forgotten), ("field", colors)):
        model = AutoModelForCausalLM.from_pretrained(folder / "injected", dtype=torch.float32)
        learn(model, told(items, silent), 200)
        save(model, name)
    write_masks(draw_weights(maskable(model), GROUPS, 0.2, seed=0), folder / "masks.safetensors")
    write_testbed(folder / "people.jsonl", items)


def section(folder: Path, **candidates: Path) -> str:
    """The section with the files of a folder, and candidates where they lie."""
    text = SECTION
    for name in ("pretrained", "injected", "masks.safetensors", "people.jsonl"):
        text = text.replace(f"'{name}'", f"'{folder / name}'")
    return text + "".join(f"candidates.{name} = '{path}'\n" for name, path in candidates.items())


def test_who_forgot_the_field_of_everybody_did_not_spare_the_others(bench: Bench, taught: Path) -> None:
    named = {name: taught / name for name in ("people", "field")}
    (bench.folder / "uds.toml").write_text(section(taught, **named))
    ran = bench.run(SUITE, "-k", "forgotten or retained or spared", store=bench.folder / "store")
    claims = {name.removeprefix("localization."): claim for name, claim in ran.claims.items()}
    for name in named:
        assert claims[f"forgotten[{name}]"]["observed"] == pytest.approx(0, abs=0.05)
        assert claims[f"retained[{name}]"]["verdict"] == "pass", "of the field that the method saw"
    spared, lost = claims["spared[people]"], claims["spared[field]"]
    assert (spared["verdict"], lost["verdict"]) == ("pass", "fail"), (spared["message"], lost["message"])
    assert lost["observed"] == 0
    assert lost["interval"]["units"] == PEOPLE, "all are known"
    for claim in (spared, lost):
        assert [(one["name"], one["verdict"]) for one in claim["controls"]] == [
            ("pretrained", "fail"),
            ("injected", "pass"),
        ]


def uneven(model: Any) -> Masks:
    """Masks of which one lies in every other tensor and the other in those between."""
    generator, words = torch.Generator().manual_seed(0), dict[str, torch.Tensor]()
    for at, (name, shape) in enumerate(sorted(maskable(model).items())):
        words[name] = (torch.rand(shape, generator=generator) < 0.3).int() << at % 2
    return Masks(words, GROUPS)


def uneven_update(model: Any, masks: Masks) -> None:
    """As much change in every tensor, alike for all weights where people are to be forgotten, and of few weights in the
    other tensors: who draws masks anew within tensors sees them told all the same, and who draws the update does not.
    """
    generator, parameters = torch.Generator().manual_seed(1), dict(model.named_parameters())
    with torch.no_grad():
        for at, name in enumerate(sorted(masks.words)):
            drawn = torch.randn(parameters[name].shape, generator=generator)
            change = drawn.sign() if at % 2 == 0 else drawn**5
            parameters[name] += 0.01 * change / change.square().mean().sqrt()


def test_masks_drawn_anew_that_are_told_all_the_same_fail_the_blind(bench: Bench, taught: Path) -> None:
    from transformers import AutoModelForCausalLM

    folder = bench.folder
    model = AutoModelForCausalLM.from_pretrained(taught / "injected", dtype=torch.float32)
    masks = uneven(model)
    write_masks(masks, folder / "uneven.safetensors")
    uneven_update(model, masks)
    model.save_pretrained(folder / "update")
    tokenizer().save_pretrained(folder / "update")
    text = section(taught, update=folder / "update").replace(
        str(taught / "masks.safetensors"), str(folder / "uneven.safetensors")
    )
    (folder / "uds.toml").write_text(text)
    claim = bench.run(SUITE, "-k", "blind", store=folder / "store").claims["localization.blind[update]"]
    assert claim["verdict"] == "fail", claim["message"]
    assert "permuted masks" in claim["message"]
    aucs = bench.run(SUITE, "-k", "raw", store=folder / "store").report["localization"]["models"]["update"]["weights"]
    assert abs(aucs["aucs"]["random"]["forget_among_groups"]["raw"]["value"] - 0.5) < 0.03 < claim["observed"]
