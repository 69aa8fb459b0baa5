"""What can go wrong, one clear line each: what, where (file, key, line), what to do."""


class UdsError(Exception):
    """Base of every error that the user can mend."""


class ConfigurationError(UdsError):
    """A manifest, option, waiver or expectation that cannot be used; pytest exits 4."""


class CheckpointError(UdsError):
    """A checkpoint that cannot be loaded, read or compared with the full model."""


class ExtraError(UdsError):
    """A package that only some runs need is not installed; the claims that need it are undecided, others are not."""


class FactError(UdsError):
    """A fact, or a source of facts, that cannot be used."""


class UdsWarning(UserWarning):
    """What the user should see although the run goes on; warnings of other packages are not shown."""
