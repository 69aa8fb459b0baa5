"""Claims: what they say, how they are decided, and what is kept of them. These names are for suites."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
