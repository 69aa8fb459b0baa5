"""The sections of a manifest: which keys each takes, and of what type. Names of places become absolute paths.

Validated with the manifest's folder as context; without one, names stay as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetPydanticSchema,
    PlainValidator,
    ValidationInfo,
    field_serializer,
    model_validator,
)
from pydantic_core import core_schema

from uds_bench.audits.lmlm.deletion import RADIUS, Policy
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.checkpoints.spec import Dtype, Quantization
from uds_bench.errors import ConfigurationError
from uds_bench.facts.lookup_prompts import Wording
from uds_bench.harness import locate
from uds_bench.harness.tables import Table, problem
from uds_bench.retrieval.settings import Fallback, Kind, RetrieverSettings
from uds_bench.zoo.recipes import SCHEME

_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_CLAIM = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+(\[[^\[\]\s]+\])?")
NO_CLAIM = 'is no claim: write the whole id in quotes, as "depth.score" or "depth.score[npo]"'
GIVE_NAMES = 'give names, as { seed1 = "...", seed2 = "..." }'


def _located(find: Callable[[str, Path], str]) -> AfterValidator:
    def absolute(text: str, info: ValidationInfo) -> str:
        return text if info.context is None else find(text, info.context)

    return AfterValidator(absolute)


def _named(table: dict[str, Any]) -> dict[str, Any]:
    for name in table:
        if not _NAME.fullmatch(name):
            raise problem(f"{name!r} is no name: use letters, digits, '_', '.' and '-'", name)
    return table


def _claim(name: str) -> str:
    if not _CLAIM.fullmatch(name):
        raise ValueError(f"{name!r} {NO_CLAIM}")
    return name


def _claims(table: Any) -> Any:
    for name in table if isinstance(table, dict) else ():
        if not _CLAIM.fullmatch(name):
            raise problem(NO_CLAIM, name)
    return table


def _said(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty: say why")
    return text


Model = Annotated[str, _located(locate.model)]
File = Annotated[str, _located(locate.file)]
Pattern = Annotated[str, _located(locate.pattern)]
Count = Annotated[int, Field(ge=1)]
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
        return CheckpointSpec(self.model, self.adapter, self.quantization, self.dtype, self.revision)


def _written(spec: CheckpointSpec) -> dict[str, str]:
    return {key: value for key, value in asdict(spec).items() if value is not None}


Checkpoint = Annotated[
    CheckpointSpec,
    GetPydanticSchema(
        lambda _, handler: core_schema.no_info_after_validator_function(
            CheckpointTable.spec,
            handler.generate_schema(CheckpointTable),
            serialization=core_schema.plain_serializer_function_ser_schema(_written),
        )
    ),
]
Checkpoints = Annotated[dict[str, Checkpoint], AfterValidator(_named)]


def _numbered(value: Any) -> Any:
    return dict(enumerate(value)) if isinstance(value, list) else value


def _pool(specs: dict[str | int, CheckpointSpec]) -> dict[str, CheckpointSpec]:
    """A list's members are called after the folder of their adapter, or else of their model."""
    named: dict[str, CheckpointSpec] = {}
    for key, spec in specs.items():
        folder = (spec.adapter or spec.model).removeprefix(SCHEME)
        name = key if isinstance(key, str) else Path(folder).name
        if name in named:
            raise problem(f"the name {name!r} is taken by another of this list: {GIVE_NAMES}", key)
        if not _NAME.fullmatch(name):
            raise problem(f"{name!r} is no name (letters, digits, '_', '.', '-'): {GIVE_NAMES}", key)
        named[name] = spec
    return named


Pool = Annotated[dict[Any, Checkpoint], BeforeValidator(_numbered), AfterValidator(_pool)]


def _option(value: Any) -> int | str:
    if type(value) not in (int, str):
        raise ValueError(f"is {value!r}: it must be a number of authors, or the name of a split")
    return value  # type: ignore[no-any-return]


class Facts(Table):
    """`source` as in `facts.load_facts`, with `options` for it."""

    source: Annotated[str, _located(locate.source)]
    forget: Annotated[int | str | None, PlainValidator(_option)] = None
    retain: Annotated[int | str | None, PlainValidator(_option)] = None
    annotations: File | None = None

    @property
    def options(self) -> dict[str, Any]:
        """What the manifest gives, as keyword arguments of `load_facts`."""
        return self.model_dump(exclude={"source"}, exclude_none=True)


class References(Table):
    """`nested`: models between full and retain, from the one that knows most to the one that knows least."""

    full: Checkpoint
    retain: Checkpoint
    nested: Checkpoints = Field(default_factory=dict)

    @field_serializer("nested")
    def _in_order(self, nested: dict[str, CheckpointSpec]) -> list[Any]:
        return [[name, _written(spec)] for name, spec in nested.items()]


class Pools(Table):
    """Models that know (`positive`) and models that never knew (`negative`), by name."""

    positive: Pool = Field(default_factory=dict)
    negative: Pool = Field(default_factory=dict)


class Nf4(Table):
    """The NF4 attack has nothing to set."""


class Relearn(Table):
    """What the manifest sets of the relearning attack; None leaves it to the attack."""

    epochs: Count | None = None
    lr: Positive | None = None
    batch_size: Count | None = None


class Attacks(Table):
    """The attacks to run: those whose table is there."""

    nf4: Nf4 | None = None
    relearn: Relearn | None = None


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

    canaries: Annotated[str, _located(locate.canaries)] = "authors"
    forget: Count | None = None
    retain: Count | None = None
    holdout: Count | None = None
    max_new_tokens: Count | None = None
    models: Annotated[dict[str, Seeds], AfterValidator(_named)] = Field(default_factory=dict)
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
    """`masks`: a .safetensors; `controls`: by the name of the candidate that they belong to."""

    pretrained: Checkpoint | None = None
    injected: Checkpoint | None = None
    masks: File | None = None
    candidates: Checkpoints = Field(default_factory=dict)
    controls: Checkpoints = Field(default_factory=dict)


class Association(Table):
    """`subjects`: a .jsonl with id, name, cohort and facts."""

    models: Checkpoints = Field(default_factory=dict)
    subjects: File | None = None


Declared = Literal["fail", "inconclusive", "warning", "not applicable", "pass"]


def _one_or_more(value: Any) -> Any:
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


def _something_declared(verdicts: tuple[Declared, ...]) -> tuple[Declared, ...]:
    if not set(verdicts) - {"pass"}:
        raise ValueError("name the verdict other than pass that the claim is known to come to")
    if {"pass", "fail"} <= set(verdicts) or len(verdicts) > 2:
        raise ValueError("at most two verdicts, and not both pass and fail: else nothing is declared")
    return verdicts


class Expectation(Table):
    """A verdict that a claim is known to come to, and why; it is shown apart and never as a pass.

    Several verdicts, where it depends on the machine that trains which of them it is; `pass` may be one of them.
    """

    verdict: Annotated[tuple[Declared, ...], BeforeValidator(_one_or_more), AfterValidator(_something_declared)]
    reason: Reason


Thresholds = Annotated[dict[str, float], BeforeValidator(_claims)]
Expectations = Annotated[dict[str, Expectation], BeforeValidator(_claims)]


class Sections(Table):
    """All that a manifest file may hold; every section may be left out.

    `candidates` are for release, so each is gated. `sweep`: more unlearned models, which metrics are judged on and
    which no claim speaks of.
    """

    facts: Facts | None = None
    references: References | None = None
    candidates: Checkpoints = Field(default_factory=dict)
    sweep: Checkpoints = Field(default_factory=dict)
    pools: Pools = Pools()
    attacks: Attacks = Attacks()
    bypass: Bypass | None = None
    lmlm: Lmlm | None = None
    localization: Localization | None = None
    association: Association | None = None
    thresholds: Thresholds = Field(default_factory=dict)
    expect: Expectations = Field(default_factory=dict)
