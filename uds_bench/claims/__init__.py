"""How a claim is decided, held to goldens and waivers, and recorded; what each says stands in its audit."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
