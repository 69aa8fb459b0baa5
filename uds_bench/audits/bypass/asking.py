"""How the models of a reasoning audit are asked."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from uds_bench.facts.tags import FORM, Form


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
