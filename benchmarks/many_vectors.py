"""Vectors for any number of keys: of the encoder itself for the first, and drawn after these where that takes hours."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from many_rows import RELATIONS, ROWS_PER_SUBJECT

from uds_bench.facts.triplets import Triplet
from uds_bench.retrieval.encoder import Encoder, Vectors
from uds_bench.storage import content_key

BLOCK = 10_000
"""Keys a file: what was embedded before an interruption is not embedded again."""


def embedded(keys: Sequence[str], folder: Path, encoder: Encoder) -> Vectors:
    """What the encoder gives, read from the folder where it is there; says on stderr how far it has come."""
    folder.mkdir(parents=True, exist_ok=True)
    blocks, start = [], time.monotonic()
    for at in range(0, len(keys), BLOCK):
        block = list(keys[at : at + BLOCK])
        path = folder / f"{content_key([encoder.digest, block])[:32]}.npy"
        if not path.exists():
            np.save(draft := path.with_suffix(".part.npy"), encoder.embed(block))
            draft.rename(path)
            print(f"embedded {at + len(block):,} of {len(keys):,}, {time.monotonic() - start:.0f} s", file=sys.stderr)
        blocks.append(np.load(path))
    return np.concatenate(blocks)


def drawn(real: Vectors, rows: Sequence[Triplet], seed: int = 2) -> Vectors:
    """[rows, width]: `real` for the first rows, perturbed real vectors for those after them.

    A drawn row is the mean of its relation's real rows and, around that, a mix of what two real rows deviate from
    their own by, in shares that keep the spread; rows of one subject take theirs from the same two subjects.
    """
    random, per = np.random.default_rng(seed), ROWS_PER_SUBJECT
    names = {name: at for at, name in enumerate(RELATIONS)}
    relation = np.array([names[row.relation] for row in rows])
    known, found = len(real) // per * per, np.empty((len(rows), real.shape[1]), np.float32)
    means = np.stack([real[relation[: len(real)] == at].mean(0) for at in range(len(RELATIONS))])
    apart = real - means[relation[: len(real)]]
    found[: len(real)] = real
    for at in range(len(real), len(rows), BLOCK):
        places = np.arange(at, min(at + BLOCK, len(rows)))
        one, other = random.integers(known // per, size=(2, len(places) // per + 2)) * per
        subject = places // per - at // per
        mixed = 0.8 * apart[one[subject] + places % per] + 0.6 * apart[other[subject] + places % per]
        block = means[relation[places]] + mixed
        found[places] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return found
