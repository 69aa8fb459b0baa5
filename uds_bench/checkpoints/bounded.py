"""Checks of a stranger's configuration and tokenizer, before a library makes whatever they ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from transformers import AutoConfig, AutoTokenizer  # before the child has limits: they are for what is read

from uds_bench.children import Child, ChildError, LimitError
from uds_bench.errors import CheckpointError
from uds_bench.storage import load_json

MOST_BYTES = 1 << 26
"""Of one file: the largest tokenizers have half as many."""
MOST = 1 << 20
"""Larger numbers are uncommon: a child with limits of time and memory first tries what a library makes of them."""
SECONDS = 20
_READ = {"config.json": MOST, "generation_config.json": MOST, "tokenizer_config.json": MOST >> 6}
"""Files, and the number above which one in them is uncommon: a tokenizer's are small, and each may make a token."""
_MAY_BE_LARGE = frozenset({"model_max_length", "rope_theta"})
"""Tokenizers without a limit say 10^30, and nothing is made of a base of angles."""


def require_small(files: Iterable[Path], name: str) -> None:
    """Raises CheckpointError for a file that is read whole and larger than any such file is, or has no end."""
    for file in files:
        if not (size := file.stat().st_size):  # as what the system makes while it is read, without end perhaps
            raise CheckpointError(f"checkpoint {name}: {file.name} is empty: save it again, or take it out")
        if size > MOST_BYTES:
            raise CheckpointError(
                f"checkpoint {name}: {file.name} has {size >> 20} MiB, more than {MOST_BYTES >> 20}: it is no such "
                "file, save it again"
            )


def require_bounded(folder: Path, name: str) -> None:
    """Raises CheckpointError where reading configuration and tokenizer takes more time or memory than a child has.

    Files without an uncommon number are not tried: nothing in them tells a library to make that much.
    """
    written = tuple(file.read_bytes() if (file := folder / one).is_file() else b"" for one in _READ)
    if told := _beyond(written, str(folder)):
        raise CheckpointError(
            f"checkpoint {name}: its configuration and tokenizer cannot be read ({told}): correct the large numbers in "
            "config.json and tokenizer_config.json"
        )


@lru_cache(maxsize=64)
def _beyond(written: tuple[bytes, ...], folder: str) -> str:
    """How reading went beyond the limits; "" where it did not, whatever else is wrong."""
    try:
        limits = zip(written, _READ.values(), strict=True)
        is_common = all(_is_common(load_json(raw), most) for raw, most in limits if raw)
    except ValueError:
        return ""  # whoever reads it says what is wrong
    if is_common:
        return ""
    child = Child("uds_bench.checkpoints.bounded:read", SECONDS)
    try:
        child.ask(folder)
    except LimitError as error:
        return str(error)
    except ChildError as error:
        return "it takes more memory than there is" if "emory" in str(error) else ""
    finally:
        child.close()
    return ""


def _is_common(said: Any, most: int) -> bool:
    # What is listed within a list may be repeated by a number beside it.
    return not _has_nested_list(said) and all(
        number <= most for key, number in numbers(said) if key not in _MAY_BE_LARGE
    )


def _has_nested_list(said: Any) -> bool:
    if isinstance(said, dict):
        return any(map(_has_nested_list, said.values()))
    return isinstance(said, list) and any(isinstance(one, list) or _has_nested_list(one) for one in said)


def numbers(said: Any, key: str = "") -> Iterator[tuple[str, float]]:
    """Every number in a configuration, and in those within it, with its key.

    Args:
        said: What JSON holds, or a library made of it.
        key: By which it stands in another one.

    Yields:
        Key and number; of a list's numbers the list's key.

    Example:
        >>> list(numbers({"r": 8, "inner": {"ends": [1, 2.5]}}))
        [('r', 8), ('ends', 1), ('ends', 2.5)]
    """
    if isinstance(said, dict):
        for name, one in said.items():
            yield from numbers(one, str(name))
    elif isinstance(said, list | tuple | set):
        for one in said:
            yield from numbers(one, key)
    elif isinstance(said, int | float):
        yield key, said


def read(folder: str) -> bool:
    """Read a folder's configuration and tokenizer as a run does; it is for the time and memory that it takes."""
    AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    return True
