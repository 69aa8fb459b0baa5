"""What an attack is: a named change of a checkpoint, with its settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from uds_bench.errors import CheckpointError
from uds_bench.storage import content_key

if TYPE_CHECKING:
    from uds_bench.attacks.teaching import Teaching
    from uds_bench.checkpoints import Checkpoint, CheckpointSpec
    from uds_bench.facts import FactSet
    from uds_bench.facts.asking import Asking

NONE = "none"
"""The name of no attack at all."""


@dataclass(frozen=True)
class Attack:
    """`apply(spec, device, facts)` loads the checkpoint and changes it; `facts`: all of the manifest's.

    `settings` are all that the change depends on beside the facts that it is `teaching`; `version` rises when its code
    changes what comes out. `source`: paper and section. `needs`: packages of an extra without which it cannot be made.
    `remark`: what is to be said with every verdict under it. `asking`: how facts are asked, of an attack that leaves
    checkpoints as they are, and whose `apply` refuses. `proof(spec, device, facts)`: of an attack that teaches, how
    much it teaches the checkpoint about nobody, see `proof.nats_learned`. `trains`: whether it trains all weights,
    which takes memory.
    """

    name: str
    version: int
    source: str
    apply: Callable[[CheckpointSpec, str, FactSet], Checkpoint]
    settings: dict[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    teaching: Teaching | None = None
    remark: str = ""
    asking: Asking | None = None
    proof: Callable[[CheckpointSpec, str, FactSet], float] | None = None
    trains: bool = False

    @property
    def key(self) -> str:
        """Content address: scores under other settings are other scores."""
        return content_key([self.name, self.version, self.settings])

    def key_on(self, facts: FactSet) -> str:
        """The same with what is asked, or taught and judged: a model that learned other facts has other scores."""
        if self.asking is not None:
            both = [self.asking.ways(facts, split) for split in ("forget", "retain")]
            asked = [{id: [[w.question, w.opening] for w in own] for id, own in ways.items()} for ways in both]
            return content_key([self.key, *asked])
        if self.teaching is None:
            return self.key
        return content_key([self.key, self.teaching.taught(facts).digest, self.teaching.judged(facts).digest])

    def check(self, facts: FactSet) -> None:
        """Raises FactError where it was written for other facts than all of a manifest's."""
        if self.asking is not None and self.asking.check is not None:
            self.asking.check(facts)

    def judged(self, facts: FactSet) -> FactSet:
        """The facts by which the attack is judged."""
        if self.asking is not None:
            ways = self.asking.ways(facts, "forget")
            return facts.where(lambda fact: fact.id in ways)
        return facts.split("forget") if self.teaching is None else self.teaching.judged(facts)


def load_full(spec: CheckpointSpec, device: str, attack: str) -> Checkpoint:
    """A checkpoint whose weights can be changed. Raises CheckpointError for quantized ones, and for a GPU too small."""
    from uds_bench.checkpoints import load  # takes seconds to import
    from uds_bench.checkpoints.placement import is_spread

    if spec.quantization is not None:
        raise CheckpointError(
            f"{spec.model} is {spec.quantization}: the attack {attack} changes full weights; name it without "
            "quantization"
        )
    found = load(spec, device)
    if is_spread(found.model):
        raise CheckpointError(
            f"{spec.model} does not fit into the GPU whole: the attack {attack} changes weights there; use a GPU "
            "with more memory, or --uds-device cpu"
        )
    return found
