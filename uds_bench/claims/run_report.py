"""The record of a whole run: what `--uds-json` writes, and what the page, `compare` and `zoo results` read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StrictInt, ValidationError

from uds_bench.claims.record import ClaimRecord
from uds_bench.errors import ConfigurationError
from uds_bench.plain import MOST_CHARACTERS, first_problem
from uds_bench.scores import Score

SCHEMA: Literal[2] = 2
WEAK = "controls are weak: add "
"""What a note begins with that says which controls a manifest lacks."""


class Part(BaseModel):
    """A table that holds what is named and nothing else."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Tool(Part):
    """What wrote the report."""

    name: str
    version: str


class ManifestRecord(Part):
    """The manifest: where it lies, and its content's digest."""

    path: str
    digest: str


class FactTable(Part):
    """The Parquet file beside the report that holds its scores fact by fact."""

    file: str
    sha256: str
    rows: int


class RunSummary(Part):
    """`counts`: claims by status; they add up to those planned.

    `problems` make the run red whatever the claims say. `whole`: whether no claim of the files that were run was left
    out, by name or by an option.
    """

    planned: int = Field(ge=0)
    counts: dict[str, int]
    problems: list[str]
    notes: list[str]
    ok: bool
    whole: bool = False


class RunReport(BaseModel):
    """Scores are as `uds-bench score` writes them. Further keys are what an audit has to say beside its claims.

    `table`: the file that holds scores fact by fact, with interval, notes and provenance, which the JSON then lacks.
    `wordings`: by fact, its question and entity.
    `salt` is random, so that what is known of a report's content is not confirmed by a digest that is made with it.
    """

    model_config = ConfigDict(extra="allow", frozen=True, populate_by_name=True)

    schema_: Literal[2] = Field(SCHEMA, alias="schema")
    tool: Tool
    manifest: ManifestRecord
    profile: str
    draw: StrictInt
    started: str
    salt: str = ""
    seconds: FiniteFloat
    environment: dict[str, str]
    summary: RunSummary
    loads: dict[str, int]
    claims: tuple[ClaimRecord, ...]
    scores: tuple[Score, ...]
    wordings: dict[str, dict[str, str]] = Field(default_factory=dict)
    table: FactTable | None = None

    @property
    def parts(self) -> Mapping[str, Any]:
        """What audits have to say, by name."""
        return self.model_extra or {}

    @classmethod
    def read(cls, values: Mapping[str, Any], place: str) -> RunReport:
        """Raises ConfigurationError, in a line that begins with `place`, for what is no report of this schema."""
        if values.get("schema") != SCHEMA:
            found = str(values.get("schema"))[:MOST_CHARACTERS]
            raise ConfigurationError(f"{place}: has schema {found}, this version reads {SCHEMA}: write it again")
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise ConfigurationError(f"{place}: is no run report ({first_problem(error)}): write it again") from None

    def to_json(self) -> dict[str, Any]:
        """Plain values that `read` makes the same report of."""
        return self.model_dump(mode="json", by_alias=True)
