"""Kinds of figures, one a module: pure functions from numbers to escaped markup; the page itself is `report`."""
