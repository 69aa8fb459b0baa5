"""[verbatim] of a manifest: the passages, and the models that are given their beginnings."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.manifest.section import Section
from uds_bench.manifest.types import Checkpoint, Checkpoints, Count, File


class Verbatim(Section):
    """`passages`: a .jsonl with id, text, and source where several passages are of one. `full` was trained on them,
    `retain` never saw them. Of each passage the first `given` tokens are shown, and the next `asked` are held against
    what the model says."""

    NAME: ClassVar[str] = "verbatim"

    passages: File | None = None
    full: Checkpoint | None = None
    retain: Checkpoint | None = None
    candidates: Checkpoints = Field(default_factory=dict)
    given: Annotated[Count, Field(le=4096)] = 32
    asked: Annotated[Count, Field(le=4096)] = 32

    def lacks(self) -> list[str]:
        missing = [key for key in ("passages", "full", "retain", "candidates") if not getattr(self, key)]
        return [f"[verbatim] {', '.join(missing)}"] if missing else []

    def checkpoints(self) -> dict[str, CheckpointSpec]:
        known = {name: getattr(self, name) for name in ("full", "retain") if getattr(self, name) is not None}
        return {**known, **self.candidates}

    def judged(self) -> list[str]:
        return list(self.candidates)


SECTION = Verbatim
