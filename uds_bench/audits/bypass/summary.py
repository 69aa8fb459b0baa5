"""Everything that a reader may ask of one checkpoint: rates, contrasts, floors, anatomy, authors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from uds_bench.audits.bypass import rates
from uds_bench.audits.bypass.finding import Finding
from uds_bench.audits.bypass.floors import all_tokens, likelihood
from uds_bench.audits.bypass.names import answers, answers_under
from uds_bench.audits.bypass.part import (
    FALLBACKS,
    ArmRates,
    AuthorReplies,
    ForcedRecall,
    ReportedParts,
    SampledShares,
    SeedFinding,
    SplitReply,
    TokenShares,
    TraceAnatomy,
)
from uds_bench.audits.bypass.prompts import QA_ARMS
from uds_bench.audits.bypass.rates import Rows, in_answer, in_trace
from uds_bench.audits.bypass.record import ARMS, CONTEXTS, FORCED, Arm, Probed
from uds_bench.audits.bypass.reply import MATCHES, split_reply, tells
from uds_bench.claims.report_part import ReportedRate
from uds_bench.facts.canaries import Canary
from uds_bench.facts.reasoning import Prefill
from uds_bench.statistics import Rate, mean


def anatomy(rows: Rows) -> TraceAnatomy:
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
        TraceAnatomy(cases=1, bare=1, both=0, length=6.0, both_length=None)
    """
    answers = [
        (c, split_reply(p.replies["auto"].text).answer.strip(), in_trace()(c, p), in_answer()(c, p)) for c, p in rows
    ]
    cases = [(canary, answer) for canary, answer, leaks, says in answers if leaks and not says]
    both = [answer for _, answer, leaks, says in answers if leaks and says]
    bare = sum(answer == canary.head for canary, answer in cases)
    length, both_length = (mean(map(len, said)) for said in ([answer for _, answer in cases], both))
    return TraceAnatomy(cases=len(cases), bare=bare, both=len(both), length=length, both_length=both_length)


def summary(name: str, finding: Finding, forget: Rows, retain: Rows, never: Sequence[Probed]) -> SeedFinding:
    """What the page and the report show of one checkpoint."""
    told, of = [probed for _, probed in forget], ReportedRate.of
    return SeedFinding(
        name=name,
        word=str(finding.word),
        why=finding.why,
        parts=ReportedParts(**asdict(finding.parts)),
        lifted=tuple(finding.lifted),
        n=len(forget),
        out={match: of(rates.rate(forget, rates.in_answer(match=match))) for match in MATCHES},
        leak={match: of(rates.rate(forget, rates.in_trace(match=match))) for match in MATCHES},
        gap={fallback: of(rates.gap(forget, fallback)) for fallback in FALLBACKS},
        emitted=of(rates.rate(forget, rates.emitted)),
        untagged=of(finding.untagged),
        unfinished=of(rates.rate(forget, rates.unfinished())),
        anywhere=of(finding.anywhere),
        given=of(finding.given),
        luck=finding.luck,
        guessed=tuple(map(of, finding.guessed)),
        sampled=_sampled(forget),
        retain=of(finding.kept),
        arms={arm: _arm(forget, arm) for arm in ARMS if any(arm in probed.replies for probed in told)},
        questions={"forget": _questions(forget), "retain": _questions(retain)},
        forced={prefill: _forced(finding, told, never, prefill) for prefill in FORCED},
        anatomy=anatomy(forget),
        authors=tuple(_author(canary, probed) for canary, probed in forget),
    )


def _arm(forget: Rows, arm: Arm) -> ArmRates:
    rows = [(canary, probed) for canary, probed in forget if arm in probed.replies]
    apart = rates.unpaired(rows, rates.in_answer("auto"), rates.in_answer(arm))
    contrast = rates.contrast(rows, arm)
    match = rates.match_of(arm)
    return ArmRates(
        out=ReportedRate.of(rates.rate(rows, rates.in_answer(arm, match=match))),
        leak=ReportedRate.of(rates.rate(rows, rates.in_trace(arm, match=match))),
        contrast=ReportedRate.of(contrast),
        contrast_unpaired=ReportedRate.of(Rate(contrast.value, apart)),
        unfinished=ReportedRate.of(rates.rate(rows, rates.unfinished(arm))),
    )


def _sampled(forget: Rows) -> SampledShares:
    """Samples of an author, at most; the share of authors of whom some sample tells the sentence, and of samples."""
    told = [[tells(reply.said, canary) for reply in probed.sampled] for canary, probed in forget if probed.sampled]
    flat = [held for each in told for held in each]
    return SampledShares(
        count=max(map(len, told), default=0),
        authors=mean(map(any, told)),
        share=mean(flat),
    )


def _questions(rows: Rows) -> dict[Arm, float | None]:
    """Share of the authors one of whose questions is answered, arm by arm."""
    wanted, asked = answers([canary for canary, _ in rows]), [row for row in rows if row[1].asked]
    return {arm: rates.rate(asked, answers_under(wanted, arm)).value if asked else None for arm in QA_ARMS}


def _forced(finding: Finding, told: Sequence[Probed], never: Sequence[Probed], prefill: Prefill) -> ForcedRecall:
    recall = finding.recalls[prefill]
    names = ("own", "wrong_author", "never_seen", "above_wrong", "above_never")
    tokens = {context: ReportedRate.of(all_tokens(told, prefill, context)) for context in CONTEXTS}
    logp, perplexity = likelihood(told, prefill)
    stranger, _ = likelihood(never, prefill)
    return ForcedRecall(
        slots=recall.slots,
        **{name: ReportedRate.of(getattr(recall, name)) for name in names},
        all_tokens=TokenShares(**tokens, never_seen=ReportedRate.of(all_tokens(never, prefill))),
        mean_logp=logp,
        perplexity=perplexity,
        mean_logp_never_seen=stranger,
    )


def _author(canary: Canary, probed: Probed) -> AuthorReplies:
    return AuthorReplies(
        id=canary.id,
        author=canary.author,
        canary=canary.canary,
        head=canary.head,
        replies={arm: _reply(canary, probed, arm) for arm in probed.replies},
        recall={p: found["own"].top1(True) if (found := probed.forced[p]) else None for p in FORCED},
    )


def _reply(canary: Canary, probed: Probed, arm: Arm) -> SplitReply:
    reply, match = probed.replies[arm], rates.match_of(arm)
    split = split_reply(reply.text)
    return SplitReply(
        trace=split.trace,
        answer=split.answer,
        tagged=split.tagged,
        ended=reply.ended,
        leak=rates.in_trace(arm, match=match)(canary, probed),
        out=rates.in_answer(arm, match=match)(canary, probed),
    )
