"""FAISS indexes over unit vectors, by factory name and by how they are searched."""

from __future__ import annotations

import re
from typing import Any, cast

import numpy as np

from uds_bench.errors import ConfigurationError
from uds_bench.extras import require
from uds_bench.retrieval.encoder import Table

PARAMETER = re.compile(r"(\w+)\s*=\s*(\d+(?:\.\d+)?)")


def index_of(table: Table, name: str) -> Any:
    """An index over the vectors of `table` by inner product, trained where its kind needs that.

    `name`: a factory name and, after a semicolon, FAISS search parameters: `IVF4096,SQ8; nprobe=32`. Raises
    ConfigurationError where either is none of FAISS's, does not fit the width, or needs more rows to be trained on.
    """
    require("a dense retriever", "faiss")
    import faiss  # takes a second to import

    factory, _, search = name.partition(";")
    parameters, space = _parameters(search, name), cast(Any, faiss.ParameterSpace())
    width = table.blocks[0].shape[1]
    try:
        index = faiss.index_factory(width, factory.strip(), faiss.METRIC_INNER_PRODUCT)
        # Before the training, which may take an hour, so that a slip is told at once.
        space.set_index_parameters(index, parameters)
        if not index.is_trained:
            index.train(np.concatenate(table.blocks))
        for _, block in table:
            index.add(block)
    except RuntimeError as error:
        reason = " ".join(str(error).split(": ", 1)[-1].split())[:200]  # what comes before names FAISS's own source
        raise _unusable(name, f"FAISS refuses it for {len(table)} rows of width {width} ({reason})") from error
    return index


def _parameters(search: str, name: str) -> str:
    """What follows the semicolon as FAISS reads it, without a space."""
    found = [PARAMETER.fullmatch(part.strip()) for part in search.split(",")] if search.strip() else []
    for one in found:
        # FAISS takes 0 and fails in the first lookup; it takes -1 for as many as there are.
        if one is None or float(one[2]) < 1:
            raise _unusable(name, "what follows the semicolon must be name=number, each 1 or more, with commas between")
    return ",".join(f"{one[1]}={one[2]}" for one in found if one)


def _unusable(name: str, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"[lmlm] retriever index {name!r}: {reason}; use Flat, which is exact, or another FAISS factory name with its "
        "search parameters, such as 'IVF4096,SQ8; nprobe=32'"
    )
