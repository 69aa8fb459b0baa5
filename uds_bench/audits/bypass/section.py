"""[bypass] of a manifest: what it asks of which reasoning models."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.facts.tags import FORM, Form, Tags
from uds_bench.manifest import locate
from uds_bench.manifest.attack_tables import FewerBitsOrTaught
from uds_bench.manifest.section import Section
from uds_bench.manifest.tables import problem
from uds_bench.manifest.types import (
    Checkpoint,
    Count,
    Pattern,
    Positive,
    located,
    named,
)


@dataclass(frozen=True)
class ReplySettings:
    """`limit`: new tokens of a reply. `samples`: replies that are drawn by chance of each author to be forgotten, at
    `temperature`. `seed`: of all that is drawn. `form`: how models are spoken to."""

    limit: int = 256
    samples: int = 4
    temperature: float = 1.0
    seed: int = 0
    form: Form = FORM

    def to_json(self) -> dict[str, Any]:
        """What is said otherwise than by default about the form, beside the rest."""
        found = asdict(self)
        form = {key: value for key, value in found.pop("form").items() if value}
        return found | form


ASKING = ReplySettings()


def _seeds(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _some(specs: tuple[CheckpointSpec, ...]) -> tuple[CheckpointSpec, ...]:
    if not specs:
        raise ValueError("is empty: name at least one checkpoint")
    return specs


def _pair(tags: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """What opens a trace, and what closes it."""
    if tags is None:
        return None
    if len(tags) != 2 or not all(tag.strip() for tag in tags):
        raise ValueError('must be what opens a trace and what closes it, as ["<think>", "</think>"]')
    if tags[0] in tags[1] or tags[1] in tags[0]:
        raise ValueError("has one tag inside the other: no reply could be split by them")
    return tags


RESERVED = ("conversation", "messages", "chat_template", "add_generation_prompt", "continue_final_message", "tokenize")
"""What an audit itself says to a chat template."""


def _options(table: dict[str, Any]) -> dict[str, Any]:
    for name in table:
        if not name.isidentifier() or name in RESERVED:
            raise problem("is no variable that a chat template takes from you: take it out", name)
    return table


Seeds = Annotated[tuple[Checkpoint, ...], BeforeValidator(_seeds), Field(strict=False), AfterValidator(_some)]


class Bypass(Section):
    """`canaries`: a .jsonl with id, author, bio, canary and qa, or "authors", which are built in (`forget`, `retain`
    and `holdout` say how many). `samples`: replies that are drawn by chance of each author to be forgotten, at
    `temperature`; `seed`: of all that is drawn. `tags`: what opens and closes a trace, where the chat template does not
    show it; `chat_template_kwargs`: what the template is told; `system`: the words before a prompt.
    `replies`: files of what other engines replied. `models`: a checkpoint each, or a list of those that differ in the
    seed alone; with `replies` a folder with a tokenizer alone will do. `must_fail` and `must_pass` name the models that
    are controls; one called `memorized` must fail unless it is said otherwise. `attacks`: under what models are
    asked as well; `relearn_retain` teaches turns of the authors to be retained.
    """

    NAME: ClassVar[str] = "bypass"

    canaries: Annotated[str, located(locate.canaries)] = "authors"
    forget: Count | None = None
    retain: Count | None = None
    holdout: Count | None = None
    max_new_tokens: Count = ReplySettings.limit
    tags: Annotated[tuple[str, ...] | None, Field(strict=False), AfterValidator(_pair)] = None
    chat_template_kwargs: Annotated[dict[str, str | bool | int | float], AfterValidator(_options)] = Field(
        default_factory=dict
    )
    system: str = ""
    replies: Pattern | None = None
    samples: Annotated[int, Field(ge=0)] = ReplySettings.samples
    temperature: Positive = ReplySettings.temperature
    seed: int = ReplySettings.seed
    models: Annotated[dict[str, Seeds], AfterValidator(named)] = Field(default_factory=dict)
    must_fail: Annotated[tuple[str, ...] | None, Field(strict=False)] = None
    must_pass: Annotated[tuple[str, ...], Field(strict=False)] = ()
    attacks: FewerBitsOrTaught = FewerBitsOrTaught()

    @model_validator(mode="after")
    def _sizes_are_of_what_is_built_in(self) -> Bypass:
        if self.canaries != "authors" and (sizes := list(self.options)):
            raise problem(
                "says how many built-in authors there are, and canaries names a file, of which all are asked: keep one",
                sizes[0],
            )
        return self

    @model_validator(mode="after")
    def _controls_are_models(self) -> Bypass:
        if both := set(self.must_fail or ()) & set(self.must_pass):
            raise problem(f"{min(both)!r} is under must_fail too: keep one", "must_pass")
        self.require_controls("models", self.models, must_fail=self.must_fail or (), must_pass=self.must_pass)
        named = [name for model in self.models for name in self.members(model)]
        if twice := [name for name in named if named.count(name) > 1]:
            raise problem(f"{twice[0]!r} is one seed of a list and a model's name: rename the model", "models")
        return self

    def controls(self) -> dict[str, Literal["fail", "pass"]]:
        """The models whose verdict is known in advance."""
        known = ("memorized",) if "memorized" in self.models else ()
        fail = known if self.must_fail is None else self.must_fail
        return {**dict.fromkeys(fail, "fail"), **dict.fromkeys(self.must_pass, "pass")}

    def members(self, model: str) -> dict[str, CheckpointSpec]:
        """The checkpoints of a model by name: its own, or `name.1`, `name.2` where it has several seeds."""
        specs = self.models[model]
        return {model if len(specs) == 1 else f"{model}.{i}": spec for i, spec in enumerate(specs, 1)}

    def judged(self) -> list[str]:
        """The models that claims speak of."""
        return [name for name in self.models if name not in self.controls()]

    def attacked(self) -> list[str]:
        """The attacks that the file names."""
        return self.attacks.names()

    def parent(self) -> str | None:
        """A control that knows."""
        known = [name for name, must in self.controls().items() if must == "fail"]
        return next(iter(self.members(known[0]))) if known else None

    def has_weights(self, spec: CheckpointSpec) -> bool:
        """Whether a checkpoint is more than a tokenizer beside replies."""
        from uds_bench.audits.bypass.replies import is_surface

        return self.replies is None or not is_surface(spec)

    def check(self, spec: CheckpointSpec) -> None:
        """Whether its chat template leaves the trace to the model, and reads what the file says to it."""
        from uds_bench.audits.bypass.replies import surface
        from uds_bench.checkpoints.loading import read_tokenizer
        from uds_bench.facts.reasoning import open_turn

        tokenizer = read_tokenizer(spec) if self.has_weights(spec) else surface(spec).tokenizer
        open_turn(tokenizer, "Who?", self.asking.form)

    def lacks(self) -> list[str]:
        """What would have to be added before anything can be judged."""
        return [] if self.models else ["[bypass] models with at least one name"]

    def weak(self) -> str:
        """The keys that would name controls, in the place of which a stand-in stands."""
        known = set(self.controls().values())
        keys = [f"must_{word}" for word in ("fail", "pass") if word not in known]
        return f"[bypass] {', '.join(keys)}" if keys and self.models else ""

    def checkpoints(self) -> dict[str, CheckpointSpec]:
        """Every checkpoint by name: those of each model, one a seed."""
        return {name: spec for model in self.models for name, spec in self.members(model).items()}

    def needed(self, models: Iterable[str]) -> list[str]:
        """The checkpoints of some models and of the controls."""
        return [name for model in dict.fromkeys([*models, *self.controls()]) for name in self.members(model)]

    @property
    def asking(self) -> ReplySettings:
        """How the models are asked."""
        tags = Tags(*self.tags) if self.tags else None
        form = Form(self.system, tags, tuple(sorted(self.chat_template_kwargs.items())))
        return ReplySettings(self.max_new_tokens, self.samples, self.temperature, self.seed, form)

    @property
    def options(self) -> dict[str, int]:
        """How many built-in authors there are, as keyword arguments."""
        return self.model_dump(include={"forget", "retain", "holdout"}, exclude_none=True)


SECTION = Bypass
