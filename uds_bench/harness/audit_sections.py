"""The sections of a manifest that belong to one audit each; see `sections`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from uds_bench.audits.association.calibration import ALPHA
from uds_bench.audits.lmlm.deletion import RADIUS, Policy
from uds_bench.audits.localization.composite import MOST
from uds_bench.audits.localization.leaks import ATTEMPTS
from uds_bench.audits.localization.outputs import ASKED
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.errors import ConfigurationError
from uds_bench.facts.lookup_prompts import Wording
from uds_bench.facts.similar_names import MOST as SIMILAR
from uds_bench.harness import locate
from uds_bench.harness.section_types import (
    Checkpoint,
    Checkpoints,
    Count,
    File,
    Folder,
    Model,
    Pattern,
    located,
    named,
)
from uds_bench.harness.tables import Table, problem
from uds_bench.retrieval.settings import Fallback, Kind, RetrieverSettings

ASSOCIATION_KEYS = ("model", "smaller", "retain")
"""The models of [association] that are no candidates."""


def _seeds(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _some(specs: tuple[CheckpointSpec, ...]) -> tuple[CheckpointSpec, ...]:
    if not specs:
        raise ValueError("is empty: name at least one checkpoint")
    return specs


Seeds = Annotated[tuple[Checkpoint, ...], BeforeValidator(_seeds), Field(strict=False), AfterValidator(_some)]


class Bypass(Table):
    """`canaries`: a .jsonl with id, author, bio, canary and qa, or "authors", which are built in (`forget`, `retain`
    and `holdout` say how many). `models`: a checkpoint each, or a list of those that differ in the seed alone.
    `must_fail` and `must_pass` name the models that are controls; one called `memorized` must fail unless it is said
    otherwise.
    """

    canaries: Annotated[str, located(locate.canaries)] = "authors"
    forget: Count | None = None
    retain: Count | None = None
    holdout: Count | None = None
    max_new_tokens: Count | None = None
    models: Annotated[dict[str, Seeds], AfterValidator(named)] = Field(default_factory=dict)
    must_fail: Annotated[tuple[str, ...] | None, Field(strict=False)] = None
    must_pass: Annotated[tuple[str, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _controls_are_models(self) -> Bypass:
        for key in ("must_fail", "must_pass"):
            for name in getattr(self, key) or ():
                if name not in self.models:
                    raise problem(f"{name!r} is not under models: add it there or correct the name", key)
        if both := set(self.must_fail or ()) & set(self.must_pass):
            raise problem(f"{min(both)!r} is under must_fail too: keep one", "must_pass")
        if self.models and not self.judged():
            raise problem("all of them are controls: name a model that is to be judged", "models")
        named = [name for model in self.models for name in self.seeds(model)]
        if twice := [name for name in named if named.count(name) > 1]:
            raise problem(f"{twice[0]!r} is one seed of a list and a model's name: rename the model", "models")
        return self

    def controls(self) -> dict[str, Literal["fail", "pass"]]:
        """The models whose verdict is known in advance."""
        known = ("memorized",) if "memorized" in self.models else ()
        fail = known if self.must_fail is None else self.must_fail
        return {**dict.fromkeys(fail, "fail"), **dict.fromkeys(self.must_pass, "pass")}

    def seeds(self, model: str) -> dict[str, CheckpointSpec]:
        """The checkpoints of a model by name: its own, or `name.1`, `name.2` where it has several seeds."""
        specs = self.models[model]
        return {model if len(specs) == 1 else f"{model}.{i}": spec for i, spec in enumerate(specs, 1)}

    def judged(self) -> list[str]:
        """The models that claims speak of: those that are no controls."""
        return [name for name in self.models if name not in self.controls()]

    def checkpoints(self) -> dict[str, CheckpointSpec]:
        return {name: spec for model in self.models for name, spec in self.seeds(model).items()}

    def needed(self, models: Iterable[str]) -> list[str]:
        """The checkpoints of some models and of the controls."""
        return [name for model in dict.fromkeys([*models, *self.controls()]) for name in self.seeds(model)]

    @property
    def options(self) -> dict[str, int]:
        """How many built-in authors there are, as keyword arguments."""
        return self.model_dump(include={"forget", "retain", "holdout"}, exclude_none=True)


class Retriever(Table):
    """What the manifest sets of the retriever, as in `retrieval.settings`; None leaves it to the audit."""

    kind: Kind | None = None
    model: Model | None = None
    threshold: float | None = None
    top_k: Count | None = None
    fallback: Fallback | None = None
    index: str | None = None

    @model_validator(mode="after")
    def _can_be(self) -> Retriever:
        try:
            self.settings()
        except ConfigurationError as error:
            raise problem(str(error).removeprefix("retriever: "), "threshold") from error
        return self

    def settings(self) -> RetrieverSettings:
        return RetrieverSettings(**self.model_dump(exclude_none=True))


class Lmlm(Table):
    """`model`: the one that is judged, or `models` by name, of which `must_fail` are controls.

    `databases` and `prompts` are patterns, and `locate.matches` gives their files; without any the embedded databases
    are asked. `wordings`: those that are asked, all where left out. `deletion`: a policy of `audits.lmlm.deletion`,
    with its `radius`. `transitive`: groups of aliases that share a name are one.
    """

    model: Checkpoint | None = None
    models: Checkpoints = Field(default_factory=dict)
    must_fail: Annotated[tuple[str, ...], Field(strict=False)] = ()
    databases: Annotated[tuple[Pattern, ...], Field(strict=False)] = ()
    prompts: Annotated[tuple[Pattern, ...], Field(strict=False)] = ()
    wordings: Annotated[tuple[Wording, ...], Field(strict=False)] = ()
    deletion: Policy = "alias_closure"
    radius: Annotated[float, Field(gt=0, le=1)] = RADIUS
    transitive: bool = False
    retriever: Retriever = Retriever()

    @model_validator(mode="after")
    def _controls_are_models(self) -> Lmlm:
        if self.model is not None and self.models:
            raise problem("is there beside models: keep one of them", "model")
        for name in self.must_fail:
            if name not in self.checkpoints():
                raise problem(f"{name!r} is not under models: add it there or correct the name", "must_fail")
        if self.checkpoints() and not self.judged():
            raise problem("all of them are controls: name a model that is to be judged", "models")
        if self.databases and not self.prompts:
            raise problem("are asked by no prompts: name their files under prompts", "databases")
        return self

    def checkpoints(self) -> dict[str, CheckpointSpec]:
        """Every model by name; a single one is called `lmlm`."""
        return self.models if self.model is None else {"lmlm": self.model}

    def judged(self) -> list[str]:
        """The models that claims speak of: those that are no controls."""
        return [name for name in self.checkpoints() if name not in self.must_fail]

    def needed(self, models: Iterable[str]) -> list[str]:
        """Some models and the controls."""
        return list(dict.fromkeys([*models, *self.must_fail]))


class Localization(Table):
    """`pretrained`, `injected`: the model before and after people were written into it; `masks`: where each group was,
    a .safetensors, a folder of them, or an embedded model that was injected. `unmasked`: the model that was injected
    without masks, and `controls`, by candidate, what the same method made of it. `neutral`: the injected model after
    training on neutral text, a control that must fail. `must_pass`: candidates that are known to be localized.

    `testbed`: a .jsonl of people, or "people", which are built in; `forget_field` is forgotten of some of them and
    `retain_field` retained of others. `questions` of each form an item is asked; `attempts` prompts a person, after
    resurfacing with each of `seeds` seeds.
    `subsample`: weights that the composite is learned from.

    `tasks` of lm-evaluation-harness by which utility is told, `task_limit` documents of each, and of each task of a
    group; `task_folder`: where task files of one's own lie.
    """

    RESERVED: ClassVar[tuple[str, ...]] = ("pretrained", "injected", "unmasked", "neutral")

    pretrained: Checkpoint | None = None
    injected: Checkpoint | None = None
    masks: Annotated[str, located(locate.masks)] | None = None
    unmasked: Checkpoint | None = None
    neutral: Checkpoint | None = None
    candidates: Checkpoints = Field(default_factory=dict)
    controls: Checkpoints = Field(default_factory=dict)
    must_pass: Annotated[tuple[str, ...], Field(strict=False)] = ()
    testbed: Annotated[str, located(locate.testbed)] = "people"
    forget_field: str | None = None
    retain_field: str | None = None
    questions: Count = ASKED
    attempts: Count = ATTEMPTS
    seeds: Count = 3
    subsample: Count = MOST
    tasks: Annotated[tuple[str, ...], Field(strict=False)] = ()
    task_limit: Count | None = None
    task_folder: Folder | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Localization:
        for name in self.RESERVED:
            if name in self.candidates:
                raise problem(f"{name!r} is a key of this section: give the candidate another name", "candidates")
        for key in ("controls", "must_pass"):
            for name in getattr(self, key):
                if name not in self.candidates:
                    raise problem(f"{name!r} is not under candidates: add it there or correct the name", key)
        missing = [key for key in ("pretrained", "injected", "masks") if getattr(self, key) is None]
        if self.candidates and missing:
            raise problem(f"are held against what they were made of: name {', '.join(missing)} too", "candidates")
        for key in ("pretrained", "neutral"):
            if self.injected is not None and getattr(self, key) == self.injected:
                raise problem("is the injected model itself: name another", key)
        if twice := [name for name in self.tasks if self.tasks.count(name) > 1]:
            raise problem(f"{twice[0]!r} is there twice: keep one", "tasks")
        for key in ("task_limit", "task_folder"):
            if getattr(self, key) is not None and not self.tasks:
                raise problem("is of tasks, and none is named: add tasks", key)
        return self

    @property
    def complete(self) -> bool:
        return None not in (self.pretrained, self.injected, self.masks) and bool(self.candidates)

    def checkpoints(self) -> dict[str, CheckpointSpec]:
        """Every model by name; what a method made of the unmasked one is called `NAME.unmasked`. None where the section
        is not complete."""
        if not self.complete:
            return {}
        known = {name: getattr(self, name) for name in self.RESERVED}
        found = {name: spec for name, spec in known.items() if spec is not None}
        return found | self.candidates | {f"{name}.unmasked": spec for name, spec in self.controls.items()}

    def judged(self) -> list[str]:
        """The models that claims speak of."""
        return list(self.candidates)

    def needed(self, models: Iterable[str]) -> list[str]:
        """Some candidates with what they are held against."""
        candidates = [*dict.fromkeys([*models, *self.must_pass])]
        others = [name for name in self.checkpoints() if name not in self.candidates]
        wanted = {*self.RESERVED, *(f"{name}.unmasked" for name in candidates)}
        return [*candidates, *(name for name in others if name in wanted)]


class Association(Table):
    """`model`: the one whose memory is audited, before anything was forgotten; `smaller`: one trained alike, of fewer
    weights. `candidates`: what methods made of it, of which `must_fail` are controls; `retain`: a model that never saw
    who is to be forgotten.

    `subjects`: a .jsonl with id, name, cohort and facts, or "people", which are built in. `forgotten`: the ids of those
    who are to be forgotten, or `forget_set`, the facts file that was made of them. `presence`: a table of web presence,
    by which cohorts of `cohort_size`, or halves, take the place of those of the file.

    `properties`: a folder with listing.json, counterfactuals.json and templates.json, or "embedded". Of each property
    the first `templates` are asked, with `counterfactuals` values, about `similar_names` names that look like the
    person's; `alpha` weighs these. `meaning`: whether counterfactuals that mean what is true are left out.
    """

    model: Checkpoint | None = None
    smaller: Checkpoint | None = None
    retain: Checkpoint | None = None
    candidates: Checkpoints = Field(default_factory=dict)
    must_fail: Annotated[tuple[str, ...], Field(strict=False)] = ()
    subjects: Annotated[str, located(locate.subjects)] = "people"
    forgotten: Annotated[tuple[str, ...], Field(strict=False)] = ()
    forget_set: File | None = None
    presence: File | None = None
    cohort_size: Count | None = None
    properties: Annotated[str, located(locate.properties)] = "embedded"
    templates: Count | None = None
    counterfactuals: Count | None = None
    similar_names: Count = SIMILAR
    alpha: Annotated[float, Field(ge=0)] = ALPHA
    meaning: bool = True

    @model_validator(mode="after")
    def _fits_together(self) -> Association:
        for name in ASSOCIATION_KEYS:
            if name in self.candidates:
                raise problem(f"{name!r} is a key of this section: give the candidate another name", "candidates")
        for name in self.must_fail:
            if name not in self.candidates:
                raise problem(f"{name!r} is not under candidates: add it there or correct the name", "must_fail")
        if self.candidates and not self.judged():
            raise problem("all of them are controls: name a model that is to be judged", "candidates")
        if self.candidates and self.model is None:
            raise problem("are held against the model that they were made of: name it under model", "candidates")
        if self.forgotten and self.forget_set is not None:
            raise problem("names those who are to be forgotten, as forgotten does: keep one of them", "forget_set")
        if self.cohort_size is not None and self.presence is None:
            raise problem("is of the cohorts that a table of web presence gives: name it under presence", "cohort_size")
        if self.presence is not None and self.subjects == "people":
            raise problem("is of people of a file: name it under subjects", "presence")
        return self

    def checkpoints(self) -> dict[str, CheckpointSpec]:
        """Every model by name; none where there is no model whose memory is audited."""
        if self.model is None:
            return {}
        known = {name: getattr(self, name) for name in ASSOCIATION_KEYS}
        return {name: spec for name, spec in known.items() if spec is not None} | self.candidates

    def judged(self) -> list[str]:
        """The models that claims speak of: those that are no controls."""
        return [name for name in self.candidates if name not in self.must_fail]

    def needed(self, models: Iterable[str]) -> list[str]:
        """Some candidates with what they are held against."""
        wanted = {*models, *self.must_fail, *ASSOCIATION_KEYS}
        return [name for name in self.checkpoints() if name in wanted]
