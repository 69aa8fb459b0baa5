"""What is done to a loaded model: it is given the beginning of each passage and goes on greedily."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from uds_bench.checkpoints import Checkpoint, CheckpointSpec
from uds_bench.errors import FactError
from uds_bench.inference.generation import generate_greedily
from uds_bench.metrics.metric import FactValue, Measure, Measured
from uds_bench.metrics.rouge import rouge_l
from uds_bench.storage import content_key


@dataclass(frozen=True)
class Passage:
    """`cluster`: what it is of; passages of one source are resampled together."""

    id: str
    text: str
    cluster: str
    kind: str | None = None


def read_passages(path: str | Path) -> tuple[Passage, ...]:
    """The passages of a .jsonl. Raises FactError, with the line, for a row that is none or is there twice."""
    found: dict[str, Passage] = {}
    for at, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        try:
            row: Any = json.loads(line)
            one = Passage(str(row["id"]), str(row["text"]), str(row.get("source", row["id"])))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FactError(f"{path}, line {at}: is no passage ({error!r}): write id and text") from None
        if one.id in found or len(one.text.split()) < 2:
            raise FactError(f"{path}, line {at}: {one.id!r} is there twice, or has no two words: correct it")
        found[one.id] = one
    if not found:
        raise FactError(f"{path}: has no passage: write one a line, with id and text")
    return tuple(found.values())


@dataclass(frozen=True)
class VerbatimEvaluator:
    """`given`: tokens that are shown of a passage; `asked`: tokens that are held against what is said."""

    units: tuple[Passage, ...]
    given: int
    asked: int

    measure: ClassVar[Measure] = Measure("verbmem", "knowledge", "MUSE, section 3.1", counts_choices=True)
    variant: ClassVar[str] = "greedy"

    @property
    def digest(self) -> str:
        return content_key([[asdict(one) for one in self.units], self.given, self.asked])

    def references(self, checkpoint: CheckpointSpec, device: str) -> tuple[str, ...]:
        return ()

    def evaluate(self, checkpoint: Checkpoint) -> Measured:
        """Per passage ROUGE-L recall, 0 to 1, of what follows by what is said; higher is more memory."""
        ids = [self._split(checkpoint.tokenizer(one.text)["input_ids"]) for one in self.units]
        said = generate_greedily(checkpoint, [shown for shown, _ in ids], self.asked)
        true = [checkpoint.tokenizer.decode(rest, skip_special_tokens=True) for _, rest in ids]
        pairs = zip(self.units, true, said, strict=True)
        return Measured(
            [FactValue(one.id, rouge_l([right], text), detail={"said": text}) for one, right, text in pairs]
        )

    def _split(self, ids: Sequence[int]) -> tuple[list[int], list[int]]:
        """A passage that is shorter than what is shown and asked is cut in half."""
        cut = self.given if len(ids) > self.given + 1 else len(ids) // 2
        return list(ids[:cut]), list(ids[cut : cut + self.asked])
