"""The pools: models whose answer to "does it know?" is known, as their data, rate and epochs differ.

As in the published pools, three data forms a side, several rates around the one of the fine-tuned models and two
numbers of epochs (UDS guide, section 4.1). A model of the pools and a candidate share nothing but the base.
"""

from __future__ import annotations

from itertools import product

from uds_bench.audits.depth.zoo.recipes import Pooled
from uds_bench.facts.authors import KNOWING, NEVER_KNEW

RATES = (2e-3, 3e-3, 4e-3, 5e-3, 6e-3, 8e-3)
EPOCHS = (15, 20)
OF_QUICK = ((3e-3, 20), (5e-3, 15))
"""(rate, epochs) of the zoo profile. With six models a side a perfect separation is told from none: an AUC of 1 over
n + n models has the exact lower bound 0.025 ** (1/n), above 0.5 from n = 6 on. With 36 it is 0.90."""
FIRST_SEED = 100
"""No seed of a fine-tuned model comes near."""


def _name(form: str, lr: float, epochs: int) -> str:
    return f"{form}_r{round(lr * 1e3)}_e{epochs}"


MODELS: dict[str, Pooled] = {
    _name(form, lr, epochs): Pooled("base", FIRST_SEED + place, form, epochs, lr)
    for place, (form, lr, epochs) in enumerate(product((*KNOWING, *NEVER_KNEW), RATES, EPOCHS))
}
"""Every model of the pools; `plain_r3_e20` is of the form plain, trained at 3e-3 for 20 epochs."""


PLAINEST = ("plain", "retain")
"""Forms of which the zoo profile has the references of another seed, full2 and retain2, at the lower rate."""
QUICK = [
    _name(form, *setting)
    for form in (*KNOWING, *NEVER_KNEW)
    for setting in OF_QUICK
    if form not in PLAINEST or setting != OF_QUICK[0]
]
"""The names of the zoo profile's."""
