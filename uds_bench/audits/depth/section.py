"""The facts, references, candidates and pools of a manifest, by which depth, and metrics, are judged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, PlainValidator, field_serializer

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.errors import FactError
from uds_bench.facts.chat import require_date
from uds_bench.manifest import locate
from uds_bench.manifest.attack_tables import (
    FewShot,
    OwnQuestions,
    Prompt,
    Quantize,
    Relearn,
    RelearnHalf,
    RelearnLoad,
    RelearnWorst,
    Sampled,
)
from uds_bench.manifest.section import Section
from uds_bench.manifest.tables import Table
from uds_bench.manifest.toml import Keys, TomlDocument
from uds_bench.manifest.types import Checkpoint, Checkpoints, File, Pool, located, written

if TYPE_CHECKING:
    from uds_bench.attacks import Attack
    from uds_bench.facts import FactSet


def _option(value: Any) -> int | str:
    if type(value) not in (int, str):
        raise ValueError(f"is {value!r}: it must be a number of authors, or the name of a split")
    return value  # type: ignore[no-any-return]


def _date(value: str | None) -> str | None:
    try:
        return value if value is None else require_date(value)
    except FactError as error:
        raise ValueError(str(error).removeprefix("date_string ")) from None


class Facts(Table):
    """`source` as in `facts.load_facts`, with `options` for it. `keep_doubtful`: whether facts of TOFU are scored whose
    entity `annotate` is not sure of. `only_annotated`: no entity but those of `annotations` is scored; with
    `keep_doubtful` other facts are scored by their answers. `date_string`: what chat templates print as today's."""

    source: Annotated[str, located(locate.source)]
    forget: Annotated[int | str | None, PlainValidator(_option)] = None
    retain: Annotated[int | str | None, PlainValidator(_option)] = None
    annotations: File | None = None
    keep_doubtful: bool | None = None
    only_annotated: bool | None = None
    date_string: Annotated[str | None, AfterValidator(_date)] = None

    @property
    def options(self) -> dict[str, Any]:
        """What the manifest gives, as keyword arguments of `load_facts`."""
        return self.model_dump(exclude={"source"}, exclude_none=True)


class References(Table):
    """`nested`: models between full and retain, from the one that knows most to the one that knows least. `full` alone
    is enough to unlearn from."""

    full: Checkpoint
    retain: Checkpoint | None = None
    nested: Checkpoints = Field(default_factory=dict)

    @field_serializer("nested")
    def _in_order(self, nested: dict[str, CheckpointSpec]) -> list[Any]:
        return [[name, written(spec)] for name, spec in nested.items()]


class Pools(Table):
    """Models that know (`positive`) and models that never knew (`negative`), by name."""

    positive: Pool = Field(default_factory=dict)
    negative: Pool = Field(default_factory=dict)


class Attacks(Table):
    """The attacks to run: those whose table is there."""

    nf4: Quantize | None = None
    int8: Quantize | None = None
    relearn: Relearn | None = None
    relearn_half: RelearnHalf | None = None
    relearn_retain: Relearn | None = None
    relearn_unrelated: Relearn | None = None
    relearn_lora: Relearn | None = None
    relearn_load: RelearnLoad | None = None
    relearn_worst: RelearnWorst | None = None
    reworded: Prompt | None = None
    prefix: Prompt | None = None
    few_shot: FewShot | None = None
    alias: Prompt | None = None
    indirect: Prompt | None = None
    own_questions: OwnQuestions | None = None
    sampled: Sampled | None = None


PROMPTS = ("reworded", "prefix", "few_shot", "alias", "indirect", "own_questions", "sampled")
"""The attacks that leave checkpoints as they are and ask otherwise."""
CHANGES = tuple(name for name in Attacks.model_fields if name not in PROMPTS)
"""The attacks that change checkpoints."""


class Metrics(Table):
    """With this table metrics are judged, by faithfulness and robustness. `components`: UDS of the parts of a block of
    each candidate as well. No claim reads it: it takes some passes a layer, for the page alone."""

    components: bool = False


class Depth(Section):
    """`candidates` are for release, so each is gated. `sweep`: more unlearned models, which metrics are judged on and
    which no claim speaks of; with it, or `metrics`, metrics are judged as well."""

    NAME: ClassVar[str] = "candidates"
    INLINE: ClassVar[bool] = True

    facts: Facts | None = None
    references: References | None = None
    candidates: Checkpoints = Field(default_factory=dict)
    sweep: Checkpoints = Field(default_factory=dict)
    pools: Pools = Pools()
    attacks: Attacks = Attacks()
    metrics: Metrics | None = None

    def lacks(self) -> list[str]:
        """What would have to be added before anything can be judged."""
        needed = {
            "[facts] source": self.facts is None,
            "[references] full and retain": self.references is None,
            "[references] retain": self.references is not None and self.references.retain is None,
            "[candidates] with at least one name": not self.candidates,
        }
        return [text for text, lacks in needed.items() if lacks]

    @property
    def asks_nothing(self) -> bool:
        """Whether the file asks for no verdict: from facts and a full model alone, commands only unlearn."""
        rest, known = self.model_copy(update={"facts": None, "references": None}), self.references
        unlearns = known is not None and known.retain is None and not known.nested
        return self == Depth() or (unlearns and rest == Depth())

    def checkpoints(self) -> dict[str, CheckpointSpec]:
        """`full`, `retain`, nested, candidates, sweep, then pools."""
        references = self.references
        known = {} if references is None else {"full": references.full, "retain": references.retain}
        found = {name: spec for name, spec in known.items() if spec is not None}
        return {**found, **self.nested, **self.unlearned, **self.pools.positive, **self.pools.negative}

    @property
    def wants_laboratory(self) -> bool:
        """Whether metrics are to be judged as well."""
        return self.metrics is not None or bool(self.sweep)

    @property
    def wants_components(self) -> bool:
        """Whether UDS of the parts of a block is to be scored, for the page alone."""
        return self.metrics is not None and self.metrics.components

    def parent(self) -> str | None:
        """The checkpoint that the judged ones were made from, where the file names it."""
        return "full" if self.references is not None else None

    def judged(self) -> list[str]:
        """The models that claims speak of."""
        return list(self.candidates)

    def attacked(self) -> list[str]:
        """The attacks that the file names."""
        return list(self.attacks.model_dump(exclude_none=True))

    def weak(self) -> str:
        """The keys that would name the controls for which stand-ins are used."""
        keys = [key for key in ("positive", "negative") if not getattr(self.pools, key)]
        return f"[pools] {', '.join(keys)}" if keys and self.references and self.references.retain else ""

    @property
    def knower(self) -> str:
        """Another model that knows where there is one, else the full model."""
        return next(iter(self.pools.positive), "full")

    @property
    def stranger(self) -> str:
        """Another model that never knew where there is one, else the retain model."""
        return next(iter(self.pools.negative), "retain")

    @property
    def nested(self) -> dict[str, CheckpointSpec]:
        """Models between full and retain, in the order of the file."""
        return {} if self.references is None else self.references.nested

    @property
    def unlearned(self) -> dict[str, CheckpointSpec]:
        """The models that metrics are judged on: candidates, then the sweep."""
        return {**self.candidates, **self.sweep}

    def chosen_attacks(self, facts: FactSet | None = None) -> dict[str, Attack]:
        """The attacks that the file names, with its settings; if `facts` are given, each is checked against them.

        Raises FactError for an attack that does not suit the facts.
        """
        from uds_bench.attacks import find_attacks

        found = find_attacks(self.attacks.model_dump(exclude_none=True))
        if facts is not None:
            for attack in found.values():
                attack.check(facts)
        return found

    def places(self, document: TomlDocument) -> Iterator[tuple[Keys, str]]:
        """Where each checkpoint stands in the file, and its name."""
        if self.references is not None:
            yield ("references", "full"), "full"
        if self.references is not None and self.references.retain is not None:
            yield ("references", "retain"), "retain"
        for name in self.nested:
            yield ("references", "nested", name), name
        for key in ("candidates", "sweep"):
            for name in getattr(self, key):
                yield (key, name), name
        for pool in ("positive", "negative"):
            listed = isinstance(document.values.get("pools", {}).get(pool), list)
            for index, name in enumerate(getattr(self.pools, pool)):
                yield ("pools", pool, index if listed else name), name


SECTION = Depth
