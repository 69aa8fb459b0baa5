"""The embedded reasoning models: memorized, and unlearned so that each verdict has a case."""

from typing import Any

from uds_bench.audits.bypass.zoo.data import canaries
from uds_bench.audits.bypass.zoo.models import MODELS, PREFIX
from uds_bench.methods.data import Data
from uds_bench.methods.traces import Course, lessons
from uds_bench.zoo.recipe import FAILS, PARENT, PASSES, Bed, Zoo

CAUGHT = ("identifying_s1", "non_identifying", "surface", "erased", "drift")
SHIPPED = {f"{PREFIX}memorized": PARENT, f"{PREFIX}retrained": PASSES, **{f"{PREFIX}{name}": FAILS for name in CAUGHT}}


def to_forget(tokenizer: Any) -> Data:
    """Every turn that the memorized model was taught about the authors to forget, and about those to retain."""
    forget, retain = (lessons(tokenizer, canaries().split(name), Course()) for name in ("forget", "retain"))
    return Data(forget, retain, ())


ZOO = Zoo(MODELS, shipped=SHIPPED, bed=Bed(f"{PREFIX}memorized", to_forget))
