"""The depth audit on the page: can forgotten knowledge be recovered from the activations?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from uds_bench.claims.report_part import Count, KnownNumber, Measurement
from uds_bench.figures.bars import Share, shares
from uds_bench.figures.chapter import Chapter, Figure
from uds_bench.figures.histogram import histogram
from uds_bench.figures.layers import layer_profile
from uds_bench.figures.tables import MeanCell, shaded_table
from uds_bench.scores import Score

OVER = 1.05
"""An unclipped ratio above this counts as over-unlearning; up to it, a ratio is near enough to 1."""


class LayerDetail(BaseModel):
    """What a fact's score tells of layers."""

    retain_drops: tuple[KnownNumber, ...] = ()
    drops: tuple[KnownNumber, ...] = ()
    unclipped: Measurement = None
    knowledge_layers: tuple[Count, ...] | None = None


def _detail(told: Mapping[str, Any]) -> LayerDetail:
    """The details of a fact; none if they have another form, as in scores of another origin."""
    try:
        return LayerDetail.model_validate(told)
    except ValidationError:
        return LayerDetail()


def mean_drops(score: Score) -> tuple[list[float], list[float], int] | None:
    """Mean fall of the answer's log-probability per layer, when patching from the retain model and from the candidate.

    Args:
        score: UDS of one checkpoint, as a run report has it.

    Returns:
        Two lists, [layers] each, in nats, where higher is more that is lost, and the number of facts. None where no
        fact has both; facts with another number of layers than the first are left out.

    Example:
        >>> from types import SimpleNamespace
        >>> facts = [SimpleNamespace(detail={"retain_drops": [1.0, 3.0], "drops": [fall, 0.0]}) for fall in (0.0, 1.0)]
        >>> mean_drops(SimpleNamespace(per_fact=facts))
        ([1.0, 3.0], [0.5, 0.0], 2)
    """
    pairs = [(told.retain_drops, told.drops) for told in (_detail(fact.detail) for fact in score.per_fact)]
    whole = [(retain, own) for retain, own in pairs if retain and own and len(retain) == len(own)]
    whole = [pair for pair in whole if len(pair[0]) == len(whole[0][0])]
    if not whole:
        return None
    retain, own = ([sum(layer) / len(whole) for layer in zip(*side, strict=True)] for side in zip(*whole, strict=True))
    return retain, own, len(whole)


def by_kind(scores: Sequence[Score]) -> list[tuple[str, dict[str, MeanCell]]]:
    """Per checkpoint: prompt kind -> mean value and number of scored facts."""
    rows = []
    for score in scores:
        groups: dict[str, list[float]] = {}
        for fact in score.per_fact:
            if fact.kind and fact.value is not None:
                groups.setdefault(fact.kind, []).append(fact.value)
        if groups:
            rows.append((score.checkpoint, {kind: MeanCell(sum(v) / len(v), len(v)) for kind, v in groups.items()}))
    return rows


def over_unlearned(score: Score) -> Share:
    """Facts whose ratio, before it is clipped to 1, exceeds `OVER`."""
    ratios = [(fact.id, _detail(fact.detail).unclipped) for fact in score.per_fact]
    known = [(identity, ratio) for identity, ratio in ratios if ratio is not None]
    return Share(score.checkpoint, tuple(identity for identity, ratio in known if ratio > OVER), len(known))


def without_layers(score: Score) -> Share:
    """Facts that no layer encodes beyond what the retain model knows: they cannot be scored."""
    told = [(fact.id, _detail(fact.detail).knowledge_layers) for fact in score.per_fact]
    known = [(identity, layers) for identity, layers in told if layers is not None]
    return Share(score.checkpoint, tuple(identity for identity, layers in known if not layers), len(known))


def _same(found: Sequence[Share]) -> list[Share]:
    """One row in place of many where every checkpoint has the same facts."""
    if len(found) > 1 and len({(share.facts, share.total) for share in found}) == 1:
        return [Share("every checkpoint", found[0].facts, found[0].total)]
    return list(found)


def draw(scores: Sequence[Score]) -> list[Figure]:
    """Its figures on the page, those that have something to show."""
    # One form a checkpoint: the first is the default form, others are in the table of scores.
    forms: dict[str, Score] = {}
    for score in scores:
        if score.metric == "uds" and score.attack == "none":
            forms.setdefault(score.checkpoint, score)
    depth = list(forms.values())
    profiles = [(score.checkpoint, drops) for score in depth if (drops := mean_drops(score))]
    top = max((value for _, (retain, own, _) in profiles for value in (*retain, *own)), default=0.0)
    spread = [(s.checkpoint, [f.value for f in s.per_fact if f.value is not None], s.value) for s in depth]
    over = [share for score in depth if (share := over_unlearned(score)).total]
    bare = [share for score in depth if (share := without_layers(score)).total]
    found = [
        Figure(
            "Layer profile",
            "Mean fall of the answer's log-probability (nats) when one layer's states are patched into "
            "the full model: dashed with rings from the retain model (S1), solid with dots from the "
            "checkpoint (S2). Where the solid line reaches the dashed one, that layer has forgotten as "
            "much as the retain model; where it stays near 0, the layer still knows.",
            tuple(layer_profile(name, retain, own, n, top) for name, (retain, own, n) in profiles),
        ),
        Figure(
            "Score per fact",
            "How many facts have which score. A candidate that forgot every fact piles up at 1; two piles "
            "mean that some facts were forgotten and others only look so. The triangle marks the mean.",
            tuple(histogram(name, values, mean, (0.0, 1.0)) for name, values, mean in spread if values),
        ),
        Figure(
            "Depth by kind of prompt",
            "Mean score of the facts of each kind, 0 intact and 1 erased: the deeper the shade, the more "
            "forgotten. A pale cell names a kind of knowledge that survived.",
            shaded_table("checkpoint", by_kind(depth)),
            wide=True,
        ),
        Figure(
            "Over-unlearning",
            f"Share of facts whose ratio before clipping exceeds {OVER}: there the checkpoint is further "
            "from the full model than a model that never knew, a sign of damage rather than of forgetting.",
            shares(over),
        ),
        Figure(
            "Facts without a knowledge layer",
            "No layer of the full model tells these facts from the retain model, so that they have no "
            "score and count as planned but not scored.",
            shares(_same(bare)),
        ),
    ]
    return [figure for figure in found if figure.panels]


TERMS = {
    "UDS, the unlearning depth score": (
        "0: the knowledge is intact; 1: erased as deep as in a model that never saw it. Higher is more "
        "forgotten. Hidden states of the candidate are patched into the full model, layer by layer, and one "
        "reads how far the answer's log-probability falls, compared with the fall that the retain model's "
        "states cause."
    ),
    "Full, retain": ("The model that knows the facts, and one trained without them: the two ends of the scale."),
    "Knowledge layer": ("A layer where patching the retain model's state lowers the answer noticeably."),
    "S1, S2": ("The fall when patching from the retain model (S1), and from the candidate (S2), in nats."),
}

CHAPTERS = (
    Chapter(
        name="depth",
        title="Depth",
        question="Can the forgotten knowledge still be recovered from the activations?",
        measures=("depth.score",),
        limits=(0.0, 1.0),
        ends=("intact: still knows", "erased: forgotten"),
        draw=draw,
        terms=TERMS,
    ),
)
