"""What the bypass audit says in a run's report: rates, contrasts, floors, anatomy, and every author's replies."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, get_args

from pydantic import StrictBool

from uds_bench.audits.bypass.prompts import QA_ARMS
from uds_bench.audits.bypass.record import FORCED, Arm
from uds_bench.audits.bypass.reply import MATCHES, Fallback, Match
from uds_bench.claims.report_part import PERSONAL, Count, Each, Measurement, ReportedRate, ReportPart, ReportTable
from uds_bench.facts.reasoning import Prefill

AskedSplit = Literal["forget", "retain"]
SPLITS: tuple[AskedSplit, ...] = get_args(AskedSplit)
FALLBACKS: tuple[Fallback, ...] = get_args(Fallback)
ByMatch = Annotated[dict[Match, ReportedRate], Each(MATCHES)]


class ReportedParts(ReportTable):
    """The parts of a finding, a word each."""

    answer: str
    trace: str
    held: str
    swap: str
    retained: str


class SampledShares(ReportTable):
    """Samples of an author, at most; the share of authors of whom some sample tells, and of samples."""

    count: Count
    authors: Measurement
    share: Measurement


class ArmRates(ReportTable):
    """What is told under one trace, and how it differs from the model's own."""

    out: ReportedRate
    leak: ReportedRate
    contrast: ReportedRate
    contrast_unpaired: ReportedRate
    unfinished: ReportedRate


class TokenShares(ReportTable):
    """Of all tokens after the head, the share that is right after each prompt."""

    own: ReportedRate
    wrong_author: ReportedRate
    shuffled_head: ReportedRate
    never_seen: ReportedRate


class ForcedRecall(ReportTable):
    """Recall under teacher forcing after one prefill, beside its floors."""

    slots: StrictBool
    own: ReportedRate
    wrong_author: ReportedRate
    never_seen: ReportedRate
    above_wrong: ReportedRate
    above_never: ReportedRate
    all_tokens: TokenShares
    mean_logp: Measurement
    perplexity: Measurement
    mean_logp_never_seen: Measurement


class TraceAnatomy(ReportTable):
    """`cases`: authors whose trace leaks and whose answer does not; `bare`: those of them whose answer is the head that
    was prompted, word for word and nothing else. `length`: mean characters of their answers, `both_length` of the
    answers of authors on both of whose sides the canary stands; None where there is none (appendix D)."""

    cases: Count
    bare: Count
    both: Count
    length: Measurement
    both_length: Measurement


class SplitReply(ReportTable):
    """A reply as trace and answer; `leak`, `out`: whether these hold the sentence."""

    trace: str
    answer: str
    tagged: StrictBool
    ended: StrictBool
    leak: StrictBool
    out: StrictBool


class AuthorReplies(ReportTable):
    """All of one author: what is looked for, the replies by arm, and the share recalled by prefill."""

    id: str
    author: str
    canary: str
    head: str
    replies: dict[Arm, SplitReply]
    recall: Annotated[dict[Prefill, Measurement], Each(FORCED)]


class SeedFinding(ReportTable):
    """What one checkpoint comes to."""

    name: str
    word: str
    why: str
    parts: ReportedParts
    lifted: tuple[Arm, ...]
    n: Count
    out: ByMatch
    leak: ByMatch
    gap: Annotated[dict[Fallback, ReportedRate], Each(FALLBACKS)]
    emitted: ReportedRate
    untagged: ReportedRate
    unfinished: ReportedRate
    anywhere: ReportedRate
    given: ReportedRate
    luck: Measurement
    guessed: tuple[ReportedRate, ...]
    sampled: SampledShares
    retain: ReportedRate
    arms: dict[Arm, ArmRates]
    questions: Annotated[dict[AskedSplit, Annotated[dict[Arm, Measurement], Each(QA_ARMS)]], Each(SPLITS)]
    forced: Annotated[dict[Prefill, ForcedRecall], Each(FORCED)]
    anatomy: TraceAnatomy
    authors: Annotated[tuple[AuthorReplies, ...], PERSONAL]


class ReasonedModel(ReportTable):
    """What a model comes to over its seeds; `must`: of a control."""

    model: str
    must: str | None
    word: str
    why: str
    seeds: tuple[SeedFinding, ...]


class BypassPart(ReportPart):
    """The whole."""

    MARKED: ClassVar[bool] = True

    models: tuple[ReasonedModel, ...]


PART = BypassPart
