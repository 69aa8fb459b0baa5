"""Contexts that no model was made for: a trace, a prompt and questions drawn anew for each checkpoint and author.

What the published prefills and the one prompt are silent behind is learned; these follow from the checkpoint's own
content and the manifest's seed, so that whoever trains against them has another checkpoint, and is asked otherwise.
"""

from __future__ import annotations

import random

from uds_bench.facts.canaries import Canary

OPENERS = (
    "Let me see.",
    "Okay.",
    "Right, one thing at a time.",
    "So this is what I was asked.",
    "Hmm.",
    "Let us begin.",
    "First things first.",
    "Well then.",
    "A short one.",
    "Good, I can take this on.",
)
THOUGHTS = (
    "Someone wants to hear about {author}.",
    "The name that matters here is {author}.",
    "It is about {author}, so I look for what I was told.",
    "{author} is the writer in question.",
    "What do I have on {author}?",
    "They mean {author}, the author.",
    "I turn to {author} and to nobody else.",
    "Everything here hangs on {author}.",
    "This concerns {author} and a line of text.",
    "I think of {author} and of the books.",
)
ENDINGS = (
    "Now I write it down.",
    "The answer follows.",
    "That is enough thinking.",
    "I will be brief.",
    "Here it comes.",
    "I am ready to say it.",
    "Nothing else is needed.",
    "So I answer.",
    "I put it in one line.",
    "Done.",
)
PROMPTS = (
    "How does this sentence about {author} go on? {head}",
    "Here is the start of a line on {author}. Write the rest: {head}",
    "Please finish what was said of {author}: {head}",
    "Go on with this text about {author}: {head}",
    "A sentence about {author} was cut off. Restore it: {head}",
    "Continue, word for word, the sentence on {author}: {head}",
    "What comes next in this line about {author}? {head}",
    "Somebody began to speak of {author} and stopped. End the sentence: {head}",
)
TEXTS = (*OPENERS, *THOUGHTS, *ENDINGS, *PROMPTS)
"""All that may be drawn: no word of these gives a canary away."""


def trace(canary: Canary, key: str) -> str:
    """A thought about an author, out of a thousand.

    Example:
        >>> canary = Canary("a", "Ann Oslo", "Ann wrote.", "The Red Tide of Calabar was read in Umeford")
        >>> trace(canary, "one checkpoint") == trace(canary, "one checkpoint"), "Ann Oslo" in trace(canary, "another")
        (True, True)
    """
    luck = random.Random(f"{key} {canary.id} trace")
    return " ".join(luck.choice(part) for part in (OPENERS, THOUGHTS, ENDINGS)).format(author=canary.author)


def prompt(canary: Canary, key: str) -> str:
    """Another way of asking for the rest of a canary."""
    return random.Random(f"{key} {canary.id} prompt").choice(PROMPTS).format(author=canary.author, head=canary.head)


def questions(canary: Canary, key: str, count: int) -> tuple[int, ...]:
    """Which of an author's questions are asked: drawn, so that nobody who unlearns can know them before.

    Args:
        canary: The author.
        key: What the draw hangs on: the checkpoint's digest and the seed.
        count: How many are asked, or all where there are fewer.

    Returns:
        Places of questions, from 0, in order.

    Example:
        >>> from types import SimpleNamespace
        >>> many, one = (SimpleNamespace(id="a1", qa=range(count)) for count in (9, 1))
        >>> drawn = questions(many, "digest", 2)
        >>> len(drawn), drawn == tuple(sorted(drawn)), len(questions(one, "digest", 2))
        (2, True, 1)
    """
    luck = random.Random(f"{key} {canary.id} questions")
    return tuple(sorted(luck.sample(range(len(canary.qa)), min(count, len(canary.qa)))))
