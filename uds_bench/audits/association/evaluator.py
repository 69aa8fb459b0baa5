"""The association audit's part that needs a model: the rank of everything that is true of some people."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from uds_bench.audits.association.asking import Asking, ProbeReply
from uds_bench.audits.association.probe_items import ProbeItem
from uds_bench.audits.association.ranking import ALPHA, Ranked
from uds_bench.audits.association.rates import Memorization, held
from uds_bench.audits.association.scoring import from_json, scored, to_json
from uds_bench.facts.name_matching import named
from uds_bench.metrics.metric import FactValue, Measure, Measured
from uds_bench.progress import watched
from uds_bench.scores import Score
from uds_bench.scoring.evaluator import Evaluator
from uds_bench.scoring.part import some
from uds_bench.storage import content_key

if TYPE_CHECKING:
    from uds_bench.checkpoints import Checkpoint

VERSION = 7


@dataclass(frozen=True)
class AssociationEvaluator(Evaluator):
    """Which of what is asked ranks first, template by template. See `uds_bench.scoring.evaluator.Evaluator`."""

    items: tuple[ProbeItem, ...]
    alpha: float = ALPHA
    variant: str = "default"
    """Which of an audit's ways of asking it is."""
    asking: Asking | None = field(default_factory=Asking)
    """How the model is asked for replies, if it is."""

    measure: ClassVar[Measure] = Measure(
        name="association_memorized",
        version=VERSION,
        direction="knowledge",
        limits=(0.0, 1.0),
        source="WikiMem, sections 5 and 6",
        counts_choices=True,
    )

    @property
    def units(self) -> Sequence[ProbeItem]:
        """What its values are of."""
        return self.items

    @cached_property
    def digest(self) -> str:
        """What is asked, by content."""
        rows = []
        for one in self.items:
            templates = [template.text for template in one.templates]
            asked = one.topic.questions(one.subject.name)
            rows.append([one.id, one.names, templates, asked, one.candidates.truths, one.candidates.others])
        return content_key([rows, self.alpha, None if self.asking is None else asdict(self.asking)])

    def part(self, share: float, /) -> Self:
        """See `Evaluator`."""
        return self.about(some(self.items, share))

    def about(self, items: Sequence[ProbeItem]) -> Self:
        """The same of others."""
        return replace(self, items=tuple(items))

    def evaluate(self, checkpoint: Checkpoint) -> Measured:
        """Per property of a person the share of templates that it is memorized under, ranks and replies as detail.

        The note `rendered` names every token that was read: models of which it differs were not asked the same.
        """
        from uds_bench.audits.association.likelihoods import of_checkpoint, require_known
        from uds_bench.audits.association.replies import replies

        require_known(checkpoint, list(dict.fromkeys(name for one in self.items for name in one.names)))
        values, read = [], hashlib.sha256()
        likelihoods = of_checkpoint(checkpoint, lambda rows: read.update(repr(rows).encode()))
        name = Path(checkpoint.spec.adapter or checkpoint.spec.model).name
        with watched(f"asking {name} about people", len(self.items)) as advance:
            for one, found in zip(self.items, scored(self.items, likelihoods, self.alpha), strict=True):
                mean = held(found, one.candidates.truths).mean
                values.append(FactValue(one.id, mean, detail={"ranks": to_json(found)}))
                advance(1)
        if self.asking is not None:
            told = zip(values, replies(checkpoint, self.items, self.asking), strict=True)
            values = [replace(one, detail={**one.detail, "replies": [*map(asdict, said)]}) for one, said in told]
        return Measured(values, {"rendered": read.hexdigest()})


def ranks_of(score: Score) -> dict[str, list[Ranked]]:
    """What a stored score says of each template.

    Args:
        score: Of a model, by this audit.

    Returns:
        By property of a person, its ranks, [templates].

    Example:
        >>> from types import SimpleNamespace
        >>> one = Ranked(rank=3, memorized=False, lenient=False, leads=(-0.5,), strength=-0.25, candidates=8)
        >>> score = SimpleNamespace(per_fact=[SimpleNamespace(id="ada/award", detail={"ranks": to_json([one])})])
        >>> ranks_of(score) == {"ada/award": [one]}
        True
    """
    return {fact.id: from_json(fact.detail["ranks"]) for fact in score.per_fact}


def held_beside(score: Score, items: Sequence[ProbeItem]) -> tuple[dict[str, Memorization], dict[str, Memorization]]:
    """By property of a person, the bare sentence and the one behind others, of a score of `beside_context`."""
    ranks = ranks_of(score)
    truths = {one.id: one.candidates.truths for one in items}
    first, second = ({id: held(ranks[id][at : at + 1], true) for id, true in truths.items()} for at in (0, 1))
    return first, second


def held_of(score: Score, items: Sequence[ProbeItem]) -> dict[str, Memorization]:
    """By property of a person, what its templates come to. A reply is searched for every value of the property."""
    ranks, said = ranks_of(score), replies_of(score)
    values: dict[str, dict[str, None]] = {}
    for one in items:
        values.setdefault(one.kind, {}).update(dict.fromkeys(one.candidates.values))
    told = {one.id: [(reply.form, named(reply.text, values[one.kind])) for reply in said[one.id]] for one in items}
    return {one.id: held(ranks[one.id], one.candidates.truths, told[one.id]) for one in items}


def replies_of(score: Score) -> dict[str, tuple[ProbeReply, ...]]:
    """By property of a person, what a stored score says was replied; nothing if not asked for."""
    return {fact.id: tuple(ProbeReply(**one) for one in fact.detail.get("replies", ())) for fact in score.per_fact}


def shown(score: Score, items: Sequence[ProbeItem]) -> dict[str, dict[str, Any]]:
    """By property of a person, for the page: a reply, one that tells it if there is any, and whether any reading shows
    that it is held."""
    ranks, said, found = ranks_of(score), replies_of(score), {}
    for one in items:
        if texts := [reply.text for reply in said.get(one.id, ())]:
            telling = [text for text in texts if named(text, one.candidates.truths)]
            known = held(ranks[one.id], one.candidates.truths)
            survives = bool(telling) or known.some or known.first > 0
            found[one.id] = {"answer": (telling or texts)[0], "survives": survives}
    return found
