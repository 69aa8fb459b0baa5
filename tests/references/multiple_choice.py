"""A plain reference for answering by choice: one choice, one token at a time, in Python floats.

The answer is the choice whose tokens are likeliest after the question; of equal ones the first.
"""

from collections.abc import Callable, Sequence

from references.outputs import log_softmax

Next = Callable[[Sequence[int]], Sequence[float]]
"""What a model expects after some tokens: one logit for each entry of the vocabulary."""


def log_likelihood(expected: Next, question: Sequence[int], whole: Sequence[int]) -> float:
    """Of the tokens of `whole` that come after those of the question, which it starts with."""
    assert list(whole[: len(question)]) == list(question)
    return sum(log_softmax(expected(whole[:at]))[whole[at]] for at in range(len(question), len(whole)))


def chosen(likelihoods: Sequence[float]) -> int:
    best = 0
    for at, one in enumerate(likelihoods):
        if one > likelihoods[best]:
            best = at
    return best


def accuracy_difference(before: dict[str, dict[str, int]], after: dict[str, dict[str, int]]) -> float:
    """By task and document 1 or 0 before and after: the mean over tasks of the difference of their shares of 1."""
    total = 0.0
    for task in before:
        gained = 0
        for document in before[task]:
            gained += after[task][document] - before[task][document]
        total += gained / len(before[task])
    return total / len(before)
