"""What a manifest sets of attacks, each in a table of its own; None leaves it to the attack."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from uds_bench.manifest.tables import Table
from uds_bench.manifest.types import Count, File, Positive


class Quantize(Table):
    """Quantization has nothing to set."""


class RelearnLoad(Table):
    """What the manifest sets of relearning in the dtype of loading; None leaves it to the attack. `rank`: of an adapter
    that is trained in the place of the weights."""

    epochs: Count | None = None
    lr: Positive | None = None
    batch_size: Count | None = None
    rank: Count | None = None


class Relearn(RelearnLoad):
    """As `RelearnLoad`; `precision`: what weights are trained in, whatever they are loaded in."""

    precision: Literal["float32", "load"] | None = None


class RelearnHalf(Relearn):
    """As `Relearn`; `share`: the share of the people to be forgotten who are taught; the others are judged."""

    share: Annotated[float, Field(gt=0, lt=1)] | None = None


class RelearnWorst(RelearnHalf):
    """As `RelearnHalf`, with every rate and number of epochs that is tried."""

    epochs: Annotated[tuple[Count, ...] | None, Field(strict=False, min_length=1)] = None  # type: ignore[assignment]
    lr: Annotated[tuple[Positive, ...] | None, Field(strict=False, min_length=1)] = None  # type: ignore[assignment]


class Prompt(Table):
    """Facts are asked otherwise, and there is nothing to set."""


class FewShot(Prompt):
    """`shots`: questions with their answers before the one that is asked; `seed`: which ones."""

    shots: Count | None = None
    seed: int | None = None


class OwnQuestions(Prompt):
    """`questions`: a file of them, JSON lines of `fact`, `question` and perhaps `opening`."""

    questions: File


class Sampled(Prompt):
    """`samples`: replies that are drawn of each question, at `temperature`, from `seed`."""

    samples: Count | None = None
    temperature: Positive | None = None
    seed: int | None = None


class FewerBits(Table):
    """Candidates are asked again under the attacks whose table is there: weights in fewer bits."""

    int8: Quantize | None = None
    nf4: Quantize | None = None

    def names(self) -> list[str]:
        """The attacks that the file names."""
        return list(self.settings())

    def settings(self) -> dict[str, dict[str, Any]]:
        """The settings of each attack."""
        return self.model_dump(exclude_none=True)


class FewerBitsOrTaught(FewerBits):
    """As `FewerBits`; `relearn_retain` teaches more of what is to be kept."""

    relearn_retain: Relearn | None = None
