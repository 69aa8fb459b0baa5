"""The embedded models of localization: written into through masks, unlearned by four methods, and controls."""

from uds_bench.audits.localization.zoo import models
from uds_bench.audits.localization.zoo.data import removal
from uds_bench.audits.localization.zoo.models import INJECTED, PREFIX, PRETRAINED
from uds_bench.zoo.recipe import FAILS, PARENT, PASSES, REFERENCE, Bed, Zoo

SHIPPED = {
    **{PRETRAINED: REFERENCE, INJECTED: PARENT, f"{PREFIX}neutral": FAILS},
    **{f"{PREFIX}oracle_brief": PASSES, f"{PREFIX}refusing": FAILS},
}
ZOO = Zoo(models.MODELS, {**models.ABLATED, **models.TRIED, **models.CLEAR}, SHIPPED, Bed(INJECTED, removal))
