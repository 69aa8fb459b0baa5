"""[association] of a manifest: whose memory is looked into, and who is to be forgotten."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from uds_bench.audits.association.asking import FILLER
from uds_bench.audits.association.ranking import ALPHA
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.facts.similar_names import MOST_VARIANTS as SIMILAR
from uds_bench.manifest import locate
from uds_bench.manifest.attack_tables import FewerBitsOrTaught
from uds_bench.manifest.section import Section
from uds_bench.manifest.tables import problem
from uds_bench.manifest.types import (
    Checkpoint,
    Checkpoints,
    Count,
    File,
    located,
)

ASSOCIATION_KEYS = ("model", "smaller", "retain")
"""The models of [association] that are no candidates."""


class Association(Section):
    """`model`: the one whose memory is audited, before anything was forgotten; `smaller`: one trained alike, of fewer
    weights. `candidates`: what methods made of it, of which `must_fail` are controls; `retain`: a model that never saw
    who is to be forgotten.

    `subjects`: a .jsonl with id, name, cohort and facts, or "people", which are built in. `forgotten`: the ids of those
    who are to be forgotten, or `forget_set`, the facts file that was made of them. `requests`: a .jsonl of requests,
    whose people are to be forgotten as well, each held against strangers who are told the same facts; in its place
    nobody is built in. `names`: a file of strangers' names, one a line, for scripts of which none are built in.
    `presence`: a table of web presence, by which cohorts of `cohort_size`, or halves, take the place of those of the
    file.

    `strangers`: how many people never seen are asked about, invented ones beside those of the file, and how many for
    each request; as many as a few requests need, or one, where it is not given.

    `properties`: a folder with listing.json, counterfactuals.json and templates.json, or "embedded". Of each property
    the first `templates` are asked, with `counterfactuals` values, about `similar_names` names that look like the
    person's; `alpha` weighs these. `meaning`: whether counterfactuals that mean what is true are left out. `held_out`:
    places, from 0, of templates that no forget set is made of, and that are asked of candidates alone; the last three,
    or half of fewer than six, where it is not given. `reply_tokens`: tokens of a reply beside the longest value, and
    those of one fact in four may be twice as long. `attacks`: what candidates are asked under as well.
    """

    NAME: ClassVar[str] = "association"

    model: Checkpoint | None = None
    smaller: Checkpoint | None = None
    retain: Checkpoint | None = None
    candidates: Checkpoints = Field(default_factory=dict)
    must_fail: Annotated[tuple[str, ...], Field(strict=False)] = ()
    subjects: Annotated[str, located(locate.subjects)] = "people"
    forgotten: Annotated[tuple[str, ...], Field(strict=False)] = ()
    forget_set: File | None = None
    requests: File | None = None
    names: File | None = None
    presence: File | None = None
    cohort_size: Count | None = None
    properties: Annotated[str, located(locate.properties)] = "embedded"
    templates: Count | None = None
    counterfactuals: Count | None = None
    similar_names: Count = SIMILAR
    alpha: Annotated[float, Field(ge=0)] = ALPHA
    meaning: bool = True
    strangers: Count | None = None
    held_out: Annotated[tuple[Annotated[int, Field(ge=0)], ...] | None, Field(strict=False)] = None
    reply_tokens: Count = FILLER
    attacks: FewerBitsOrTaught = FewerBitsOrTaught()

    @model_validator(mode="after")
    def _fits_together(self) -> Association:
        for name in ASSOCIATION_KEYS:
            if name in self.candidates:
                raise problem(f"{name!r} is a key of this section: give the candidate another name", "candidates")
        self.require_controls("candidates", self.candidates, must_fail=self.must_fail)
        if self.candidates and self.model is None:
            raise problem("are held against the model that they were made of: name it under model", "candidates")
        if self.forgotten and self.forget_set is not None:
            raise problem("names those who are to be forgotten, as forgotten does: keep one of them", "forget_set")
        if self.cohort_size is not None and self.presence is None:
            raise problem("is of the cohorts that a table of web presence gives: name it under presence", "cohort_size")
        if self.presence is not None and self.subjects == "people":
            raise problem("is of people of a file: name it under subjects", "presence")
        return self

    def lacks(self) -> list[str]:
        """What would have to be added before anything can be judged."""
        return [] if self.model is not None else ["[association] model"]

    def weak(self) -> str:
        """The keys that would name controls, in the place of which a stand-in stands."""
        needs_retain = self.candidates and self.retain is None and self.requests is None
        return "[association] retain" if needs_retain else ""

    def checkpoints(self) -> dict[str, CheckpointSpec]:
        """Every model by name; none where there is no model whose memory is audited."""
        if self.model is None:
            return {}
        known = {name: getattr(self, name) for name in ASSOCIATION_KEYS}
        return {name: spec for name, spec in known.items() if spec is not None} | self.candidates

    def attacked(self) -> list[str]:
        """The attacks that the file names."""
        return self.attacks.names()

    def parent(self) -> str | None:
        """The checkpoint that the judged ones were made from, where the file names it."""
        return "model" if self.model is not None else None

    def judged(self) -> list[str]:
        """The models that claims speak of."""
        return [name for name in self.candidates if name not in self.must_fail]


SECTION = Association
