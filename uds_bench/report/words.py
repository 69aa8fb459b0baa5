"""The verdict words: how each is shown, whether it lets a release through, and what it means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Tone = Literal["good", "bad", "apart", "warn", "mute"]


@dataclass(frozen=True)
class Word:
    """`tone` names the colour, `sign` says the same without colour; a `bad` tone stops the release."""

    word: str
    tone: Tone
    sign: str
    meaning: str


_WORDS = (
    Word("pass", "good", "✓", "It clears the bound, with its whole 95% interval where it has one."),
    Word("caught", "good", "◉", "A specimen that must miss, and does, in just the way declared: this gate can fail."),
    Word("cleared", "good", "✓", "A specimen that must pass, and does: this gate can pass."),
    Word("fail", "bad", "✗", "It misses the bound, with its whole 95% interval where it has one."),
    Word("inconclusive", "bad", "?", "The interval holds the bound or decides nothing: it takes more facts or models."),
    Word("missing", "bad", "∅", "The claim was planned, but no score exists for it."),
    Word("drifted", "bad", "≈", "The value is not the recorded one. What the claim itself came to is in its message."),
    Word("stale", "bad", "↺", "The score was made from other weights or facts than those at hand."),
    Word("crashed", "bad", "!", "The measurement broke off with an error."),
    Word("environment invalid", "bad", "≠", "A control missed, so the gate itself cannot be trusted here."),
    Word("expected miss", "apart", "◇", "It misses, as the manifest had declared beforehand. Not a pass."),
    Word(
        "waived",
        "apart",
        "○",
        "It misses, and a waiver with a reason and an expiry date excuses it. Not a pass.",
    ),
    Word(
        "warning",
        "warn",
        "△",
        "It does not stop a release, but read it. Under depth.hidden: outputs look forgotten, activations still know. "
        "Under bypass.verdict: the trace tells, and the gap says nothing of the weights.",
    ),
    Word("result", "apart", "◆", "A finding about models trained by this run: it stops no release. Not a pass."),
    Word("not applicable", "mute", "·", "Nothing to decide here, for the reason given in its message."),
)

WORDS = {word.word: word for word in _WORDS}


def word(verdict: str) -> Word:
    """The entry for a verdict; a word that is not known stops the release like a failure."""
    return WORDS.get(verdict) or Word(
        verdict or "no verdict", "bad", "!", "This page does not know the word: it counts as a failure."
    )


GLOSSARY = (
    (
        "UDS, the unlearning depth score",
        "0: the knowledge is intact; 1: erased as deep as in a model that never saw it. Higher is more "
        "forgotten. Hidden states of the candidate are patched into the full model, layer by layer, and "
        "one reads how far the answer's log-probability falls, compared with the fall that the retain "
        "model's states cause.",
    ),
    (
        "Full, retain",
        "The model that knows the facts, and one trained without them: the two ends of the scale.",
    ),
    ("Candidate", "The unlearned checkpoint under test: the one that is to be released."),
    (
        "Interval",
        "Where the score would lie had other facts been drawn: two-sided, 95%, resampling whole clusters "
        "(say, authors). A claim is decided on the interval, never on the dot alone.",
    ),
    ("Bound", "What the interval is held against. Its origin says who chose it and from what."),
    (
        "Control",
        "A subject whose verdict is known in advance: one that must fail and one that must pass. If a "
        "control misses, the verdict says so and nothing is concluded about the candidate.",
    ),
    ("Golden", "A recorded score to compare with: it shows drift even where the bound still holds."),
    ("Knowledge layer", "A layer where patching the retain model's state lowers the answer noticeably."),
    ("S1, S2", "The fall when patching from the retain model (S1), and from the candidate (S2), in nats."),
)
