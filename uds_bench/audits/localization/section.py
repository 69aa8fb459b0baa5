"""[localization] of a manifest: which updates of which injected model are judged."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from uds_bench.audits.localization.names import ASKED, MOST_WEIGHTS, PROMPTS_PER_PERSON
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.checkpoints.spec import EMBEDDED
from uds_bench.manifest import locate
from uds_bench.manifest.section import Section
from uds_bench.manifest.tables import problem
from uds_bench.manifest.types import (
    Checkpoint,
    Checkpoints,
    Count,
    Folder,
    located,
)


class Localization(Section):
    """`pretrained`, `injected`: the model before and after people were written into it; `masks`: where each group was,
    a .safetensors, a folder of them, or an embedded model that was injected. `unmasked`: the model that was injected
    without masks, and `controls`, by candidate, what the same method made of it. `neutral`: the injected model after
    training on neutral text, a control that must fail. `must_pass`: candidates that are known to be localized.

    `testbed`: a .jsonl of people, or "people", which are built in; `forget_field` is forgotten of some of them and
    `retain_field` retained of others. `questions` of each form an item is asked; `attempts` prompts a person, after
    resurfacing with each of `seeds` seeds.
    `subsample`: weights that the composite is learned from, at most those that controls are drawn on.

    `tasks` of lm-evaluation-harness by which utility is told, `task_limit` documents of each, and of each task of a
    group; `task_folder`: where task files of one's own lie.
    """

    NAME: ClassVar[str] = "localization"

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
    attempts: Count = PROMPTS_PER_PERSON
    seeds: Count = 3
    subsample: Count = MOST_WEIGHTS
    tasks: Annotated[tuple[str, ...], Field(strict=False)] = ()
    task_limit: Count | None = None
    task_folder: Folder | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Localization:
        for name in self.RESERVED:
            if name in self.candidates:
                raise problem(f"{name!r} is a key of this section: give the candidate another name", "candidates")
        self.require_controls("candidates", self.candidates, controls=self.controls, must_pass=self.must_pass)
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

    def lacks(self) -> list[str]:
        """What would have to be added before anything can be judged."""
        missing = [key for key in ("pretrained", "injected", "masks") if getattr(self, key) is None]
        missing += [] if self.candidates else ["candidates with at least one name"]
        return [f"[localization] {', '.join(missing)}"] if missing else []

    def weak(self) -> str:
        """The keys that would name controls, in the place of which a stand-in stands."""
        keys = [key for key in ("neutral", "must_pass") if not getattr(self, key)]
        keys += ["unmasked"] if self.controls and self.unmasked is None else []
        return f"[localization] {', '.join(keys)}" if keys and not self.lacks() else ""

    def checkpoints(self) -> dict[str, CheckpointSpec]:
        """Every model by name; what a method made of the unmasked one is called `NAME.unmasked`. None where the section
        is not complete."""
        if self.lacks():
            return {}
        known = {name: getattr(self, name) for name in self.RESERVED}
        found = {name: spec for name, spec in known.items() if spec is not None}
        return found | self.candidates | {f"{name}.unmasked": spec for name, spec in self.controls.items()}

    @property
    def lies_in_files(self) -> bool:
        """Whether masks and all models are named by their place, and none is made here."""
        places = [self.masks or "", *(spec.model for spec in self.checkpoints().values())]
        return not self.lacks() and not any(place.startswith(EMBEDDED) for place in places)

    def check(self, spec: CheckpointSpec) -> None:
        """Whether an update's weights can be held against the injected model's and the masks: headers are read."""
        from uds_bench.audits.localization.audit import origins_of

        if self.masks is not None and self.lies_in_files and spec in (*self.candidates.values(), self.neutral):
            origins_of(self, self.checkpoints(), Path(self.masks)).lineup(spec)

    def parent(self) -> str | None:
        """The checkpoint that the judged ones were made from, where the file names it."""
        return "injected" if self.injected is not None else None

    def judged(self) -> list[str]:
        """The models that claims speak of."""
        return list(self.candidates)

    def needed(self, models: Iterable[str]) -> list[str]:
        """Some candidates with what they are held against."""
        candidates = [*dict.fromkeys([*models, *self.must_pass])]
        others = [name for name in self.checkpoints() if name not in self.candidates]
        wanted = {*self.RESERVED, *(f"{name}.unmasked" for name in candidates)}
        return [*candidates, *(name for name in others if name in wanted)]


SECTION = Localization
