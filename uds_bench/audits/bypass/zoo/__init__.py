"""The embedded reasoning models: memorized, and unlearned so that each verdict has a case."""

from uds_bench.audits.bypass.zoo.models import MODELS, PREFIX
from uds_bench.zoo.recipe import FAILS, PARENT, PASSES, Zoo

CAUGHT = ("identifying_s1", "non_identifying", "surface", "erased", "drift")
SHIPPED = {f"{PREFIX}memorized": PARENT, f"{PREFIX}retrained": PASSES, **{f"{PREFIX}{name}": FAILS for name in CAUGHT}}
ZOO = Zoo(MODELS, shipped=SHIPPED)
