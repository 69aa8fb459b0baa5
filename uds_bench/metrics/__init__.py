"""The metrics of one model, a module each: a number a fact; how metrics are judged is in `audits.metrics`."""

import lazy_loader

# What takes seconds to import is imported by the first who needs it: names and their modules stand in the stub.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
