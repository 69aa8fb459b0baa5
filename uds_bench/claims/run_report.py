"""The record of a whole run: what `--uds-json` writes, and what the page, `compare` and `zoo results` read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StrictInt, ValidationError, field_validator

from uds_bench.claims.record import ClaimRecord
from uds_bench.claims.report_part import ReportPart, ReportTable
from uds_bench.errors import MESSAGE_LENGTH, ConfigurationError
from uds_bench.json_values import MOST_CHARACTERS, first_problem
from uds_bench.scores import Score

SCHEMA: Literal[3] = 3
WEAK = "controls are stand-ins: add "
"""What a note begins with that says which controls a manifest lacks."""
SETTINGS = "set otherwise than by default: "
"""What one begins with that says what a manifest asks by other numbers, or with other words."""
CLUSTERS = "clusters: "
"""What one begins with that says how much intervals over clusters can be relied on; people are named behind its `;`."""

TEXTS = ("cell", "checkpoint", "device", "direction", "facts")
"""Of where a score comes from, what others look up by it."""

Short = Annotated[str, Field(max_length=MESSAGE_LENGTH)]


class Tool(ReportTable):
    """What wrote the report."""

    name: Short
    version: Short


class ManifestRecord(ReportTable):
    """The manifest: where it lies, and its content's digest."""

    path: str
    digest: str


class FactTable(ReportTable):
    """The Parquet file beside the report that holds its scores fact by fact."""

    file: str
    sha256: str
    rows: int


class RunSummary(ReportTable):
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
    """Scores are as `uds-bench score` writes them.

    `of_method`: claims over the seeds of a method that was tried beside the manifest, about no candidate.
    Further keys are what audits say beside their claims: by the model of each, or as found if it is not installed.
    `table`: the file that holds scores fact by fact, with interval, notes and provenance, which the JSON then lacks.
    `wordings`: by fact, its question and entity.
    `salt` is random, so that what is known of a report's content is not confirmed by a digest that is made with it.
    """

    model_config = ConfigDict(extra="allow", frozen=True, populate_by_name=True)

    schema_: Literal[3] = Field(SCHEMA, alias="schema")
    tool: Tool
    manifest: ManifestRecord
    profile: Short
    draw: StrictInt
    started: Short
    salt: str = ""
    seconds: FiniteFloat
    environment: dict[Short, Short]
    summary: RunSummary
    loads: dict[str, int]
    claims: tuple[ClaimRecord, ...]
    of_method: tuple[ClaimRecord, ...] = ()
    scores: tuple[Score, ...]
    wordings: dict[str, dict[str, str]] = Field(default_factory=dict)
    table: FactTable | None = None

    @field_validator("scores")
    @classmethod
    def _of_texts(cls, scores: tuple[Score, ...]) -> tuple[Score, ...]:
        for at, score in enumerate(scores):
            for key in TEXTS:
                if not isinstance(score.provenance.get(key), str | None):
                    raise ValueError(f"of the one at {at} {key} is no text")
        return scores

    @property
    def told(self) -> tuple[ClaimRecord, ...]:
        """The claims that a reader is shown: of candidates, of what those rest on, and of a method."""
        return (*self.claims, *self.of_method)

    def require_salt(self, place: str) -> None:
        """Raises ConfigurationError for a report without one; `place` is where it lies."""
        if not self.salt:
            raise ConfigurationError(f"{place}: has no salt, an earlier version wrote it: run `pytest suites/` again")

    @property
    def parts(self) -> Mapping[str, Any]:
        """What audits have to say, by name."""
        return self.model_extra or {}

    @classmethod
    def read(cls, values: Mapping[str, Any], place: str, parts: Mapping[str, type[ReportPart]]) -> RunReport:
        """A report as it was written.

        Args:
            values: As the JSON has them.
            place: Where they lie, with which what is wrong with them begins.
            parts: The models of what audits have to say, by name.

        Raises:
            ConfigurationError: They are no report of this schema, or an audit's part is none of its model.
        """
        if values.get("schema") != SCHEMA:
            found = str(values.get("schema"))[:MOST_CHARACTERS]
            raise ConfigurationError(f"{place}: has schema {found}, this version reads {SCHEMA}: write it again")
        within: tuple[str, ...] = ()
        try:
            run = cls.model_validate(values)
            typed = {}
            for name in (name for name in parts if name in run.parts):
                within = (name,)
                typed[name] = parts[name].model_validate(run.parts[name])
            return run.model_copy(update=typed)
        except ValidationError as error:
            told = first_problem(error, within)
            raise ConfigurationError(f"{place}: is no run report ({told}): write it again") from None

    def to_json(self) -> dict[str, Any]:
        """Plain values that `read` makes the same report of."""
        typed = {name: part for name, part in self.parts.items() if isinstance(part, ReportPart)}
        found = self.model_dump(mode="json", by_alias=True, exclude=set(typed))
        # What a part was not given, as words that it may not repeat, has no key.
        return found | {name: part.model_dump(mode="json", exclude_unset=True) for name, part in typed.items()}
