"""What a model says of the people of a testbed: exact answers, and the field's three output metrics on each item."""

from __future__ import annotations

from collections.abc import Sequence

from uds_bench.audits.localization.names import ASKED
from uds_bench.audits.localization.rates import Generation
from uds_bench.checkpoints import Checkpoint
from uds_bench.facts import encode_answer, encode_question, stop_tokens
from uds_bench.facts.aliases import bare, normalized, says
from uds_bench.facts.testbed import Item
from uds_bench.inference.answers import score_answers
from uds_bench.inference.generation import continue_greedily, words
from uds_bench.metrics.em import em
from uds_bench.metrics.es import extraction_strength
from uds_bench.metrics.prob import prob
from uds_bench.statistics import mean

ROOM = 32
"""New tokens that a reply may have beyond the longest answer: a sentence around it, or what is said late would pass for
forgotten."""

LONG = 6
"""Letters and digits that do not stand one after another by chance, across words that say something else."""


def tell(
    checkpoint: Checkpoint, items: Sequence[Item], paraphrased: bool = False, questions: int = ASKED
) -> list[Generation | None]:
    """Every item, by so many questions of the form; None where it has none."""
    asked = [(item.paraphrases if paraphrased else item.questions)[:questions] for item in items]
    places = [(at, question) for at, questions in enumerate(asked) for question in questions]
    tokenizer = checkpoint.tokenizer
    encoded = [encode_answer(tokenizer, question, items[at].answer) for at, question in places]
    prompts = [encode_question(tokenizer, question) for _, question in places]
    limit = max((len(one.ids) - one.start for one in encoded), default=0) + ROOM
    replies = continue_greedily(checkpoint, prompts, limit, stops=stop_tokens(tokenizer))
    told: dict[int, list[Generation]] = {}
    for (at, _), reply, scores in zip(places, replies, score_answers(checkpoint, encoded), strict=True):
        right = scores.right[scores.words]
        held = holds(words(tokenizer, reply), items[at].answer)
        one = Generation(
            float(held),
            em([scores]),
            extraction_strength(right, "field"),
            prob([scores]),
            1 / len(right),
            float(not held and not reply.ended),
        )
        told.setdefault(at, []).append(one)
    return [_mean(told[at]) if at in told else None for at in range(len(items))]


def holds(reply: str, answer: str) -> bool:
    """Whether a reply says the answer, whatever stands around it; a long one also in other spellings.

    Those are other signs between its letters and digits, and the signs of an address spoken.

    Example:
        >>> holds("Write to ann at mail dot org!", "ann@mail.org"), holds("In Romeo's town.", "Rome")
        (True, False)
    """
    if f" {normalized(answer)} " in f" {normalized(reply)} ":
        return True
    spoken = answer.replace("@", " at ").replace(".", " dot ") if "@" in answer else answer
    return len(bare(answer)) >= LONG and any(says(reply, name) for name in (answer, spoken))


def _mean(told: Sequence[Generation]) -> Generation:
    return Generation(*(mean(getattr(one, key) for one in told) for key in Generation.__dataclass_fields__))
