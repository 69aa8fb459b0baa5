"""Manifests of published models, for `uds-bench init --from`."""

from __future__ import annotations

import re

from uds_bench.errors import ConfigurationError, did_you_mean

PUBLISHED = re.compile(r"open-unlearning/tofu_(?P<model>[\w.-]+?)(_full)?")
"""A full model of TOFU as open-unlearning names it on the hub."""
DATE = "10 Apr 2025"
"""What chat templates print as today's where these models were trained and evaluated."""
ANNOTATED = (
    "# Entities that are doubtful are scored too. With the UDS authors' list, of their public repository,",
    "# what looks at entities is of the {listed} facts in it; what reads whole answers is of all {every}.",
    '#annotations = "forget10_filtered.json"',
    "#only_annotated = true",
)
LISTED = {"forget01": (38, 40), "forget05": (187, 200), "forget10": (367, 400)}
"""By the same split, how many of its facts are in the UDS authors' list, which is of forget10, and how many it has."""
KEPT = {"forget01": "retain99", "forget05": "retain95", "forget10": "retain90"}
"""By split of TOFU that is forgotten, the one that is retained."""
MODELS = ("Llama-3.2-1B-Instruct", "Llama-3.2-3B-Instruct", "Llama-3.1-8B-Instruct")
"""Those that a misspelt name may have meant; others are published as well."""
SPLIT = "forget10"
"""The split of which pools and unlearned checkpoints are published as well."""
PLACEHOLDER = (
    "# No unlearned checkpoint of this model and split is known to be published.",
    "# To be replaced: your own, by name, a folder or a hub id.",
)
OTHERS = {"simnpo": "SimNPO_lr5e-05_b3.5_a1_d1_g0.25_ep5"}
"""Of larger models, as public scripts that evaluate them name it."""
UNLEARNED = {
    MODELS[0]: {
        "graddiff": "GradDiff_lr1e-05_alpha5_epoch10",
        "npo": "NPO_lr1e-05_beta0.5_alpha1_epoch10",
        "simnpo": "SimNPO_lr5e-05_b4.5_a1_d1_g0.25_ep10",
        "rmu": "RMU_lr2e-05_layer10_scoeff100_epoch5",
        "idkdpo": "IdkDPO_lr5e-05_beta0.05_alpha5_epoch10",
        "altpo": "AltPO_lr2e-05_beta0.05_alpha1_epoch10",
    },
    **dict.fromkeys(MODELS[1:], OTHERS),
}
"""By model and candidate, the end of its name on the hub: one setting of each method, of many that are published."""
RATES = ("2e-05", "3e-05")
"""Learning rates of the published seeds of full and retain that make the pools, trained for five epochs."""


def unknown(name: str) -> str:
    """What to say of a full model that is not known to be published; "" of one that is.

    Example:
        >>> unknown("open-unlearning/tofu_Llama-3.2-1B-Instruct"), unknown("open-unlearning/tofu_Phi-9")[:14]
        ('', 'Phi-9 is none ')
    """
    found = PUBLISHED.fullmatch(name)
    if found is None or found["model"] in MODELS:
        return ""
    return f"{found['model']} is none of {', '.join(MODELS)}: see that these names exist"


def published(name: str, split: str) -> str:
    """A manifest of models that open-unlearning publishes.

    Args:
        name: The full model's hub id, with or without `_full`.
        split: What was forgotten, as TOFU calls it.

    Returns:
        TOML: references always; pools and candidates where they are published, else a line to fill in. Of a model that
        is not known to be published a comment says so.

    Raises:
        ConfigurationError: Neither is known.

    Example:
        >>> found = published("open-unlearning/tofu_Llama-3.1-8B-Instruct", "forget05")
        >>> print(*(line for line in found.splitlines() if line.startswith("full")))
        full = "open-unlearning/tofu_Llama-3.1-8B-Instruct_full"
    """
    if (found := PUBLISHED.fullmatch(name)) is None:
        known = [f"open-unlearning/tofu_{model}" for model in MODELS]
        near = did_you_mean(name, known, f"write {known[0]}, or name a .jsonl with question and answer")
        raise ConfigurationError(f"--from {name}: neither a file nor a model of open-unlearning: {near}")
    if split not in KEPT:
        raise ConfigurationError(f"--split: there is no {split!r}: {did_you_mean(split, KEPT)}")
    model, hub, (listed, every) = found["model"], "open-unlearning", LISTED[split]
    lines = [f"# {told}." for told in filter(None, [unknown(name)])]
    lines += ["[facts]", f'source = "tofu/{split}"']
    lines += [
        *(line.format(listed=listed, every=every) for line in ANNOTATED),
        "keep_doubtful = true",
        f'date_string = "{DATE}"',
        "",
        "[references]",
    ]
    lines += [f'full = "{hub}/tofu_{model}_full"', f'retain = "{hub}/tofu_{model}_{KEPT[split]}"', "", "[candidates]"]
    if split != SPLIT or model not in UNLEARNED:
        return "\n".join([*lines, *PLACEHOLDER, 'npo = "./runs/npo"', ""])
    lines += [f'{key} = "{hub}/unlearn_tofu_{model}_{split}_{end}"' for key, end in UNLEARNED[model].items()]
    if model != MODELS[0]:  # of the others no seeds are known that could make pools
        return "\n".join([*lines, ""])
    for side, start, end in (("positive", "pos", "full"), ("negative", "neg", KEPT[split])):
        lines += ["", f"[pools.{side}]"]
        lines += [
            f'{end}_{at} = "{hub}/{start}_tofu_{model}_{end}_lr{rate}_wd0.01_epoch5"' for at, rate in enumerate(RATES)
        ]
    return "\n".join([*lines, ""])
