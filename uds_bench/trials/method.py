"""An unlearning method of a user's: a callable that is found by name, and what it is given."""

from __future__ import annotations

import inspect
import os
import re
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, SupportsIndex, get_args

from uds_bench.errors import ConfigurationError, did_you_mean
from uds_bench.methods.method import MethodName
from uds_bench.storage import content_key, file_digest

DECLARED = "expected_failures"
"""Of a function: by claim why it is not meant to pass it."""
GIVEN = ("model", "tokenizer", "forget", "retain", "seed")
OPTIONAL = "reference"
UNCHANGED = "identity"
"""The built-in method that is none."""
MOST_SOURCES = 5_000
"""Files of Python in a method's folder."""
CALLED = f"it is called with {', '.join(GIVEN)}, and {OPTIONAL} where it has such a parameter"


class Lessons(list[dict[str, Any]]):
    """What a method is given, and whether it looked into it."""

    def __init__(self, lessons: Sequence[dict[str, Any]]) -> None:
        super().__init__(lessons)
        self.read = False

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self.read = True
        return super().__iter__()

    def __getitem__(self, place: SupportsIndex | slice) -> Any:
        self.read = True
        return super().__getitem__(place)


@dataclass(frozen=True)
class UserMethod:
    """`name`: `module:function`. `code`: digest of the source that it comes with. `expected`: claims that it is not
    meant to pass, by id, each with the reason: what its function says as `expected_failures`."""

    name: str
    function: Callable[..., Any]
    code: str
    expected: Mapping[str, str] = field(default_factory=dict)

    @property
    def short(self) -> str:
        """What its models are called by: the function's name."""
        return re.sub(r"[^A-Za-z0-9_]", "", self.name.rpartition(":")[2].rpartition(".")[2]) or "method"

    @property
    def is_importable(self) -> bool:
        """Whether another process finds the same by its name."""
        if ":" not in self.name:
            return True
        try:
            return not self.name.startswith("__main__:") and _imported(self.name) is self.function
        except (Exception, SystemExit):  # whatever a module does when it is imported
            return False

    @property
    def takes_reference(self) -> bool:
        """Whether it wants the model as it was, frozen."""
        return OPTIONAL in inspect.signature(self.function).parameters

    @classmethod
    def of(cls, function: Callable[..., Any]) -> UserMethod:
        """A callable at hand. Raises ConfigurationError for one that takes other arguments."""
        if not callable(function):
            raise ConfigurationError(f"{function!r}: is no function (of type {type(function).__name__}): {CALLED}")
        name = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', type(function).__name__)}"
        try:
            signature = inspect.signature(function)
            given = GIVEN + ((OPTIONAL,) if OPTIONAL in signature.parameters else ())
            signature.bind(**dict.fromkeys(given))
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"{name}: takes other arguments ({error}): {CALLED}") from None
        declared = getattr(function, DECLARED, {})
        if not isinstance(declared, dict) or not all(isinstance(why, str) and why.strip() for why in declared.values()):
            raise ConfigurationError(f"{name}: its {DECLARED} must be a dict of claims, each with a reason")
        return cls(name, function, code_of(function), declared)

    @classmethod
    def find(cls, name: str) -> UserMethod:
        """A method by `module:function`, from the current folder too, or a built-in one by its name.

        Raises ConfigurationError, in a line, for what cannot be imported or called.
        """
        if ":" not in name:
            known = built_in(name)  # before anything heavy is imported
            from uds_bench.trials.builtin import builtin

            return builtin(known)
        if (here := str(Path.cwd())) not in sys.path:
            sys.path.insert(0, here)
        try:
            function = _imported(name)
        except (Exception, SystemExit) as error:
            told = " ".join(str(error).split())
            raise ConfigurationError(f"{name}: cannot be imported ({type(error).__name__}: {told})") from None
        if not callable(function):
            raise ConfigurationError(
                f"{name}: is no function (of type {type(function).__name__}): name one, as package.module:function"
            )
        return replace(cls.of(function), name=name)


def built_in(name: str) -> MethodName:
    """A built-in method's name. Raises ConfigurationError for what is none."""
    tried = [one for one in get_args(MethodName) if one != UNCHANGED]
    if name not in tried:
        near = did_you_mean(name, tried)
        raise ConfigurationError(f"{name!r}: is no built-in method, and no package.module:function: {near}")
    known: MethodName = tried[tried.index(name)]
    return known


def _imported(name: str) -> Any:
    """What stands at `module:attribute`."""
    module, _, attribute = name.partition(":")
    return reduce(getattr, attribute.split("."), import_module(module))


def code_of(function: Callable[..., Any]) -> str:
    """The source of a method's folder and of those in it, by content, as what it calls may change too. Something new
    each time of one without a file, as typed in a shell, and of one that is no function of a module: its source does
    not tell what a partial, a closure or an instance holds. Raises ConfigurationError for more than `MOST_SOURCES`."""
    plain = inspect.unwrap(function)
    is_named = inspect.isfunction(plain) and plain.__qualname__.isidentifier()
    source = inspect.getsourcefile(plain) if is_named else None
    if source is None or not Path(source).is_file():
        return secrets.token_hex(16)
    folder = Path(source).parent
    found = sorted(islice(_sources(folder), MOST_SOURCES + 1))
    if len(found) > MOST_SOURCES:
        raise ConfigurationError(
            f"{folder}: holds more than {MOST_SOURCES:,} files of Python beside the method: give it a folder of its own"
        )
    return content_key([[file.relative_to(folder).as_posix(), file_digest(file)] for file in found])


def _sources(folder: Path) -> Iterator[Path]:
    """What can be imported from a folder, links to folders too; environments and hidden folders are no source."""
    for place, below, names in os.walk(folder, followlinks=True):
        at = Path(place)
        below[:] = [one for one in below if not one.startswith((".", "__pycache__"))]
        below[:] = [one for one in below if not (at / one / "pyvenv.cfg").exists()]
        yield from (at / name for name in names if name.endswith(".py") and (at / name).is_file())
