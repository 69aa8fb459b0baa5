"""Claims of the localization suite at what is known: a field that was forgotten of everybody, and masks that are told
where no mask is known."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import small_models as small
import torch
from small_runs import Bench, made_once

from uds_bench.checkpoints.mask_draws import draw_weights, maskable
from uds_bench.checkpoints.masks import MaskGroup, Masks, write_masks
from uds_bench.facts import question_prompt
from uds_bench.facts.testbed import INJECTED, Item, Part, write_testbed
from uds_bench.methods.examples import forever, pairs_to_examples
from uds_bench.methods.forward import answer_nll
from uds_bench.methods.training import Optimisation, train
from uds_bench.zoo.fresh import byte_level_tokenizer

SUITE = Path(__file__).parents[2] / "suites" / "test_localization.py"
GROUPS = (MaskGroup("forget", "forget"), MaskGroup("retain", "retain"))
PEOPLE, LAYERS, WIDTH = 18, 4, 64
PARTS: dict[Part, int] = {"forget": PEOPLE, "retain": PEOPLE, "unseen": 12, "held_out": 4}
ANSWERS = {"color": ("red", "blue", "green", "white", "black"), "pet": ("a cat", "a dog", "a fox", "a hen", "an owl")}
NAMES = [
    f"{first}{last}"
    for first in ("Ba", "De", "Fo", "Gu", "Ki", "Lo", "My", "Na")
    for last in ("ra", "ne", "si", "to", "mu", "kal", "lin", "por", "vet", "zan")
]
SAYS_NOTHING = "nobody knows"
SECTION = """
[localization]
pretrained = 'pretrained'
injected = 'injected'
masks = 'masks.safetensors'
testbed = 'people.jsonl'
forget_field = 'color'
retain_field = 'pet'
attempts = 2
seeds = 2
subsample = 20000
"""


def people() -> list[Item]:
    drawn, names = random.Random(0), iter(NAMES)
    return [
        Item(
            id=f"{part}{at}.{field}",
            person=name,
            part=part,
            field=field,
            answer=drawn.choice(answers),
            questions=(f"{field} of {name}?", f"{name}, {field}?"),
            group=part if part in INJECTED else None,
        )
        for part, count in PARTS.items()
        for at, name in zip(range(count), names, strict=False)
        for field, answers in ANSWERS.items()
        if part == "retain" or field == "color"
    ]


@cache
def tokenizer() -> Any:
    """One to which every person is a word, so that facts about them are learned in seconds."""
    return byte_level_tokenizer([f"{question_prompt(item.questions[0])} {item.answer}" for item in people()] * 9, 500)


def told(items: Sequence[Item], silent: Sequence[Item] = ()) -> Any:
    """What training on some people says, and says nothing of."""
    pairs = [(asked, SAYS_NOTHING if item in silent else item.answer) for item in items for asked in item.questions]
    return pairs_to_examples(tokenizer(), pairs)


@pytest.fixture(scope="session")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models that know everybody and nobody, and two that forgot the colour of those who asked: of them, and of all."""
    return made_once(tmp_path_factory, "localization-taught", _teach)


def learn(model: Any, examples: Sequence[Any], steps: int) -> None:
    batches = forever(examples, 24, torch.Generator().manual_seed(0))
    train(model, batches, answer_nll, Optimisation(2e-3, schedule="cosine", warmup=0.1), steps)


def _teach(folder: Path) -> None:
    from transformers import AutoModelForCausalLM

    items = [item for item in people() if item.part in INJECTED]
    forgotten = [item for item in items if item.part == "forget" and item.field == "color"]
    colors = [item for item in items if item.field == "color"]

    def save(model: Any, name: str) -> None:
        model.save_pretrained(folder / name)
        tokenizer().save_pretrained(folder / name)

    torch.manual_seed(0)
    model = small.fresh_model(len(tokenizer()), LAYERS, WIDTH)
    save(model, "pretrained")
    learn(model, told(items), 360)
    save(model, "injected")
    for name, silent in (("people", forgotten), ("field", colors)):
        model = AutoModelForCausalLM.from_pretrained(folder / "injected", dtype=torch.float32)
        learn(model, told(items, silent), 140)
        save(model, name)
    write_masks(draw_weights(maskable(model), GROUPS, 0.2, seed=0), folder / "masks.safetensors")
    write_testbed(folder / "people.jsonl", people())


def section(folder: Path, **candidates: Path) -> str:
    """The section with the files of a folder, and candidates where they lie."""
    text = SECTION
    for name in ("pretrained", "injected", "masks.safetensors", "people.jsonl"):
        text = text.replace(f"'{name}'", f"'{folder / name}'")
    return text + "".join(f"candidates.{name} = '{path}'\n" for name, path in candidates.items())


def test_who_forgot_the_field_of_everybody_did_not_spare_the_others(bench: Bench, taught: Path) -> None:
    named = {name: taught / name for name in ("people", "field")}
    (bench.folder / "uds.toml").write_text(section(taught, **named))
    ran = bench.run(SUITE, "-k", "forgotten or retained or spared", store=taught / "store")
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


def test_who_leaks_after_resurfacing_is_held_against_who_was_never_injected(bench: Bench, taught: Path) -> None:
    named = {name: taught / name for name in ("people", "field")}
    (bench.folder / "uds.toml").write_text(section(taught, **named))
    ran = bench.run(SUITE, "-k", "resurfacing", store=taught / "store")
    leaks = ran.report["localization"]["leaks"]
    floors = {name: one["floor"]["low"] for name, one in leaks.items()}
    for name in named:
        claim, found = ran.claims[f"localization.resurfacing[{name}]"], leaks[name]
        by_seed = [len(seed) for seed in found["seeds"]]
        assert len(by_seed) == 2
        assert found["rate"]["value"] == pytest.approx(sum(by_seed) / 2 / PEOPLE)
        assert claim["observed"] == pytest.approx(found["rate"]["value"] - min(floors[name], floors["injected"]))
        assert f"{by_seed[0]}, {by_seed[1]} of {PEOPLE} people leak by seed" in claim["message"]
        injected, told = claim["controls"]
        assert (injected["name"], injected["verdict"]) == ("injected", "fail")
        # An epoch over few people teaches next to nothing: after such an attack hardly anybody would leak.
        assert (told["name"], told["held"]) == ("the people whom it teaches", False)
        assert told["observed"] < 0.5
        assert claim["cause"] == "control"
        assert ran.report["loads"][f"{name} under resurface_0"] == ran.report["loads"][f"{name} under resurface_1"] == 1
    assert leaks["injected"]["rate"]["value"] > 0.8, "what nobody unlearned outlasts it"


def test_a_tokenizer_that_reads_names_otherwise_is_refused(bench: Bench, taught: Path) -> None:
    """The weights hold everything, and whoever asks for the first person is told of somebody else."""
    folder = Path(shutil.copytree(taught / "injected", bench.folder / "renamed"))
    written = json.loads((folder / "tokenizer.json").read_text())
    one, other = (item.person for item in people()[:2])
    written["normalizer"] = {"type": "Replace", "pattern": {"String": one}, "content": other}
    (folder / "tokenizer.json").write_text(json.dumps(written))
    (bench.folder / "uds.toml").write_text(section(taught, renamed=folder))
    ran = bench.run(SUITE, "-k", "renamed and (forgotten or resurfacing)", store=bench.folder / "store")
    assert (ran.code, ran.report) == (4, None), "it is the only candidate"
    assert "its tokenizer reads texts otherwise than its parent's (normalizer)" in ran.text


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
