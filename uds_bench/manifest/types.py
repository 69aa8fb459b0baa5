"""Types of a manifest's keys, which its sections share. Names of places become absolute paths.

Validated with an `Origin` as context; without one, names stay as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, GetPydanticSchema, ValidationInfo, model_validator
from pydantic_core import core_schema

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.checkpoints.spec import Dtype, Quantization, plain
from uds_bench.manifest import locate
from uds_bench.manifest.tables import Table, problem

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")
_CLAIM = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+(\[[^\[\]\s]+\])?")
NO_CLAIM = 'is no claim: write the whole id in quotes, as "depth.score" or "depth.score[npo]"'
GIVE_NAMES = 'give names, as { seed1 = "...", seed2 = "..." }'


class Origin(NamedTuple):
    """Where the paths of a manifest start. `to_come`: paths of models that are still to be made, as written."""

    folder: Path
    to_come: frozenset[str] = frozenset()


class Located(AfterValidator):
    """Of a key that names a place: a model or a file."""


def located(find: Callable[[str, Path], str]) -> Located:
    """A validator that makes a path absolute by `find`, where a file is read."""

    def absolute(text: str, info: ValidationInfo) -> str:
        origin: Origin | None = info.context
        try:
            return text if origin is None else find(text, origin.folder)
        except locate.MissingError:
            if origin is None or text not in origin.to_come:
                raise
            return str(origin.folder / text)

    return Located(absolute)


def named(table: dict[str, Any]) -> dict[str, Any]:
    """A table whose keys are names; raises for one that is none."""
    for name in table:
        if not _NAME.fullmatch(name):
            raise problem(f"{name!r} is no name: use letters, digits, '_', '-', and '.' but not first", name)
    return table


def _claim(name: str) -> str:
    if not _CLAIM.fullmatch(name):
        raise ValueError(f"{name!r} {NO_CLAIM}")
    return name


def claims(table: Any) -> Any:
    """A table whose keys are claims; raises for one that is none."""
    for name in table if isinstance(table, dict) else ():
        if not _CLAIM.fullmatch(name):
            raise problem(NO_CLAIM, name)
    return table


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty: say why")
    return text


Model = Annotated[str, located(locate.model)]
File = Annotated[str, located(locate.file)]
Folder = Annotated[str, located(locate.directory)]
Pattern = Annotated[str, located(locate.pattern)]
Count = Annotated[int, Field(ge=1, le=10**9)]
Positive = Annotated[float, Field(gt=0)]
Reason = Annotated[str, AfterValidator(_said)]
ClaimName = Annotated[str, AfterValidator(_claim)]


class CheckpointTable(Table):
    """The long form of a checkpoint; a string alone is its `model`."""

    accepts: ClassVar[str] = "a model's name, or a table such as { model = ..., adapter = ... }"

    model: Model
    adapter: Model | None = None
    quantization: Quantization | None = None
    dtype: Dtype | None = None
    revision: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _long(cls, value: Any) -> Any:
        return {"model": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _revision_of_a_hub_id(self) -> CheckpointTable:
        if self.revision is not None and Path(self.model).is_absolute():
            raise problem(f"is for hub ids, and {self.model} is a folder: remove revision", "revision")
        return self

    def spec(self) -> CheckpointSpec:
        """The checkpoint that the table names."""
        return CheckpointSpec(self.model, self.adapter, self.quantization, self.dtype, self.revision)


def written(spec: CheckpointSpec) -> dict[str, str]:
    """A checkpoint as a manifest has it, without what is not given."""
    return {key: value for key, value in asdict(spec).items() if value is not None}


Checkpoint = Annotated[
    CheckpointSpec,
    GetPydanticSchema(
        lambda _, handler: core_schema.no_info_after_validator_function(
            CheckpointTable.spec,
            handler.generate_schema(CheckpointTable),
            serialization=core_schema.plain_serializer_function_ser_schema(written),
        )
    ),
]
Checkpoints = Annotated[dict[str, Checkpoint], AfterValidator(named)]


def _numbered(value: Any) -> Any:
    return dict(enumerate(value)) if isinstance(value, list) else value


def _pool(specs: dict[str | int, CheckpointSpec]) -> dict[str, CheckpointSpec]:
    """A list's members are called after the folder of their adapter, or else of their model."""
    named: dict[str, CheckpointSpec] = {}
    for key, spec in specs.items():
        folder = plain(spec.adapter or spec.model)
        name = key if isinstance(key, str) else Path(folder).name
        if name in named:
            raise problem(f"the name {name!r} is taken by another of this list: {GIVE_NAMES}", key)
        if not _NAME.fullmatch(name):
            raise problem(f"{name!r} is no name (letters, digits, '_', '-', and '.' but not first): {GIVE_NAMES}", key)
        named[name] = spec
    return named


Pool = Annotated[dict[Any, Checkpoint], BeforeValidator(_numbered), AfterValidator(_pool)]
