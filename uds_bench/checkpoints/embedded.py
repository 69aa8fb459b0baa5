"""How a manifest names an embedded model: `zoo:NAME` is trained here, `specimen:NAME` is shipped."""

SCHEME, SPECIMEN = "zoo:", "specimen:"
EMBEDDED = (SCHEME, SPECIMEN)


def plain(model: str) -> str:
    """The name of an embedded model's recipe; anything else as it is."""
    return model.removeprefix(SCHEME).removeprefix(SPECIMEN)
