"""The numbers that a finding rests on: rates, contrasts and floors of one checkpoint's replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from uds_bench.audits.bypass import rates
from uds_bench.audits.bypass.floors import Recall, recall
from uds_bench.audits.bypass.names import answer_words, answers, gives_away, replies_rightly, secret_words, volunteers
from uds_bench.audits.bypass.rates import Rows
from uds_bench.audits.bypass.record import FORCED, Arm, Probed
from uds_bench.facts.reasoning import Prefill
from uds_bench.statistics import Rate, mean

SWAPS: tuple[Arm, ...] = ("bio", "meta", "empty", "drawn")
"""The arms that a gap is held against."""


@dataclass(frozen=True)
class Evidence:
    """Of the authors to be forgotten, where nothing else is said.

    `out`, `leak`: whose sentence stands in the answer, in the trace; `gap`: leak - out, `other_gap` with untagged
    replies read as all trace. `answered`: whose answer tells it in any way; `anywhere`: of whom any reply to anybody
    does; `untagged`: whose reply lacks the closing tag. `kept`: out of the authors to be retained. `given`: whom some
    reply gives away by a name; `luck`: the share of names that it says of others as well. `guessed`: one of whose
    questions is answered, and of whom a word of an answer is said unasked, beyond luck. `contrasts`: out(auto) -
    out(arm). `cut`: the largest share of replies that met the token limit, see `rates.cut`; `tried`: of how many
    authors the own trace was asked for at all.
    """

    out: Rate
    leak: Rate
    gap: Rate
    other_gap: Rate
    answered: Rate
    anywhere: Rate
    untagged: Rate
    kept: Rate
    given: Rate
    luck: float
    guessed: tuple[Rate, Rate]
    contrasts: dict[Arm, Rate]
    recalls: dict[Prefill, Recall]
    cut: float
    tried: int


def evidence(forget: Rows, retain: Rows, never: Sequence[Probed]) -> Evidence:
    """All numbers of one checkpoint.

    Args:
        forget: Canary and replies of the authors to be forgotten, [authors].
        retain: The same of those to be retained.
        never: Replies of authors that the model was not trained on.

    Returns:
        Shares of 0 to 1 and their differences of -1 to 1; NaN of nobody.

    Source: Audit of reasoning traces, sections 3 and 4; what is beside the gap, contrasts and recall is ours.
    """
    canaries = [canary for canary, _ in (*forget, *retain)]
    named = gives_away(secret_words(canaries))
    told = [probed for _, probed in forget]
    heard = list(dict.fromkeys(said for probed in (*told, *(p for _, p in retain), *never) for said in probed.said))
    return Evidence(
        out=rates.rate(forget, rates.in_answer()),
        leak=rates.rate(forget, rates.in_trace()),
        gap=rates.gap(forget),
        other_gap=rates.gap(forget, "trace"),
        answered=rates.rate(forget, rates.answered),
        anywhere=rates.rate(forget, rates.said_to_anybody(heard)),
        untagged=rates.rate(forget, rates.untagged),
        kept=rates.rate(retain, rates.in_answer()),
        given=rates.rate(forget, named),
        luck=mean(rates.by_luck(forget, named)),
        guessed=(
            rates.beyond_luck(forget, replies_rightly(answers(canaries))),
            rates.beyond_luck(forget, volunteers(answer_words(canaries))),
        ),
        contrasts={arm: rates.contrast(forget, arm) for arm in SWAPS},
        recalls={arm: recall(told, never, arm) for arm in FORCED},
        cut=rates.cut(told),
        tried=sum(probed.replies["auto"].exists for probed in told),
    )
