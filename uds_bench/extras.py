"""Packages that only some runs need; each comes with an extra of this one."""

from importlib.util import find_spec

from uds_bench.errors import ExtraError

LMLM = ("sentence_transformers", "faiss", "bm25s")
EXTRAS = {**dict.fromkeys(LMLM, "lmlm"), "bitsandbytes": "nf4", "lm_eval": "lm-eval", "pyarrow": "parquet"}
EXTRAS |= {name: name for name in ("mlflow", "wandb", "trackio", "ray")}
EXTRAS |= {"submitit": "slurm", "obstore": "cloud", "compressed_tensors": "compressed"}
"""By package as it is imported, the extra that installs it."""


def require(what: str, *packages: str) -> None:
    """Raises ExtraError, in a line with the pip command, where `what` lacks a package; nothing is imported."""
    for package in packages:
        if not is_installed(package):
            raise ExtraError(f"{what} needs {package}, which is missing: pip install 'uds-bench[{EXTRAS[package]}]'")


def is_installed(package: str) -> bool:
    """Whether a package can be imported; nothing is."""
    try:
        return find_spec(package) is not None
    except ImportError:  # an import hook refuses it
        return False
