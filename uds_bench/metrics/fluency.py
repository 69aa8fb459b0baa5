"""Fluency: whether a model's answers still are text rather than one phrase over and over."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from uds_bench.metrics.metric import FactValue, Measured, Metric
from uds_bench.metrics.subject import Subject
from uds_bench.storage import content_key

GRAM = 4


def distinct_share(tokens: Sequence[Hashable], n: int = GRAM) -> float:
    """Distinct n-grams by all n-grams of one text: 1 - seq-rep-n.

    It sees loops, the way in which unlearned models mostly break; gibberish that does not repeat looks fluent to it.

    Args:
        tokens: Of one text, [tokens].
        n: Tokens of a gram.

    Returns:
        0 to 1, higher is more fluent; 1 where the text is too short for two n-grams, 0 where there is none.

    Source: Welleck et al., 2020, section 6.1.

    Example:
        Of the pairs ab, ba, ab, bc three differ:

        >>> distinct_share("ababc", 2)
        0.75
    """
    if not tokens:
        return 0.0
    grams = [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]
    return len(set(grams)) / len(grams) if grams else 1.0


def _compute(subject: Subject, variant: str) -> Measured:
    tokenizer, said = subject.checkpoint.tokenizer, subject.generations()
    values = []
    for fact, text in zip(subject.facts, said, strict=True):
        tokens = tokenizer(text, add_special_tokens=False)["input_ids"] if text.strip() else []
        values.append(FactValue(fact.id, distinct_share(tokens)))
    notes = {"rendered": content_key(subject.questions()), "empty": sum(not text.strip() for text in said)}
    return Measured(values, notes)


# The field asks a classifier of gibberish, which has to be downloaded.
METRIC = Metric(
    "fluency",
    "utility",
    "ours; Welleck et al., 2020, section 6.1",
    compute=_compute,
    needs=frozenset({"generations"}),
    variants=("distinct_4",),
)
