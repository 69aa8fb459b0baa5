"""Unlearning methods, to be used on any causal language model; how they fare is in `trials`.

data = unlearning_data(tokenizer, facts)
unlearn(model, data, Method("npo", steps=125, lr=2e-5, batch_size=32))
"""

from importlib import import_module
from typing import Any

import lazy_loader

# Imported when it is asked for, as names of methods are looked up without torch: names and modules stand in the stub.
_from_stub, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    # It stands above, and is found here by whoever writes a method.
    return import_module("uds_bench.trials.check").check_method if name == "check_method" else _from_stub(name)
