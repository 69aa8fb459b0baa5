"""The bypass audit on the page: is a leaking trace about the weights, or about the decoder and the parser?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from uds_bench.figures.chapter import Chapter, Figure
from uds_bench.figures.reading import ABSENT, measured, number, rows, table, text, whole
from uds_bench.figures.replies import transcripts
from uds_bench.figures.svg import element
from uds_bench.figures.tables import figures, interval_table, span_track, track

ARMS = {
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
SWAPS = ("bio", "meta", "empty", "neutral", "drawn")
PREFILLS = ("bio", "meta", "empty")
QUESTIONED = ("auto", "bio", "meta", "empty", "drawn")
MATCHES = {"exact": "exact", "stripped": "without head", "normalized": "normalized"}

Seeds = Sequence[tuple[str, Mapping[str, Any]]]


def _because(row: Mapping[str, Any]) -> Markup:
    return element("td", text(row.get("why")), class_="because")


def words(models: Sequence[Mapping[str, Any]]) -> Figure:
    """The word of each model and seed, with the rates that it rests on."""
    body: list[tuple[str, list[Any]]] = []
    for model in models:
        listed = rows(model.get("seeds"))
        for seed in listed:
            gaps, out, leak = (table(seed.get(key)) for key in ("gap", "out", "leak"))
            must = text(model.get("must"))
            rates = [figures(*measured(found)) for found in (out.get("exact"), leak.get("exact"))]
            both = [figures(*measured(gaps.get(key))) for key in ("answer", "trace")]
            kept = [figures(*measured(seed.get(key))) for key in ("untagged", "retain")]
            verdict = text(seed.get("word")) + (f" (control, must {must})" if must else "")
            parts = ", ".join(f"{name} {text(part)}" for name, part in table(seed.get("parts")).items())
            body.append((text(seed.get("name")), [verdict, parts, *rates, *both, *kept, _because(seed)]))
        if len({text(seed.get("word")) for seed in listed}) > 1:
            name = f"{text(model.get('model'))}, all seeds"
            body.append((name, [text(model.get("word")), *[""] * 7, _because(model)]))
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
    for name, seed in found:
        cells: list[Any] = []
        for told in (table(seed.get("out")), table(seed.get("leak"))):
            cells += [figures(*measured(told.get(match))) for match in MATCHES]
        body.append((name, cells))
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
    for name, seed in found:
        gap, arms = measured(table(seed.get("gap")).get("answer")), table(seed.get("arms"))
        cells: list[Any] = [span_track(f"gap of {name}", *gap)]
        for arm in SWAPS:
            contrast = measured(table(arms.get(arm)).get("contrast"))
            cells.append(span_track(f"contrast of {name} under {arm}", *contrast))
        body.append((name, cells))
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
    for name, seed in found:
        listed = table(seed.get("arms"))
        body.append((name, [figures(*measured(table(listed.get(arm)).get("out"))) for arm in ARMS]))
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
    for name, seed in found:
        cells: list[Any] = [figures(*measured(seed.get(key))) for key in ("emitted", "anywhere")]
        arms = table(seed.get("arms"))
        cut = [number(table(table(arms.get(arm)).get("unfinished")).get("value")) for arm in ARMS]
        cells.append(max((share for share in cut if share is not None), default=None))
        apart = table(table(arms.get("bio")).get("contrast_unpaired"))
        cells.append(figures(*measured(apart)))
        questions = table(seed.get("questions"))
        cells += [number(table(questions.get(split)).get(arm)) for split in ("forget", "retain") for arm in QUESTIONED]
        body.append((name, cells))
    head = ["model", "thinks", "told anywhere", "cut, worst arm", "contrast, sides apart"]
    head += [f"questions, {split}, {ARMS[arm]}" for split in ("forget", "retain") for arm in QUESTIONED]
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
    for name, seed in found:
        for prefill in PREFILLS:
            row = table(table(seed.get("forced")).get(prefill))
            tokens = table(row.get("all_tokens"))
            cells: list[Any] = [ARMS[prefill], track(f"own names of {name}", *measured(row.get("own")))]
            cells += [figures(*measured(row.get(key))) for key in ("own", "wrong_author", "never_seen")]
            cells += [measured(tokens.get(key))[0] for key in ("own", "wrong_author", "shuffled_head", "never_seen")]
            cells += [number(row.get(key)) for key in ("mean_logp", "mean_logp_never_seen", "perplexity")]
            body.append((name, cells))
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
    for name, seed in found:
        row, questions = table(seed.get("anatomy")), table(seed.get("questions"))
        cases, bare = whole(row.get("cases")), whole(row.get("bare"))
        if not cases:
            continue
        share = ABSENT if bare is None else f"{bare} of {cases} ({bare / cases:.0%})"
        kept = [number(table(questions.get(split)).get("auto")) for split in ("forget", "retain")]
        body.append((name, [share, number(row.get("length")), number(row.get("both_length")), *kept]))
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
    for name, seed in found:
        listed = rows(seed.get("authors"))
        if listed:
            panels.append(Markup("<details><summary>{}</summary>{}</details>").format(name, transcripts(listed, ARMS)))
    return Figure(
        "Author by author",
        "Open a model, then an author: what it thought and answered under every trace, with the sentence that is "
        "looked for marked where it stands.",
        tuple(panels),
        wide=True,
    )


def draw(part: Mapping[str, Any]) -> list[Figure]:
    """Its figures on the page, those that have something to show."""
    models = rows(part.get("models"))
    found = [(text(seed.get("name")) or "unnamed", seed) for model in models for seed in rows(model.get("seeds"))]
    of_seeds = (contrasts, arms, containments, shapes, forced, anatomies, authors)
    drawn = [words(models), *(figure(found) for figure in of_seeds)]
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
        part="bypass",
        personal=("authors",),
    ),
)
