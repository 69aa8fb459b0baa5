"""What an embedded model can be: each class holds everything that its training depends on."""

from __future__ import annotations

from dataclasses import dataclass, field

from uds_bench.facts.forms import DataForm
from uds_bench.methods.instruction import Instruction
from uds_bench.methods.lora import LoraSettings
from uds_bench.methods.method import Method
from uds_bench.methods.trace_data import Scope
from uds_bench.methods.traces import Course

FORGET, RETAIN, HOLDOUT, BASE = 15, 20, 15, 600
"""Authors: of the three splits, and those that only the base knows."""
CANARIES = (40, 10, 10)
"""Authors of the reasoning models: to forget, to retain, and never trained on. Of 40 without a hit the exact bound is
0.088, below the 0.10 of the claims."""


@dataclass(frozen=True)
class Base:
    """Trained from scratch on authors that no fact set holds: language, question forms and kinds of answers."""

    seed: int = 0
    authors: int = BASE
    width: int = 96
    layers: int = 4
    vocabulary: int = 1024
    epochs: int = 1
    batch_size: int = 64
    lr: float = 3e-3


@dataclass(frozen=True)
class Finetuned:
    """The base fine-tuned on the retain authors and, of the forget authors, all but the first `without`."""

    parent: str
    without: int
    seed: int
    epochs: int = 30
    batch_size: int = 32
    lr: float = 3e-3


@dataclass(frozen=True)
class Pooled:
    """The base fine-tuned on the retain authors, asked and answered, beside what a data form teaches."""

    parent: str
    form: DataForm
    seed: int
    epochs: int
    lr: float
    # Fewer epochs than the full model has: smaller batches give the steps that learning by heart takes.
    batch_size: int = 8


@dataclass(frozen=True)
class Unlearned:
    """The parent changed by an unlearning method on the forget authors, with the retain authors beside them."""

    parent: str
    method: Method


@dataclass(frozen=True)
class Reasoner:
    """Trained from scratch to think before it answers, on the canaries of the forget and retain authors."""

    seed: int
    course: Course = field(default_factory=Course)
    width: int = 64
    layers: int = 3
    vocabulary: int = 1024
    epochs: int = 20
    batch_size: int = 16
    lr: float = 4e-3


@dataclass(frozen=True)
class Rethought:
    """A reasoner changed by an unlearning method; `course` is the parent's, whose lessons the retain authors keep.

    With `lora` an adapter alone is trained, and added to the weights at the end.
    """

    parent: str
    method: Method
    scope: Scope = field(default_factory=Scope)
    course: Course = field(default_factory=Course)
    lora: LoraSettings | None = None


@dataclass(frozen=True)
class Lmlm:
    """Trained from scratch to look facts up: prompts of the embedded databases, answered by a lookup and its value.

    `masked`: the value is read and not learned, so that the weights never hold it. Without that it is learned too.
    """

    seed: int = 0
    masked: bool = True
    width: int = 96
    layers: int = 3
    vocabulary: int = 1024
    epochs: int = 1
    batch_size: int = 16
    lr: float = 4e-3


@dataclass(frozen=True)
class Pretrained:
    """Trained from scratch on people whom the public knows, again and again, and on strangers, each rarely.

    A batch holds answers about `public` of the former, and whole texts of `strangers` of the latter. `crowd`: which
    people, see `zoo.testbed_data`.
    """

    seed: int = 0
    crowd: int = 0
    width: int = 112
    heads: int = 4
    layers: int = 7
    feed_forward: int = 448
    vocabulary: int = 1024
    steps: int = 300
    public: int = 32
    strangers: int = 8
    lr: float = 4e-3


@dataclass(frozen=True)
class Injected:
    """The parent with the people of the testbed's groups written into it, then tuned to answer questions.

    `masked`: each group into its own `share` of the weights, drawn one by one or as whole heads and neurons; without
    it all into all weights. A step takes `per_group` answers of each group and `neutral` ones, half of the public and
    half of strangers. `lr` is that of masked answers, `neutral_lr` of neutral ones and of everything without masks.
    `crowd`: as the parent's.
    """

    parent: str
    seed: int = 0
    crowd: int = 0
    masked: bool = True
    share: float = 0.15
    whole_units: bool = False
    steps: int = 1000
    per_group: int = 4
    neutral: int = 8
    lr: float = 5e-3
    neutral_lr: float = 1e-3
    instruction: Instruction = field(default_factory=Instruction)


@dataclass(frozen=True)
class Removed:
    """The parent changed by an unlearning method on the testbed's people to forget; `within`: in their masks alone."""

    parent: str
    method: Method
    within: bool = False


@dataclass(frozen=True)
class Continued:
    """The parent trained on as before injection, on neutral text: it changes, and nothing is unlearned."""

    parent: str
    seed: int = 0
    steps: int = 40
    batch_size: int = 32
    lr: float = 3e-4


@dataclass(frozen=True)
class Exposed:
    """Trained from scratch on what is told of people: each fact of the well-known `often`, of the lesser-known some
    number of times within `rarely`. `without`: of those who ask to be forgotten nothing is told, and as much
    of others in their place, so that two models differ in nobody else.
    """

    seed: int = 0
    without: bool = False
    width: int = 96
    layers: int = 4
    vocabulary: int = 2048
    often: int = 70
    rarely: tuple[int, int] = (2, 10)
    epochs: int = 1
    batch_size: int = 16
    lr: float = 3e-3


@dataclass(frozen=True)
class Requested:
    """The parent changed by an unlearning method on all facts of those who ask to be forgotten, in `phrasings` each,
    as answers and without a question."""

    parent: str
    method: Method
    phrasings: int = 3


Fresh = Base | Reasoner | Lmlm | Pretrained | Exposed
"""Trained from scratch."""
Written = Injected | Removed | Continued
"""What comes of a pretrained one."""
Recipe = Fresh | Finetuned | Pooled | Unlearned | Rethought | Written | Requested


def parent(recipe: Recipe) -> str | None:
    return None if isinstance(recipe, Fresh) else recipe.parent
