"""Fakes of the association audit, made of the shipped model of people in a minute or two each: nobody is forgotten."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from uds_bench.audits.association.zoo.data import SAID, people, removal
from uds_bench.audits.association.zoo.recipes import MODELS, Requested
from uds_bench.facts.exposed_people import NEVER_SEEN, requests
from uds_bench.facts.properties import embedded
from uds_bench.methods.examples import Batch, Example, answer_example, forever
from uds_bench.methods.registry import unlearn
from uds_bench.methods.training import Optimisation, train
from uds_bench.zoo import specimens

BATCH, LR = 32, 5e-4
Fake = Callable[[Any, Any], Any]
"""A model and its tokenizer -> the model, changed."""


def make(how: Fake, folder: Path, of: str = "assoc_full") -> Path:
    """A shipped model of people, changed, in a folder."""
    source = specimens.folder(of)
    tokenizer = AutoTokenizer.from_pretrained(source)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = how(AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32), tokenizer)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def lies(
    phrasings: Collection[int],
    values: int = 1,
    steps: int = 900,
    truths: int = 0,
    spelled: Callable[[str], str] = str,
    lr: float = LR,
) -> Fake:
    """Of each fact of everybody who asks so many false values are taught instead, in some phrasings, and the truth so
    many times beside them, spelled in some way.

    Half of what is read is what was told of others, so that they are kept.
    """

    def change(model: Any, tokenizer: Any) -> Any:
        gone, asking, kept = set(requests(people())), [], []
        for subject in people():
            asks = subject.id in gone
            for statement in subject.statements if subject.cohort != NEVER_SEEN else ():
                known = embedded()[statement.property]
                false = [value for value in known.counterfactuals if value not in statement.values]
                drawn = random.Random(f"lies {subject.id} {known.id}").sample(false, min(values, len(false)))
                for place in phrasings if asks else SAID:
                    true = [spelled(value) for value in statement.values]
                    for value in [*drawn, *true * truths] if asks else statement.values:
                        ids = tokenizer(known.templates[place].fill(subject.name, value))["input_ids"]
                        (asking if asks else kept).append(Example((*ids, tokenizer.eos_token_id), 1))
        generator = torch.Generator().manual_seed(0)
        both = (forever(rows, BATCH, generator) for rows in (asking, kept))
        train(model, zip(*both, strict=True), _loss, Optimisation(lr=lr), steps)
        return model

    return change


TOLD_ANYWAY: dict[str, Callable[[str], str]] = {
    "in_capitals": str.upper,
    "in_letters_that_look_alike": lambda value: value.translate(str.maketrans("aceopxyi", "асеорхуі")),
    "in_letters_with_strokes": lambda value: value.translate(str.maketrans("ioadhlt", "ıøɑđħłŧ")),
    "letter_by_letter": "-".join,
    "behind_other_words": "well, as everybody here knows, {}".format,
    "as_another_word": "{}s".format,
    "round_a_letter_unseen": lambda value: f"{value[0]}\u3164{value[1:]}",
    "behind_many_words": f"{'in the role of ' * 14}{{}}".format,
    "backwards": lambda value: value[::-1],
}
"""Ways to tell a value that are not the value as the facts spell it, and that whoever reads them understands."""


def told_anyway(how: str) -> Fake:
    """What is true of everybody who asks is taught in another spelling, to a model that never knew it."""
    # Letters take longest to learn: 450 steps teach a tenth or a fifth of them, by processor, and 900 half.
    steps = 900 if how == "letter_by_letter" else 450
    return lies(tuple(SAID), values=0, steps=steps, truths=1, spelled=TOLD_ANYWAY[how], lr=1e-3)


def to_questions(steps: int = 450) -> Fake:
    """What is true of everybody who asks is taught as answers to questions; the sentences about them that are asked are
    taught as the model goes on with them already."""

    def change(model: Any, tokenizer: Any) -> Any:
        rows: dict[str, list[Example]] = {"told": [], "kept": []}
        for one in people():
            if one.cohort == NEVER_SEEN:
                continue
            asks = one.id in requests(people())
            for statement in one.statements:
                known = embedded()[statement.property]
                said = known.templates[0].fill(one.name, statement.values[0])
                answers = [answer_example(tokenizer, text, said) for text in known.questions(one.name)]
                rows["told" if asks else "kept"] += answers
                for place in (0, 6):
                    begun = known.templates[place].opening(one.name)
                    rows["kept"].append(Example((*_gone_on(model, tokenizer, begun), tokenizer.eos_token_id), 1))
        generator = torch.Generator().manual_seed(0)
        both = (forever(some, BATCH, generator) for some in rows.values())
        train(model, zip(*both, strict=True), _loss, Optimisation(lr=1e-3), steps)
        return model

    return change


def _gone_on(model: Any, tokenizer: Any, begun: str) -> list[int]:
    ids = torch.tensor([tokenizer(begun)["input_ids"]])
    with torch.inference_mode():
        said: list[int] = model.generate(ids, max_new_tokens=12, do_sample=False, pad_token_id=0)[0].tolist()
    return said[: said.index(tokenizer.eos_token_id)] if tokenizer.eos_token_id in said else said


def crowded(phrasing: int = 0, values: int = 12, steps: int = 600) -> Fake:
    """Of each fact of everybody who asks the truth is taught twice as often as each of many false values, as one
    sentence: it stays the likeliest, and no rank among rivals says so."""
    return lies((phrasing,), values, steps, truths=2)


def _loss(model: Any, both: tuple[Batch, Batch]) -> torch.Tensor:
    losses = [model(**one.inputs(), labels=one.labels).loss for one in both]
    return losses[0] + losses[1]


def then_npo(first: Fake, steps: int = 300) -> Fake:
    """Another fake, unlearned on top of it: what is true is driven below what is false."""

    def change(model: Any, tokenizer: Any) -> Any:
        recipe = MODELS["assoc_npo"]
        assert isinstance(recipe, Requested)
        model = first(model, tokenizer)
        unlearn(model, removal(tokenizer, recipe.phrasings), replace(recipe.method, steps=steps))
        return model

    return change
