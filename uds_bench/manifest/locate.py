"""What a name in a manifest points to: a local path, seen from the manifest's folder, or the hub.

All functions raise ValueError saying what is missing, what is near it, and what to do.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from uds_bench.checkpoints.spec import EMBEDDED
from uds_bench.errors import did_you_mean


class MissingError(ValueError):
    """A path that is not there. A manifest may name many; they are told together."""


_MOST_LOOKED_AT = 1_000
"""Folders beside a missing one, in which a checkpoint is looked for."""
_HUB_ID = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)


def model(text: str, folder: Path) -> str:
    """A folder's absolute path; `zoo:NAME`, `specimen:NAME` and hub ids (`name`, `org/name`) stay as they are.

    A name such as `runs/npo` is a missing folder, and no hub id, where `runs/` beside the manifest holds a checkpoint.
    """
    if text.startswith(EMBEDDED):
        if text in EMBEDDED:
            raise ValueError(f"{text!r} names no embedded model: write {text}NAME")
        return text
    target = _target(text, folder)
    if _is_folder(target):
        return str(target)
    if _exists(target):
        raise ValueError(f"{target} is a file: name the folder that holds config.json and the weights")
    if not _HUB_ID.fullmatch(text) or ("/" in text and _holds_checkpoint(target.parent)):
        raise MissingError(_missing("folder", text, target))
    return text


def file(text: str, folder: Path) -> str:
    """A file's absolute path."""
    target = _target(text, folder)
    if not _exists(target):
        raise MissingError(_missing("file", text, target))
    if _is_folder(target):
        raise ValueError(f"{target} is a folder: name a file")
    return str(target)


def directory(text: str, folder: Path) -> str:
    """A folder's absolute path."""
    target = _target(text, folder)
    if not _exists(target):
        raise MissingError(_missing("folder", text, target))
    if not _is_folder(target):
        raise ValueError(f"{target} is a file: name a folder")
    return str(target)


def source(text: str, folder: Path) -> str:
    """A source of facts: `authors`, a local file or folder as an absolute path, else the hub's `tofu/NAME`."""
    if text == "authors":
        return text
    target = _target(text, folder)
    if _exists(target):
        return str(target)
    if re.fullmatch(r"tofu/[A-Za-z0-9_-]+", text):
        return text
    missing = _missing("file or folder", text, target)
    raise MissingError(f'{missing} (or use "authors", which is built in, or "tofu/forget10")')


def named_or(word: str, find: Callable[[str, Path], str]) -> Callable[[str, Path], str]:
    """A word that stands for what is built in, or a local place as `find` has it."""
    return lambda text, folder: text if text == word else find(text, folder)


canaries, testbed, subjects = named_or("authors", file), named_or("people", file), named_or("people", file)
properties = named_or("embedded", directory)


def masks(text: str, folder: Path) -> str:
    """A file or folder as an absolute path, or an embedded model, whose masks lie beside its weights."""
    if text.startswith(EMBEDDED):
        return text
    target = _target(text, folder)
    return str(target) if _is_folder(target) else file(text, folder)


def pattern(text: str, folder: Path) -> str:
    """An absolute pattern for `glob` that matches at least one file."""
    target = _target(text, folder)
    if _exists(target):
        return glob.escape(file(text, folder))
    absolute = os.path.join(glob.escape(str(folder)), os.path.expanduser(text))  # noqa: PTH111, PTH118
    if not matches(absolute):
        raise MissingError(_missing("file", text, target))
    return absolute


def matches(absolute: str) -> tuple[Path, ...]:
    """The files of a `pattern`, sorted."""
    found = (Path(name) for name in glob.glob(absolute, recursive=True))  # noqa: PTH207
    return tuple(sorted(path for path in found if path.is_file()))


def _target(text: str, folder: Path) -> Path:
    if not text.strip():
        raise ValueError("is empty: name a folder, a file or a hub id")
    return Path(os.path.abspath(folder / os.path.expanduser(text)))  # noqa: PTH100, PTH111


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112  (unlike pathlib, it raises for no name)


def _exists(path: Path) -> bool:
    return os.path.exists(path)  # noqa: PTH110


def _holds_checkpoint(folder: Path) -> bool:
    """Whether one of its folders is a checkpoint: a clone of code may be called as an organization of the hub is."""
    return any(
        _exists(one / name)
        for one in islice(folder.glob("*"), _MOST_LOOKED_AT)
        for name in ("config.json", "adapter_config.json")
    )


def _missing(what: str, text: str, target: Path) -> str:
    """Says that a path is missing, with names like it from the nearest folder that exists."""
    parent = next(path for path in target.parents if _is_folder(path))
    wrong = target.relative_to(parent).parts
    try:
        beside = sorted(path.name for path in parent.iterdir())
    except OSError:
        beside = []
    shown = Path(*Path(text).parts[: -len(wrong)])
    return f"no {what} {target}: {did_you_mean(wrong[0], beside, 'check the path', shown.joinpath)}"
