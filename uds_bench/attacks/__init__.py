"""Attacks: changes of a checkpoint under which it is scored again; which of them a claim asks for, its audit says."""

import lazy_loader

# What takes seconds to import is imported by the first who needs it: names and their modules stand in the stub.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
