"""Reading a card that somebody sent: a card of a wrong form is refused, with the place of the fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError, model_validator

from uds_bench.cards.statement import PREDICATE, TYPE
from uds_bench.errors import ConfigurationError
from uds_bench.json_values import first_problem
from uds_bench.storage import load_document, read_text

ADVICE = "name what `uds-bench card` wrote"


class Digest(BaseModel):
    """What tells a file from others."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Described(BaseModel):
    """A file by its name."""

    name: str
    digest: Digest


class Annotations(BaseModel):
    """What a card says of its run report; its numbers are compared with the run, whatever they are."""

    candidate: str


class Input(Described):
    """A file that the card was made of; the first is the run report."""

    annotations: Annotations | None = None


class Predicate(BaseModel):
    """What the tests came to."""

    result: str
    configuration: list[Input]

    @model_validator(mode="after")
    def _has_a_run(self) -> Predicate:
        if not self.configuration or self.configuration[0].annotations is None:
            raise ValueError("configuration has no run report with annotations")
        return self


class Statement(BaseModel):
    """The parts of a card that are read by themselves."""

    kind: str = Field(alias="_type")
    predicate_kind: str = Field(alias="predicateType")
    subject: list[Described]
    predicate: Predicate


def read_statement(path: Path) -> dict[str, Any]:
    """A card. Raises ConfigurationError, in a line, for what is none."""
    try:
        values = load_document(read_text(path))
        found = Statement.model_validate(values)
    except (OSError, ValueError) as error:
        told = first_problem(error) if isinstance(error, ValidationError) else error
        raise ConfigurationError(f"{path}: is no release card ({told}): {ADVICE}") from None
    if (found.kind, found.predicate_kind) != (TYPE, PREDICATE):
        raise ConfigurationError(f"{path}: is a statement of another kind: {ADVICE}")
    read: dict[str, Any] = values
    return read
