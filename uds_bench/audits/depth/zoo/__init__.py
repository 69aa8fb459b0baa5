"""The embedded models of depth and of the metrics: references, candidates and pools of one base."""

from uds_bench.audits.depth.zoo import candidates, pools, sweep
from uds_bench.audits.depth.zoo.recipes import FORGET, Base, Finetuned, facts
from uds_bench.methods.data import unlearning_data
from uds_bench.zoo.recipe import FAILS, PASSES, REFERENCE, Bed, Recipe, Zoo

MODELS: dict[str, Recipe] = {
    "base": Base(),
    "full": Finetuned("base", without=0, seed=1),
    "retain": Finetuned("base", without=FORGET, seed=1),
    # As TOFU's retain99 and retain95 beside retain90: nested, one and half of the forget authors left out.
    "retain99": Finetuned("base", without=2, seed=1),
    "retain95": Finetuned("base", without=8, seed=1),
    "full2": Finetuned("base", without=0, seed=2),
    "retain2": Finetuned("base", without=FORGET, seed=2),
    **candidates.MODELS,
    **{name: pools.MODELS[name] for name in pools.QUICK},
}
FURTHER: dict[str, Recipe] = {
    **{name: recipe for name, recipe in pools.MODELS.items() if name not in pools.QUICK},
    **sweep.MODELS,
}
SHIPPED = {
    **dict.fromkeys(("full", "retain", "retain95"), REFERENCE),
    **dict.fromkeys(("full2", "plain_r5_e15", "paraphrase_r3_e20", "simnpo", "idk"), FAILS),
    **dict.fromkeys(("retain2", "perturbed_r3_e20", "others_r3_e20", "npo"), PASSES),
}
BED = Bed("full", lambda tokenizer: unlearning_data(tokenizer, facts()))
ZOO = Zoo(MODELS, FURTHER, SHIPPED, BED)
