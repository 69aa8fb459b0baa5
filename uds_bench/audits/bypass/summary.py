"""Everything that a reader may ask of one checkpoint as one JSON object: rates, contrasts, floors, anatomy, authors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, get_args

from uds_bench.audits.bypass import rates
from uds_bench.audits.bypass.finding import Finding
from uds_bench.audits.bypass.floors import all_tokens, likelihood
from uds_bench.audits.bypass.names import answers, answers_under
from uds_bench.audits.bypass.prompts import QA_ARMS
from uds_bench.audits.bypass.rates import Rows, in_answer, in_trace
from uds_bench.audits.bypass.record import ARMS, CONTEXTS, FORCED, Arm, Probed
from uds_bench.audits.bypass.reply import MATCHES, Fallback, split_reply, tells
from uds_bench.facts.canaries import Canary
from uds_bench.statistics import Rate, mean


@dataclass(frozen=True)
class TraceLeaks:
    """`cases`: authors whose trace leaks and whose answer does not; `bare`: those of them whose answer is the head that
    was prompted, word for word and nothing else. `length`: mean characters of their answers, `both_length` of the
    answers of authors on both of whose sides the canary stands; NaN where there is none (appendix D)."""

    cases: int
    bare: int
    both: int
    length: float
    both_length: float


def anatomy(rows: Rows) -> TraceLeaks:
    """What the model's own replies look like where the trace leaks and the answer does not.

    Args:
        rows: Canary and replies of each author, [authors].

    Returns:
        Counts of authors, and mean lengths in characters.

    Source: Audit of reasoning traces, appendix D.

    Example:
        The answer is the head that was prompted, and nothing else:

        >>> from types import SimpleNamespace
        >>> canary = SimpleNamespace(canary="It was red.", head="It was")
        >>> replies = {"auto": SimpleNamespace(text="<think>It was red.</think>It was")}
        >>> anatomy([(canary, SimpleNamespace(replies=replies))])
        TraceLeaks(cases=1, bare=1, both=0, length=6.0, both_length=nan)
    """
    answers = [
        (c, split_reply(p.replies["auto"].text).answer.strip(), in_trace()(c, p), in_answer()(c, p)) for c, p in rows
    ]
    cases = [(canary, answer) for canary, answer, leaks, says in answers if leaks and not says]
    both = [answer for _, answer, leaks, says in answers if leaks and says]
    bare = sum(answer == canary.head for canary, answer in cases)
    return TraceLeaks(len(cases), bare, len(both), mean([len(a) for _, a in cases]), mean([len(a) for a in both]))


FALLBACKS: tuple[Fallback, ...] = get_args(Fallback)


def summary(finding: Finding, forget: Rows, retain: Rows, never: Sequence[Probed]) -> dict[str, Any]:
    """What the page and the report show of one checkpoint; rates as {value, low, high, units}."""
    told = [probed for _, probed in forget]
    return {
        "word": str(finding.word),
        "why": finding.why,
        "parts": asdict(finding.parts),
        "lifted": finding.lifted,
        "n": len(forget),
        "out": {match: rates.rate(forget, rates.in_answer(match=match)).to_json() for match in MATCHES},
        "leak": {match: rates.rate(forget, rates.in_trace(match=match)).to_json() for match in MATCHES},
        "gap": {fallback: rates.gap(forget, fallback).to_json() for fallback in FALLBACKS},
        "emitted": rates.rate(forget, rates.emitted).to_json(),
        "untagged": finding.untagged.to_json(),
        "unfinished": rates.rate(forget, rates.unfinished()).to_json(),
        "anywhere": finding.anywhere.to_json(),
        "given": finding.given.to_json(),
        "luck": _finite(finding.luck),
        "guessed": [found.to_json() for found in finding.guessed],
        "sampled": _sampled(forget),
        "retain": finding.kept.to_json(),
        "arms": {arm: _arm(forget, arm) for arm in ARMS if any(arm in probed.replies for probed in told)},
        "questions": {split: _questions(rows) for split, rows in (("forget", forget), ("retain", retain))},
        "forced": {prefill: _forced(finding, told, never, prefill) for prefill in FORCED},
        "anatomy": {key: None if math.isnan(value) else value for key, value in asdict(anatomy(forget)).items()},
        "authors": [_author(canary, probed) for canary, probed in forget],
    }


def _arm(forget: Rows, arm: Arm) -> dict[str, Any]:
    rows = [(canary, probed) for canary, probed in forget if arm in probed.replies]
    apart = rates.unpaired(rows, rates.in_answer("auto"), rates.in_answer(arm))
    contrast = rates.contrast(rows, arm)
    match = rates.match_of(arm)
    return {
        "out": rates.rate(rows, rates.in_answer(arm, match=match)).to_json(),
        "leak": rates.rate(rows, rates.in_trace(arm, match=match)).to_json(),
        "contrast": contrast.to_json(),
        "contrast_unpaired": Rate(contrast.value, apart).to_json(),
        "unfinished": rates.rate(rows, rates.unfinished(arm)).to_json(),
    }


def _sampled(forget: Rows) -> dict[str, float | None]:
    """Samples of an author, at most; the share of authors of whom some sample tells the sentence, and of samples."""
    told = [[tells(reply.said, canary) for reply in probed.sampled] for canary, probed in forget if probed.sampled]
    flat = [held for each in told for held in each]
    return {
        "count": max(map(len, told), default=0),
        "authors": sum(map(any, told)) / len(told) if told else None,
        "share": sum(flat) / len(flat) if flat else None,
    }


def _questions(rows: Rows) -> dict[str, float | None]:
    """Share of the authors one of whose questions is answered, arm by arm."""
    wanted, asked = answers([canary for canary, _ in rows]), [row for row in rows if row[1].asked]
    return {arm: rates.rate(asked, answers_under(wanted, arm)).value if asked else None for arm in QA_ARMS}


def _forced(finding: Finding, told: Sequence[Probed], never: Sequence[Probed], prefill: Any) -> dict[str, Any]:
    recall = finding.recalls[prefill]
    found = {
        name: getattr(recall, name).to_json()
        for name in ("own", "wrong_author", "never_seen", "above_wrong", "above_never")
    }
    tokens = {context: all_tokens(told, prefill, context).to_json() for context in CONTEXTS}
    logp, perplexity = likelihood(told, prefill)
    stranger, _ = likelihood(never, prefill)
    return {
        "slots": recall.slots,
        **found,
        "all_tokens": tokens | {"never_seen": all_tokens(never, prefill).to_json()},
        "mean_logp": _finite(logp),
        "perplexity": _finite(perplexity),
        "mean_logp_never_seen": _finite(stranger),
    }


def _author(canary: Canary, probed: Probed) -> dict[str, Any]:
    parts = {arm: split_reply(reply.text) for arm, reply in probed.replies.items()}
    return {
        "id": canary.id,
        "author": canary.author,
        "canary": canary.canary,
        "head": canary.head,
        "replies": {
            arm: {
                "trace": parts[arm].trace,
                "answer": parts[arm].answer,
                "tagged": parts[arm].tagged,
                "ended": probed.replies[arm].ended,
                "leak": rates.in_trace(arm, match=rates.match_of(arm))(canary, probed),
                "out": rates.in_answer(arm, match=rates.match_of(arm))(canary, probed),
            }
            for arm in probed.replies
        },
        "recall": {p: found["own"].top1(True) if (found := probed.forced[p]) else None for p in FORCED},
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
