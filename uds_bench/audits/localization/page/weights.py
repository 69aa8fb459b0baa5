"""Where each update moved the weights: its AUCs beside those of updates that know nothing of the masks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from uds_bench.audits.localization.claims import LOCALIZED, MARGIN
from uds_bench.audits.localization.families import FAMILIES
from uds_bench.audits.localization.names import HEADLINE, PUBLISHED
from uds_bench.figures.auc_plot import AucRow, auc_plot
from uds_bench.figures.chapter import Figure
from uds_bench.figures.reading import (
    ABSENT,
    Measured,
    interval,
    measured,
    number,
    spell,
    spell_interval,
    table,
    text,
    texts,
    whole,
    within,
)
from uds_bench.figures.svg import element
from uds_bench.figures.tables import figures, interval_table, track

CONTRASTS = [name for name, family in FAMILIES.items() if family.needs_control]
TARGETS = {
    HEADLINE: "among the other groups' masks",
    PUBLISHED: "against all other weights, as published",
    "forget_or_retain": "forget or retain against all other",
}
SUBJECTS = {
    "unlearned": "this update",
    "random": "random",
    "permuted": "masks drawn anew",
    "planted": "within the mask",
    "misplaced": "everywhere but there",
}
NEUTRAL = "neutral"
NONE = "no family counts"
WITHOUT = "not applicable: no control"

Weights = Mapping[str, Any]


def updates(section: Mapping[str, Any]) -> dict[str, Weights]:
    """By model that was made of the injected one, where its weights moved."""
    models = table(section.get("models"))
    found = {text(name): table(within(model, "weights")) for name, model in models.items()}
    return {name: weights for name, weights in found.items() if weights}


def auc(weights: Weights, target: str, family: str, subject: str = "unlearned") -> Measured:
    """The AUC of one family of scores against one target, with its interval."""
    return measured(within(weights, "aucs", subject, target, family))


def comes_to(section: Mapping[str, Any]) -> Figure:
    """Where each update went: its AUC beside those of controls."""
    listed = updates(section)
    neutral = listed.get(NEUTRAL, {})
    body: list[tuple[str, list[Any]]] = []
    beside: list[tuple[str, list[Any]]] = []
    for name, weights in listed.items():
        shown = f"{name} (control)" if name == NEUTRAL else name
        best, moved = table(weights.get("headline")), table(weights.get("touched"))
        value = measured(best)
        cells: list[Any] = [_word(weights), track(f"AUC of {name}", *value, mark=0.5), figures(*value)]
        cells += [text(best.get("family")) or ABSENT, spell_interval(interval(best.get("null"))) or ABSENT]
        cells += [_share(moved.get("share")), _count(moved.get("elsewhere")), _identity(moved)]
        body.append((shown, [*cells, auc(weights, HEADLINE, "raw")[0]]))
        counted, family = texts(weights.get("counted")), text(within(weights, "published", "family"))
        blind = [_most(weights, counted, subject) for subject in ("random", "permuted", "planted", "misplaced")]
        found = [figures(*measured(weights.get("published"))), figures(*auc(weights, PUBLISHED, family, "random"))]
        all_random = [*table(within(weights, "aucs", "random", PUBLISHED))]
        row = [blind[0], _most(neutral, counted), *blind[1:], family or ABSENT, *found]
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


def _most(weights: Weights, families: Sequence[str], subject: str = "unlearned", target: str = HEADLINE) -> str:
    """The most that any of some families reaches."""
    found = {name: value for name in families if (value := auc(weights, target, name, subject)[0]) is not None}
    if not found:
        return ABSENT
    name = max(found, key=lambda one: found[one])
    return f"{spell(found[name])} ({name})"


def located(section: Mapping[str, Any]) -> Iterator[Figure]:
    """One figure a candidate."""
    listed = updates(section)
    neutral = listed.get(NEUTRAL, {})
    for name, weights in listed.items():
        if name != NEUTRAL:
            yield _figure(name, weights, neutral)


def _figure(name: str, weights: Weights, neutral: Weights) -> Figure:
    counted, absent = texts(weights.get("counted")), texts(weights.get("absent"))
    families = [*map(text, table(within(weights, "aucs", "unlearned", HEADLINE)))]
    left = {family: _why(family, weights, neutral) for family in families if family not in counted}
    drawn = []
    for target, bound in ((HEADLINE, LOCALIZED), (PUBLISHED, None)):
        rows = [_row(family, target, weights, neutral, left.get(family)) for family in families]
        rows += [AucRow(family, (None, None), {}, None, WITHOUT) for family in absent]
        drawn.append(auc_plot(f"{name}, {TARGETS[target]}", rows, MARGIN, bound))
    told = [_sentence(weights, len(counted)), _moved(weights)]
    told += [f"Not counted: {', '.join(f'{family} ({why})' for family, why in left.items())}."] if left else []
    told += [f"Not applicable, for want of a control: {', '.join(absent)}."] if absent else []
    panels = (element("div", *drawn, class_="columns"), _numbers(name, weights, neutral, families))
    return Figure(f"Where {name} moved the weights", " ".join(told), panels if families else (), wide=True)


def _row(family: str, target: str, weights: Weights, neutral: Weights, why: str | None) -> AucRow:
    best = table(weights.get("headline"))
    chosen = target == HEADLINE and family == best.get("family")
    # The best is shown with the interval that it is judged by, which is wider, as it was chosen among others.
    found = best if chosen else table(within(weights, "aucs", "unlearned", target, family))
    blind = {"random": auc(weights, target, family, "random"), NEUTRAL: auc(neutral, target, family)}
    note = "" if why is None else f"not counted: {why}"
    return AucRow(family, measured(found), blind, interval(found.get("null")), note, chosen)


def _why(family: str, weights: Weights, neutral: Weights) -> str:
    """The controls that a family is told by: either way from one half by a blind update, and above it by one that
    left the mask alone."""
    found = {
        "random update": auc(weights, HEADLINE, family, "random"),
        "neutral training": auc(neutral, HEADLINE, family),
    }
    told = [f"{kind} {spell(v)}" for kind, (v, _) in found.items() if v is not None and abs(v - 0.5) > MARGIN]
    misplaced, _ = auc(weights, HEADLINE, family, "misplaced")
    if misplaced is not None and misplaced > 0.5 + MARGIN:
        told.append(f"an update everywhere but there {spell(misplaced)}")
    unmasked, _ = measured(weights.get("unmasked"))
    if family in CONTRASTS and unmasked is not None and abs(unmasked - 0.5) > MARGIN:
        told.append(f"what it is held against {spell(unmasked)}")
    return ", ".join(told) or "the report does not say why"


def _word(weights: Weights) -> str:
    if _still(weights):
        return "no group's weights changed"
    return NONE if _none(weights) else text(within(weights, "headline", "word")) or ABSENT


def _none(weights: Weights) -> bool:
    """Whether the report says that no family counts, rather than nothing."""
    return "headline" in weights and weights["headline"] is None


def _still(weights: Weights) -> bool:
    """Whether no group's weights were moved at all."""
    moved = table(weights.get("touched"))
    return number(moved.get("share")) == 1 and moved.get("elsewhere") == 0


def _sentence(weights: Weights, count: int) -> str:
    best = table(weights.get("headline"))
    value, span = measured(best)
    published, other = measured(weights.get("published"))[0], text(within(weights, "published", "family"))
    if _still(weights):
        return "No weight that any group was written to was changed."
    if _none(weights):
        return "No family counts: each is told even by an update that knows nothing of the masks."
    blind = auc(weights, PUBLISHED, other, "random")[0]
    words = f"{_word(weights).capitalize()}, by {text(best.get('family')) or ABSENT}, best of {count}: {spell(value)}"
    words += f" ({spell_interval(span)})." if span else "."
    return (
        f"{words} Against all other weights, as published, {other or ABSENT} has most, {spell(published)}, where a "
        f"random update as long, which is blind, has {spell(blind)}."
    )


def _moved(weights: Weights) -> str:
    moved = table(weights.get("touched"))
    wanted, others = _count(moved.get("wanted")), whole(moved.get("elsewhere"))
    words = f"Of the forget mask's {wanted} weights {_share(moved.get('share'))} were left alone"
    if others is None:
        return f"{words}; whether other groups' were moved is not told."
    if others:
        return f"{words}; {others:,} weights of the other groups were moved."
    raw = auc(weights, HEADLINE, "raw")[0]
    return f"{words}; no other group's were moved, so that raw must have {_identity(moved)}: it has {spell(raw)}."


def _numbers(name: str, weights: Weights, neutral: Weights, families: Sequence[str]) -> Markup:
    """Every AUC of an update and of what it is held against, folded."""
    columns = [
        (target, subject) for target in TARGETS for subject in (*SUBJECTS, NEUTRAL) if _has(weights, target, subject)
    ]
    body: list[tuple[str, list[Any]]] = []
    for family in families:
        found = [
            auc(neutral, target, family) if subject == NEUTRAL else auc(weights, target, family, subject)
            for target, subject in columns
        ]
        body.append((family, [figures(*one) for one in found]))
    head = [f"{SUBJECTS.get(subject, 'neutral')}, {TARGETS[target]}" for target, subject in columns]
    return element("details", element("summary", f"every AUC of {name}"), *interval_table(("family", *head), body))


def _has(weights: Weights, target: str, subject: str) -> bool:
    return subject == NEUTRAL or bool(table(within(weights, "aucs", subject, target)))


def _identity(moved: Mapping[str, Any]) -> str:
    share = number(moved.get("share"))
    return "n/a" if share is None or moved.get("elsewhere") != 0 else spell(1 - share / 2)


def _share(value: Any) -> str:
    found = number(value)
    return ABSENT if found is None else f"{found:.1%}"


def _count(value: Any) -> str:
    found = whole(value)
    return ABSENT if found is None else f"{found:,}"
