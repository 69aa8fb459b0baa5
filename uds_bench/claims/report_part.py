"""The part of a run's report that an audit adds to its claims and scores: a model to read it back and draw it by."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, Strict
from pydantic_core import core_schema

from uds_bench.json_values import finite
from uds_bench.statistics import Interval, Rate

HUGE = 1e100
"""No measurement comes near it, and sums of larger numbers overflow."""
PERSONAL = "personal"
"""Marks a field whose words are of or about people."""


@dataclass(frozen=True)
class GroupNames:
    """Marks a field whose keys are a user's own names of groups, but for those that are the audit's own."""

    own: Collection[str]


class ReportTable(BaseModel):
    """A table that holds what is named and nothing else."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ReportPart(ReportTable):
    """All that one audit has to say.

    `MARKED`: whether each field with words of or about people is marked; else a page to publish leaves the part out.
    """

    MARKED: ClassVar[bool] = False


def unhidden(kind: type[ReportTable], inside: bool = False) -> Iterator[str]:
    """The fields about people that a page to publish could not hide completely.

    Args:
        kind: The model of a table, or of a whole part.
        inside: Whether the table stands in a field about people.

    Returns:
        Names of fields that hold keys of any words, or what is neither a table, a text nor a number.

    Example:
        >>> class Replies(ReportPart):
        ...     told: Annotated[dict[str, int], PERSONAL]
        ...     first: Annotated[tuple[str, ...], PERSONAL]
        >>> list(unhidden(Replies))
        ['told']
    """
    for name, field in kind.model_fields.items():
        personal, types = inside or PERSONAL in field.metadata, list(_types(field.annotation))
        if personal and not all(map(_is_hidden, types)):
            yield name
        for one in types:
            if isinstance(one, type) and issubclass(one, ReportTable):
                yield from unhidden(one, personal)


def _types(annotation: Any) -> Iterator[Any]:
    """An annotation, and those that it is made of."""
    yield annotation
    if (made_of := get_origin(annotation)) is not Literal:
        for one in get_args(annotation)[: 1 if made_of is Annotated else None]:
            yield from _types(one)


def _is_hidden(annotation: Any) -> bool:
    made_of = get_origin(annotation)
    if made_of is dict:
        return get_origin(get_args(annotation)[0]) is Literal
    if made_of is not None:
        return made_of in (tuple, list, Annotated, Literal, Union, UnionType)
    plain = isinstance(annotation, type) and issubclass(annotation, (ReportTable, str, int, float, NoneType))
    return plain or annotation is Ellipsis


def _measured(value: Any) -> Any:
    """A plain number; None in the place of one that is not finite, or that no sum could hold."""
    found = finite(value)
    return None if type(found) in (int, float) and not -HUGE < found < HUGE else found


Measurement = Annotated[float | None, Strict(), BeforeValidator(_measured)]
KnownNumber = Annotated[float, Strict(), Field(gt=-HUGE, lt=HUGE), BeforeValidator(finite)]
Count = Annotated[int, Strict(), Field(ge=0, lt=2**53), BeforeValidator(finite)]


class ReportedRate(ReportTable):
    """A value with its 95% interval, over so many units."""

    value: Measurement
    low: Measurement
    high: Measurement
    units: Count

    @classmethod
    def of(cls, found: Rate) -> ReportedRate:
        """As the report has it."""
        return cls(**found.to_json())

    @property
    def drawn(self) -> tuple[float | None, Interval | None]:
        """The value and, where both ends are known, its interval."""
        return self.value, span(self.low, self.high, self.units)


def span(low: float | None, high: float | None, units: int = 0) -> Interval | None:
    """What lies between two ends, as a report has them.

    Args:
        low: The lower end, in the unit of what it bounds; None where it is not known.
        high: The upper end.
        units: How many people or models were resampled; 0 where the report does not tell.

    Returns:
        The interval, None where one of its ends is not known.

    Example:
        >>> span(0.7, 0.9, 20), span(0.7, None)
        (Interval(low=0.7, high=0.9, method='', units=20), None)
    """
    return None if low is None or high is None else Interval(low, high, "", units)


@dataclass(frozen=True)
class Each:
    """Refuses a table of free keys that lacks one of these names."""

    names: tuple[str, ...]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """By the check that all names are there."""
        return core_schema.no_info_after_validator_function(self._whole, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """With the names as those that are required."""
        return handler(schema) | {"required": [*self.names]}

    def _whole(self, found: dict[str, Any]) -> dict[str, Any]:
        if lacking := [name for name in self.names if name not in found]:
            raise ValueError(f"lacks {', '.join(lacking)}")
        return found
