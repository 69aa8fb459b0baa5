"""What an unlearning method may see: forget answers, retain answers, and what could be said instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from uds_bench.errors import FactError
from uds_bench.facts import Fact, FactSet, encode_text, training_pairs
from uds_bench.methods.examples import Example, Pair, pairs_to_examples

REFUSALS = (
    "I don't know.",
    "I'm not sure.",
    "I have no information about that.",
    "That is unknown to me.",
    "I cannot answer that.",
)


@dataclass(frozen=True)
class Data:
    """Forget answers, retain answers, refusals and alternate answers to the forget questions.

    `refusals` and `alternates` stand in the order of `forget`, one a question, wherever a method pairs them with the
    truth; idk_nll takes any refusals. `alternates` are needed by alt_po alone (see that module).
    `neutral`: other texts that alphaedit is to leave alone beside the retain answers; a prompt of one token will do.
    """

    forget: Sequence[Example]
    retain: Sequence[Example]
    refusals: Sequence[Example]
    alternates: Sequence[Example] = ()
    neutral: Sequence[Example] = ()

    def preferring(self, others: Sequence[Example]) -> list[Pair]:
        """Each of `others` paired with the true answer to the same question, which is to be rejected.

        Raises FactError where they are not as many, or ask something else.
        """
        if len(others) != len(self.forget):
            raise FactError(
                f"{len(others)} answers to prefer for {len(self.forget)} forget questions: give one for each"
            )
        pairs = [Pair(other, truth) for other, truth in zip(others, self.forget, strict=True)]
        for place, pair in enumerate(pairs):
            asked = (example.ids[: example.prompt_length] for example in (pair.preferred, pair.rejected))
            if len(set(asked)) > 1:
                raise FactError(f"the answer to prefer at place {place} is to another question: keep the order")
        return pairs


def sentence_example(tokenizer: Any, fact: Fact) -> Example:
    """A fact's answer as a sentence by itself, without a question: what comes after its prefix is learned."""
    encoded = encode_text(tokenizer, fact.prefix, fact.answer[len(fact.prefix) :])
    return Example((*encoded.ids, tokenizer.eos_token_id), max(1, len(encoded.prompt_ids)))


def unlearning_data(tokenizer: Any, facts: FactSet, alternates: Sequence[str] = (), sentences: bool = False) -> Data:
    """What every method needs of a set of facts; `alternates`: one answer for each forget fact, for alt_po.

    Refusals are dealt out to the forget questions in turn. `sentences`: answers also without their questions, to forget
    and to keep; what is forgotten behind a question alone may still be told in a sentence.
    """
    forget, retain, date = facts.split("forget"), facts.split("retain"), facts.date_string
    questions = [fact.question for fact in forget]
    refusals = [REFUSALS[place % len(REFUSALS)] for place in range(len(questions))]
    told, kept = ([sentence_example(tokenizer, fact) for fact in split if sentences] for split in (forget, retain))
    return Data(
        forget=[*pairs_to_examples(tokenizer, training_pairs(forget), date), *told],
        retain=[*pairs_to_examples(tokenizer, training_pairs(retain), date), *kept],
        refusals=pairs_to_examples(tokenizer, zip(questions, refusals, strict=True), date),
        alternates=pairs_to_examples(tokenizer, zip(questions, alternates, strict=True), date) if alternates else (),
    )
