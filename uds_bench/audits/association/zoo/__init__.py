"""The embedded models of fact association: told of people, and unlearned where people ask to be forgotten."""

from functools import partial

from uds_bench.audits.association.zoo.data import removal
from uds_bench.audits.association.zoo.recipes import FULL, FURTHER, MODELS, PREFIX, RETAIN
from uds_bench.zoo.recipe import PARENT, PASSES, REFERENCE, Bed, Zoo

ZOO = Zoo(
    MODELS,
    shipped={FULL: PARENT, RETAIN: REFERENCE, f"{PREFIX}npo": PASSES},
    further=FURTHER,
    bed=Bed(FULL, partial(removal, phrasings=1)),
)
