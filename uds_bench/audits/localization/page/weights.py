"""Where each update moved the weights: its AUCs beside those of updates that know nothing of the masks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from markupsafe import Markup

from uds_bench.audits.localization.claims import LOCALIZED, MARGIN
from uds_bench.audits.localization.families import FAMILIES
from uds_bench.audits.localization.names import HEADLINE, PUBLISHED, Subject, Target
from uds_bench.audits.localization.part import LocalizationPart, MovedWeights, ReportedAuc, TouchedWeights
from uds_bench.claims.report_part import span
from uds_bench.figures.auc_plot import AucRow, auc_plot
from uds_bench.figures.chapter import Figure
from uds_bench.figures.spelling import ABSENT, Measured, spell, spell_interval
from uds_bench.figures.svg import element, folded
from uds_bench.figures.tables import figures, interval_table, track

CONTRASTS = [name for name, family in FAMILIES.items() if family.needs_control]
TARGETS: Mapping[Target, str] = {
    HEADLINE: "among the other groups' masks",
    PUBLISHED: "against all other weights, as published",
    "forget_or_retain": "forget or retain against all other",
}
SUBJECTS: Mapping[Subject, str] = {
    "unlearned": "this update",
    "random": "random",
    "permuted": "masks drawn anew",
    "planted": "within the mask",
    "misplaced": "everywhere but there",
}
NEUTRAL = "neutral"
NONE = "no family counts"
WITHOUT = "not applicable: no control"

BLIND: tuple[Subject, ...] = get_args(Subject)[1:]
NOTHING: Measured = (None, None)


def updates(part: LocalizationPart) -> dict[str, MovedWeights]:
    """By model that was made of the injected one, where its weights moved."""
    return {name: model.weights for name, model in part.models.items() if model.weights is not None}


def comes_to(part: LocalizationPart) -> Figure:
    """Where each update went: its AUC beside those of controls."""
    listed = updates(part)
    neutral = listed.get(NEUTRAL)
    body: list[tuple[str, list[Any]]] = []
    beside: list[tuple[str, list[Any]]] = []
    for name, weights in listed.items():
        shown = f"{name} (control)" if name == NEUTRAL else name
        best, moved, counted, family = weights.headline, weights.touched, weights.counted, weights.published.family
        value = NOTHING if best is None else best.drawn
        cells: list[Any] = [_word(weights), track(f"AUC of {name}", *value, mark=0.5), figures(*value)]
        cells += [ABSENT, ABSENT] if best is None else [best.family, spell_interval(span(*best.null)) or ABSENT]
        cells += [_share(moved), f"{moved.elsewhere:,}", _identity(moved)]
        body.append((shown, [*cells, weights.auc(HEADLINE, "raw")[0]]))
        random, *blind = (_most(weights, counted, subject) for subject in BLIND)
        found = [figures(*weights.published.drawn), figures(*weights.auc(PUBLISHED, family, "random"))]
        all_random = [*weights.aucs.get("random", {}).get(PUBLISHED, {})]
        row = [random, _most(neutral, counted), *blind, family, *found]
        beside.append((shown, [*row, _most(weights, all_random, "random", PUBLISHED)]))
    head = ("update", "comes to", "0 to 1", "AUC", "by", "chance", "mask left", "others moved", "1 − p0/2", "raw")
    known = ("random", "neutral", "masks drawn anew", "within the mask", "everywhere but there")
    return Figure(
        "What each update comes to",
        "AUC of the forget mask among the other groups' masks, by the best family that counts, with its 95% interval; "
        "one half is dashed. Chance: where it would lie for scores that know nothing. Mask left (p0): share of the "
        "forget mask's weights that were left as they were; others moved: weights of the other groups' masks that were "
        "not. Where none of those moved, the AUC of raw must be 1 − p0/2. Below, by the best of the same families, "
        "what is known beforehand: a random update as long, neutral training and the update among masks drawn anew "
        "must be near one half, an update within the forget mask near 1, and one everywhere but there not above one "
        "half. Then the best family against all other "
        "weights, as published, beside what a random update as long has by it, and by the best of its own.",
        (
            *interval_table(head, body),
            *interval_table(("update", *known, "published, by", "published", "random by it", "random at best"), beside),
        ),
        wide=True,
    )


def _most(
    weights: MovedWeights | None, families: Sequence[str], subject: Subject = "unlearned", target: Target = HEADLINE
) -> str:
    """The most that any of some families reaches."""
    aucs = {} if weights is None else {name: weights.auc(target, name, subject)[0] for name in families}
    found = {name: value for name, value in aucs.items() if value is not None}
    if not found:
        return ABSENT
    name = max(found, key=lambda one: found[one])
    return f"{spell(found[name])} ({name})"


def located(part: LocalizationPart) -> Iterator[Figure]:
    """One figure a candidate."""
    listed = updates(part)
    neutral = listed.get(NEUTRAL)
    for name, weights in listed.items():
        if name != NEUTRAL:
            yield _figure(name, weights, neutral)


def _figure(name: str, weights: MovedWeights, neutral: MovedWeights | None) -> Figure:
    counted, absent = weights.counted, weights.absent
    families = [*weights.aucs.get("unlearned", {}).get(HEADLINE, {})]
    left = {family: _why(family, weights, neutral) for family in families if family not in counted}
    drawn = []
    drawn_at: tuple[tuple[Target, float | None], ...] = ((HEADLINE, LOCALIZED), (PUBLISHED, None))
    for target, bound in drawn_at:
        rows = [_row(family, target, weights, neutral, left.get(family)) for family in families]
        rows += [AucRow(family, (None, None), {}, None, WITHOUT) for family in absent]
        drawn.append(auc_plot(f"{name}, {TARGETS[target]}", rows, MARGIN, bound))
    told = [_sentence(weights, len(counted)), _moved(weights)]
    told += [f"Not counted: {', '.join(f'{family} ({why})' for family, why in left.items())}."] if left else []
    told += [f"Not applicable, for want of a control: {', '.join(absent)}."] if absent else []
    panels = (element("div", *drawn, class_="columns"), _numbers(name, weights, neutral, families))
    return Figure(f"Where {name} moved the weights", " ".join(told), panels if families else (), wide=True)


def _row(family: str, target: Target, weights: MovedWeights, neutral: MovedWeights | None, why: str | None) -> AucRow:
    best, found = weights.headline, weights.aucs["unlearned"].get(target, {}).get(family)
    chosen = best is not None and target == HEADLINE and family == best.family
    # The best is shown with the interval that it is judged by, which is wider, as it was chosen among others.
    own: ReportedAuc | None = best if chosen else found
    blind = {"random": weights.auc(target, family, "random"), NEUTRAL: _of(neutral, target, family)}
    note = "" if why is None else f"not counted: {why}"
    drawn, null = (NOTHING, None) if own is None else (own.drawn, span(*own.null))
    return AucRow(family, drawn, blind, null, note, chosen)


def _of(neutral: MovedWeights | None, target: Target, family: str) -> Measured:
    return NOTHING if neutral is None else neutral.auc(target, family)


def _why(family: str, weights: MovedWeights, neutral: MovedWeights | None) -> str:
    """The controls that a family is told by: either way from one half by a blind update, and above it by one that
    left the mask alone."""
    found = {
        "random update": weights.auc(HEADLINE, family, "random"),
        "neutral training": _of(neutral, HEADLINE, family),
    }
    told = [f"{kind} {spell(v)}" for kind, (v, _) in found.items() if v is not None and abs(v - 0.5) > MARGIN]
    misplaced, _ = weights.auc(HEADLINE, family, "misplaced")
    if misplaced is not None and misplaced > 0.5 + MARGIN:
        told.append(f"an update everywhere but there {spell(misplaced)}")
    unmasked = None if weights.unmasked is None else weights.unmasked.value
    if family in CONTRASTS and unmasked is not None and abs(unmasked - 0.5) > MARGIN:
        told.append(f"what it is held against {spell(unmasked)}")
    return ", ".join(told) or "the report does not say why"


def _word(weights: MovedWeights) -> str:
    if _still(weights.touched):
        return "no group's weights changed"
    return NONE if weights.headline is None else weights.headline.word


def _still(moved: TouchedWeights) -> bool:
    """Whether no group's weights were moved at all."""
    return moved.share == 1 and moved.elsewhere == 0


def _sentence(weights: MovedWeights, count: int) -> str:
    best, published = weights.headline, weights.published
    if _still(weights.touched):
        return "No weight that any group was written to was changed."
    if best is None:
        return "No family counts: each is told even by an update that knows nothing of the masks."
    value, around = best.drawn
    blind = weights.auc(PUBLISHED, published.family, "random")[0]
    words = f"{_word(weights).capitalize()}, by {best.family}, best of {count}: {spell(value)}"
    words += f" ({spell_interval(around)})." if around else "."
    return (
        f"{words} Against all other weights, as published, {published.family} has most, {spell(published.value)}, "
        f"where a random update as long, which is blind, has {spell(blind)}."
    )


def _moved(weights: MovedWeights) -> str:
    moved = weights.touched
    words = f"Of the forget mask's {moved.wanted:,} weights {_share(moved)} were left alone"
    if moved.elsewhere:
        return f"{words}; {moved.elsewhere:,} weights of the other groups were moved."
    raw = weights.auc(HEADLINE, "raw")[0]
    return f"{words}; no other group's were moved, so that raw must have {_identity(moved)}: it has {spell(raw)}."


def _numbers(name: str, weights: MovedWeights, neutral: MovedWeights | None, families: Sequence[str]) -> Markup:
    """Every AUC of an update and of what it is held against, folded."""
    head, columns = ["family"], []
    for target, against in TARGETS.items():
        for subject, shown in SUBJECTS.items():
            if weights.aucs.get(subject, {}).get(target):
                head.append(f"{shown}, {against}")
                columns.append([weights.auc(target, family, subject) for family in families])
        head.append(f"neutral, {against}")
        columns.append([_of(neutral, target, family) for family in families])
    rows = zip(families, zip(*columns, strict=True), strict=True)
    body = [(family, [figures(*one) for one in found]) for family, found in rows]
    return folded(f"every AUC of {name}", *interval_table(head, body))


def _identity(moved: TouchedWeights) -> str:
    return "n/a" if moved.share is None or moved.elsewhere else spell(1 - moved.share / 2)


def _share(moved: TouchedWeights) -> str:
    return ABSENT if moved.share is None else f"{moved.share:.1%}"
