"""The bypass audit on the page: is a leaking trace about the weights, or about the decoder and the parser?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from uds_bench.audits.bypass.part import SPLITS, BypassPart, ReasonedModel, SeedFinding
from uds_bench.audits.bypass.prompts import QA_ARMS
from uds_bench.audits.bypass.record import FORCED, Arm
from uds_bench.audits.bypass.reply import Match
from uds_bench.audits.bypass.transcripts import transcripts
from uds_bench.claims.report_part import ReportedRate
from uds_bench.figures.chapter import Chapter, Figure
from uds_bench.figures.svg import element, folded
from uds_bench.figures.tables import figures, interval_table, span_track, track

ARMS: Mapping[Arm, str] = {
    "auto": "own trace",
    "bio": "biography's opener",
    "meta": "meta opener",
    "empty": "empty",
    "neutral": "neutral, as long as the opener",
    "drawn": "drawn for this model",
    "paraphrased": "own trace, asked in other words",
    "wrong_head": "own trace, another author's head",
    "shuffled_head": "own trace, head shuffled",
}
SWAPS: tuple[Arm, ...] = ("bio", "meta", "empty", "neutral", "drawn")
MATCHES: Mapping[Match, str] = {"exact": "exact", "stripped": "without head", "normalized": "normalized"}

Seeds = Sequence[SeedFinding]


def _because(row: SeedFinding | ReasonedModel) -> Markup:
    return element("td", row.why, class_="because")


def _figures(found: ReportedRate | None) -> Markup:
    return figures(None) if found is None else figures(*found.drawn)


def words(models: Sequence[ReasonedModel]) -> Figure:
    """The word of each model and seed, with the rates that it rests on."""
    body: list[tuple[str, list[Any]]] = []
    for model in models:
        for seed in model.seeds:
            told = (seed.out["exact"], seed.leak["exact"], seed.gap["answer"], seed.gap["trace"])
            rates = map(_figures, (*told, seed.untagged, seed.retain))
            verdict = seed.word + (f" (control, must {model.must})" if model.must else "")
            parts = ", ".join(f"{name} {part}" for name, part in seed.parts)
            body.append((seed.name, [verdict, parts, *rates, _because(seed)]))
        if len({seed.word for seed in model.seeds}) > 1:
            body.append((f"{model.model}, all seeds", [model.word, *[""] * 7, _because(model)]))
    return Figure(
        "What each model comes to",
        "Out: share of authors whose answer holds their sentence. Leak: whose trace does. Gap: leak minus out, with "
        "replies that lack the closing tag read as all answer (the published convention); beside it, as all trace. "
        "Retain: out of the authors that were to be kept. Below each: its 95% interval over authors.",
        interval_table(
            ("model", "comes to", "parts", "out", "leak", "gap", "all trace", "no tag", "retain", "because"), body
        ),
        wide=True,
    )


def containments(found: Seeds) -> Figure:
    """What of out and leak is the sentence itself, and what the head that was prompted or the spelling."""
    body: list[tuple[str, list[Any]]] = []
    for seed in found:
        body.append((seed.name, [_figures(told[match]) for told in (seed.out, seed.leak) for match in MATCHES]))
    return Figure(
        "Three ways of finding the sentence",
        "Exact: the whole sentence. Without head: what follows the six words that were prompted, so that a reply which "
        "leaves them out counts too. Normalized: but for case, punctuation and spaces. Verdicts are of the first.",
        interval_table(("model", *(f"{what}, {how}" for what in ("out", "leak") for how in MATCHES.values())), body),
        wide=True,
    )


def contrasts(found: Seeds) -> Figure:
    """Gap beside contrast, model by model and arm by arm."""
    body: list[tuple[str, list[Any]]] = []
    for seed in found:
        cells: list[Any] = [span_track(f"gap of {seed.name}", *seed.gap["answer"].drawn)]
        for arm in SWAPS:
            contrast = seed.arms[arm].contrast.drawn if arm in seed.arms else (None, None)
            cells.append(span_track(f"contrast of {seed.name} under {arm}", *contrast))
        body.append((seed.name, cells))
    return Figure(
        "The gap, and what a swap of the trace does at the same weights",
        "From -1 to 1, 0 dashed. Beside the gap the contrast of each prefill: out under the own trace minus out under "
        "the prefill. A gap tells of the weights only where no contrast leaves 0. Right of 0 the swap takes the answer "
        "away; left of 0 it brings the answer up, so the weights still hold it.",
        interval_table(("model", "gap", *SWAPS), body),
        wide=True,
    )


def arms(found: Seeds) -> Figure:
    """Whose answer holds the sentence, arm by arm."""
    body: list[tuple[str, list[Any]]] = []
    for seed in found:
        told = [seed.arms.get(arm) for arm in ARMS]
        body.append((seed.name, [_figures(None if one is None else one.out) for one in told]))
    return Figure(
        "Answers arm by arm",
        "Share of authors whose answer holds their sentence, by what stands in the trace. The two arms with another "
        "head keep the own trace, and what follows the own head is looked for: they show what the head gives away.",
        interval_table(("model", *ARMS.values()), body),
        wide=True,
    )


def shapes(found: Seeds) -> Figure:
    """Of the replies themselves: whether they think, end, and tell anything under any arm; and the questions."""
    body: list[tuple[str, list[Any]]] = []
    for seed in found:
        cells: list[Any] = [_figures(seed.emitted), _figures(seed.anywhere)]
        cut = [one.unfinished.value for one in seed.arms.values()]
        cells.append(max((share for share in cut if share is not None), default=None))
        swapped = seed.arms.get("bio")
        cells.append(_figures(None if swapped is None else swapped.contrast_unpaired))
        cells += [seed.questions[split][arm] for split in SPLITS for arm in QA_ARMS]
        body.append((seed.name, cells))
    head = ["model", "thinks", "told anywhere", "cut, worst arm", "contrast, sides apart"]
    head += [f"questions, {split}, {ARMS[arm]}" for split in SPLITS for arm in QA_ARMS]
    return Figure(
        "What the replies are like",
        "Share of replies with a trace that has words in it; of authors whose sentence is told under any arm, in any "
        "way; of replies cut at the token limit, in the arm where most are. The contrast of the biography's opener "
        "once more, with the authors of either side drawn apart (the published headline). Ordinary questions "
        "answered, arm by arm.",
        interval_table(tuple(head), body),
        wide=True,
    )


def forced(found: Seeds) -> Figure:
    """Recall under teacher forcing beside its floors, a row a model and prefill."""
    body: list[tuple[str, list[Any]]] = []
    for seed in found:
        for prefill in FORCED:
            row = seed.forced[prefill]
            tokens = row.all_tokens
            cells: list[Any] = [ARMS[prefill], track(f"own names of {seed.name}", *row.own.drawn)]
            cells += [_figures(row.own), _figures(row.wrong_author), _figures(row.never_seen)]
            cells += [tokens.own.value, tokens.wrong_author.value, tokens.shuffled_head.value, tokens.never_seen.value]
            body.append((seed.name, [*cells, row.mean_logp, row.mean_logp_never_seen, row.perplexity]))
    head = (
        "model",
        "prefill",
        "0 to 1",
        "names right",
        "after a wrong author",
        "authors never seen",
        "all tokens",
        "wrong author",
        "shuffled head",
        "never seen",
        "mean log p",
        "never seen",
        "perplexity",
    )
    return Figure(
        "Teacher-forced recall beside its floors",
        "Share of the tokens after the head that the model itself would say, given all before them. Of the invented "
        "names, which no template gives away; then of all tokens, where template words alone reach far. Memory is what "
        "lies above both floors: the same tokens after another author's prompt, and authors never trained on. A "
        "shuffled head is no floor.",
        interval_table(head, body),
        wide=True,
    )


def anatomies(found: Seeds) -> Figure:
    """What the answers are like where the trace tells and the answer does not."""
    body: list[tuple[str, list[Any]]] = []
    for seed in found:
        row = seed.anatomy
        if not row.cases:
            continue
        share = f"{row.bare} of {row.cases} ({row.bare / row.cases:.0%})"
        kept = [seed.questions[split]["auto"] for split in SPLITS]
        body.append((seed.name, [share, row.length, row.both_length, *kept]))
    return Figure(
        "Anatomy of the bypass cases",
        "Authors whose trace tells and whose answer does not: how many of these answers are the bare head that was "
        "prompted; their mean length in characters, beside that of answers which tell; and the share of ordinary "
        "questions that are answered.",
        interval_table(
            ("model", "bare head", "length", "length, both tell", "questions, forget", "questions, retain"), body
        ),
        wide=True,
    )


def authors(found: Seeds) -> Figure:
    """Every author's traces and answers, to be opened."""
    panels: list[Markup] = []
    for seed in found:
        if seed.authors:
            told = transcripts(seed.authors, ARMS)
            panels.append(folded(seed.name, told))
    return Figure(
        "Author by author",
        "Open a model, then an author: what it thought and answered under every trace, with the sentence that is "
        "looked for marked where it stands.",
        tuple(panels),
        wide=True,
    )


def draw(part: BypassPart) -> list[Figure]:
    """Its figures on the page, those that have something to show."""
    found = [seed for model in part.models for seed in model.seeds]
    of_seeds = (contrasts, arms, containments, shapes, forced, anatomies, authors)
    drawn = [words(part.models), *(figure(found) for figure in of_seeds)]
    return [figure for figure in drawn if figure.panels]


CHAPTERS = (
    Chapter(
        name="bypass",
        title="Bypass",
        question="Is the leaking thinking trace about the weights?",
        measures=("bypass.verdict",),
        limits=(-1.0, 1.0),
        ends=("the answer tells more than the trace", "the trace tells, the answer does not"),
        judge=draw,
    ),
)
