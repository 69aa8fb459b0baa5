"""What a model was found to say of an item, as it is stored."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Generation:
    """One item under one form of question, means over the questions; all 0 to 1, higher is more knowledge.

    `said`: share of replies that hold the answer, the extraction rate of the item (Lacuna, section 3.3); `em`, `es`
    and `prob` as in `uds_bench.metrics`, `es` as the field has it, whose `floor` is 1/|y| whatever the model knows.
    `cut`: share of replies that did not hold it and did not end either: it may have come later.
    """

    said: float
    em: float
    es: float
    prob: float
    floor: float
    cut: float = 0.0

    @classmethod
    def from_json(cls, found: Any) -> Generation:
        return cls(**found)

    def to_json(self) -> dict[str, float]:
        return asdict(self)
