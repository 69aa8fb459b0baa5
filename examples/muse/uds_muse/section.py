"""[muse] of a manifest: a corpus of MUSE, and the models that are asked about it."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.manifest.section import Section
from uds_bench.manifest.types import Checkpoint, Checkpoints, Folder


class Muse(Section):
    """`data`: a folder with `verbmem`, `knowmem` and `privleak`, as the hub has it, or as MUSE's own `load_data.py`
    writes it. `full` was trained on all of the corpus, MUSE's target; `retain` was trained without what is to be
    forgotten, MUSE's retrain. `retrained`: another model like `retain`, which every claim must clear."""

    NAME: ClassVar[str] = "muse"

    data: Folder | None = None
    full: Checkpoint | None = None
    retain: Checkpoint | None = None
    retrained: Checkpoint | None = None
    candidates: Checkpoints = Field(default_factory=dict)

    def lacks(self) -> list[str]:
        missing = [key for key in ("data", "full", "retain", "candidates") if not getattr(self, key)]
        return [f"[muse] {', '.join(missing)}"] if missing else []

    def checkpoints(self) -> dict[str, CheckpointSpec]:
        known = {name: getattr(self, name) for name in ("full", "retain", "retrained")}
        return {**{name: spec for name, spec in known.items() if spec is not None}, **self.candidates}

    def judged(self) -> list[str]:
        return list(self.candidates)


SECTION = Muse
