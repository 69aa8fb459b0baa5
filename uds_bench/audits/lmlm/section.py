"""[lmlm] of a manifest: which models look facts up, and in which databases."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from uds_bench.audits.lmlm.asking.deletion import RADIUS, Policy
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.errors import ConfigurationError
from uds_bench.facts.lookup_prompts import Wording
from uds_bench.manifest.attack_tables import FewerBits
from uds_bench.manifest.section import Section
from uds_bench.manifest.tables import Table, problem
from uds_bench.manifest.types import (
    Checkpoint,
    Checkpoints,
    Count,
    Model,
    Pattern,
)
from uds_bench.retrieval.settings import FALLBACKS, Fallback, Kind, RetrieverSettings


class RetrieverTable(Table):
    """What the manifest sets of the retriever, as in `retrieval.settings`; None leaves it to the audit. `fallback`:
    those under which everything is asked; claims that do not name one are of the first."""

    kind: Kind | None = None
    model: Model | None = None
    threshold: float | None = None
    top_k: Count | None = None
    fallback: Annotated[tuple[Fallback, ...], Field(strict=False, min_length=1)] = FALLBACKS
    index: str | None = None

    @model_validator(mode="after")
    def _can_be(self) -> RetrieverTable:
        try:
            self.settings()
        except ConfigurationError as error:
            raise problem(str(error).removeprefix("retriever: "), "threshold") from error
        return self

    def settings(self) -> RetrieverSettings:
        """The settings of the retriever under the first fallback."""
        return RetrieverSettings(**self.model_dump(exclude_none=True) | {"fallback": self.fallback[0]})


class LmlmSection(Section):
    """`model`: the one that is judged, or `models` by name, of which `must_fail` are controls.

    `databases` and `prompts` are patterns, and `locate.matches` gives their files; without any the embedded databases
    are asked. `wordings`: those that are asked, all where left out. `deletion`: a policy of `asking.deletion`,
    with its `radius`. `transitive`: groups of aliases that share a name are one. `attacks`: what weights are asked
    under as well.
    """

    NAME: ClassVar[str] = "lmlm"

    model: Checkpoint | None = None
    models: Checkpoints = Field(default_factory=dict)
    must_fail: Annotated[tuple[str, ...], Field(strict=False)] = ()
    databases: Annotated[tuple[Pattern, ...], Field(strict=False)] = ()
    prompts: Annotated[tuple[Pattern, ...], Field(strict=False)] = ()
    wordings: Annotated[tuple[Wording, ...], Field(strict=False)] = ()
    deletion: Policy = "alias_closure"
    radius: Annotated[float, Field(gt=0, le=1)] = RADIUS
    transitive: bool = False
    retriever: RetrieverTable = RetrieverTable()
    attacks: FewerBits = FewerBits()

    @model_validator(mode="after")
    def _controls_are_models(self) -> LmlmSection:
        if self.model is not None and self.models:
            raise problem("is there beside models: keep one of them", "model")
        self.require_controls("models", self.checkpoints(), must_fail=self.must_fail)
        if self.databases and not self.prompts:
            raise problem("are asked by no prompts: name their files under prompts", "databases")
        return self

    def check(self, spec: CheckpointSpec) -> None:
        """Whether its tokenizer has the tokens by which a database is asked."""
        from uds_bench.checkpoints.loading import read_tokenizer
        from uds_bench.inference.markup import markup_of

        markup_of(read_tokenizer(spec), spec.model)

    def lacks(self) -> list[str]:
        """What would have to be added before anything can be judged."""
        return [] if self.checkpoints() else ["[lmlm] model, or models by name"]

    def weak(self) -> str:
        """The keys that would name controls, in the place of which a stand-in stands."""
        return "[lmlm] must_fail" if self.checkpoints() and not self.must_fail else ""

    def checkpoints(self) -> dict[str, CheckpointSpec]:
        """Every model by name; a single one is called `lmlm`."""
        return self.models if self.model is None else {"lmlm": self.model}

    def attacked(self) -> list[str]:
        """The attacks that the file names."""
        return self.attacks.names()

    def judged(self) -> list[str]:
        """The models that claims speak of."""
        return [name for name in self.checkpoints() if name not in self.must_fail]


SECTION = LmlmSection
