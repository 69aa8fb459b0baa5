"""Whom claims speak of: fixtures that stand for each judged model of an audit in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uds_bench.checkpoints import CheckpointSpec
    from uds_bench.harness.manifest import Manifest

SECTIONS = {"reasoner": "bypass", "asker": "lmlm", "unlearner": "localization", "eraser": "association"}
"""By fixture the section of the manifest whose models it names."""
SUBJECTS = ("candidate", *SECTIONS)


class Audited(Protocol):
    """A section whose models an audit judges."""

    def judged(self) -> list[str]:
        """The models that claims speak of: those that are no controls."""

    def checkpoints(self) -> dict[str, CheckpointSpec]:
        """Every checkpoint by name."""

    def needed(self, models: Iterable[str]) -> list[str]:
        """The checkpoints without which nothing can be said of some judged models, controls among them."""


def audited(manifest: Manifest, fixture: str) -> Audited | None:
    """The section behind a fixture; None where the manifest has no model there."""
    section: Audited | None = getattr(manifest, SECTIONS[fixture])
    return section if section is not None and section.checkpoints() else None


def names(manifest: Manifest, fixture: str) -> list[str] | list[None]:
    """The parameters of a fixture. An audit that has none is told once of nobody, so that its claims say so."""
    if fixture == "candidate":
        return list(manifest.candidates)
    section = audited(manifest, fixture)
    judged: list[str] = section.judged() if section is not None else []
    return judged or [None]
