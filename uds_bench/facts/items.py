"""What files hold: items with an id, whose complaints name item and key, and sequences of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Self, SupportsIndex, TypeVar, overload

from uds_bench.errors import FactError
from uds_bench.storage import content_key


@dataclass(frozen=True)
class Named:
    """Base of what has an id."""

    id: str

    @property
    def kind(self) -> str | None:
        """What sort it is of; None where there are no sorts."""
        return None

    def error(self, key: str, problem: str) -> FactError:
        """What is wrong with one of its keys."""
        called = re.findall("[A-Z][a-z]*", type(self).__name__)[-1].lower()  # of a DeletionRequest, request
        return FactError(f"{called} {self.id!r}: key {key!r} {problem}")

    def require_texts(self, *keys: str) -> None:
        """Raise FactError for the first of some keys that holds no text."""
        for key in keys:
            if not getattr(self, key).strip():
                raise self.error(key, "is empty; give it a text")


N = TypeVar("N", bound=Named)


class Items(tuple[N, ...]):
    """An immutable sequence in the order of its source; a slice of it is one too.

    Raises FactError for an id that occurs twice.
    """

    def __new__(cls, items: Iterable[N] = ()) -> Self:
        """Checked as it is made: see the class."""
        found, seen = super().__new__(cls, items), set[str]()
        for item in found:
            if item.id in seen:
                raise item.error("id", "occurs twice; make every id unique")
            seen.add(item.id)
        return found

    @overload
    def __getitem__(self, index: SupportsIndex) -> N: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: SupportsIndex | slice) -> N | Self:
        return type(self)(super().__getitem__(index)) if isinstance(index, slice) else super().__getitem__(index)

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of the canonical JSON of all items, in order."""
        return content_key([asdict(item) for item in self])
