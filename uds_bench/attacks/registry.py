"""Every attack by name, with its default settings: adding one is its module and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from uds_bench.attacks import prompts
from uds_bench.attacks.attack import Attack
from uds_bench.attacks.quantize import int8, nf4
from uds_bench.attacks.relearn import LR, relearn
from uds_bench.attacks.worst_case import worst_relearn
from uds_bench.errors import ConfigurationError, did_you_mean

ATTACKS: dict[str, Callable[..., Attack]] = {
    "nf4": nf4,
    "int8": int8,
    "relearn": relearn,
    "relearn_half": partial(relearn, share=0.5, name="relearn_half"),
    "relearn_retain": partial(relearn, data="retain", name="relearn_retain"),
    "relearn_unrelated": partial(relearn, data="unrelated", name="relearn_unrelated"),
    # Ten times the published rate: an adapter takes more (Hu et al. 2022 train GPT-2 by one at 2e-4).
    "relearn_lora": partial(relearn, rank=16, lr=10 * LR, name="relearn_lora"),
    "relearn_load": partial(relearn, precision="load", name="relearn_load"),
    "relearn_worst": worst_relearn,
    "reworded": prompts.reworded,
    "prefix": prompts.prefix,
    "few_shot": prompts.few_shot,
    "alias": prompts.alias,
    "indirect": prompts.indirect,
    "own_questions": prompts.own_questions,
    "sampled": prompts.sampled,
}


def find_attack(name: str, **settings: Any) -> Attack:
    """The attack with the settings given and its own defaults for the rest; ConfigurationError for a name unknown."""
    if name not in ATTACKS:
        raise ConfigurationError(f"there is no attack {name!r}: {did_you_mean(name, ATTACKS)}")
    return ATTACKS[name](**settings)


def find_attacks(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Attack]:
    """Some attacks by name, each with the settings given; ConfigurationError for a name unknown."""
    return {name: find_attack(name, **told) for name, told in settings.items()}
