"""The words for what a claim came to, and what each means; and what each cause of an undecided claim means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from uds_bench.verdicts import Cause

Tone = Literal["good", "bad", "apart", "mute"]


@dataclass(frozen=True)
class VerdictWord:
    """`tone` names the colour, `sign` says the same without colour; a `bad` tone stops the release."""

    word: str
    tone: Tone
    sign: str
    meaning: str


_WORDS = (
    VerdictWord("pass", "good", "✓", "It clears the bound, with its whole 95% interval where it has one."),
    VerdictWord("fail", "bad", "✗", "It misses the bound, with its whole 95% interval where it has one."),
    VerdictWord("undecided", "bad", "?", "Nothing can be said, for the cause given: this stops a release like a fail."),
    VerdictWord("not applicable", "mute", "·", "Nothing to decide here, for the reason given in its message."),
    VerdictWord("caught", "good", "◉", "A specimen that must fail, and does: this gate can fail."),
    VerdictWord("cleared", "good", "✓", "A specimen that must pass, and does: this gate can pass."),
    VerdictWord("declared", "apart", "◇", "It came to what the manifest had declared beforehand. Not a pass."),
    VerdictWord("waived", "apart", "○", "A waiver with a reason and an expiry date excuses it. Not a pass."),
    VerdictWord("result", "apart", "◆", "A finding about models trained by this run: it stops no release. Not a pass."),
)

WORDS = {word.word: word for word in _WORDS}
"""By word of a claim."""

CAUSES = {
    Cause.INTERVAL: "The interval holds the bound or decides nothing: it takes more facts or models.",
    Cause.UNITS: "It is over too few people or facts to be decided.",
    Cause.CONTROL: "A control missed, so the gate itself cannot be trusted here.",
    Cause.BASIS: "Its activations are in another basis than the full model's, and mean nothing there.",
    Cause.DRIFTED: "The value is not the recorded one. What the claim itself came to is in its message.",
    Cause.STALE: "The recorded value is of another metric, or of other facts, than those at hand.",
    Cause.REFUSED: "The model cannot be loaded, read or compared with the full model.",
    Cause.CRASHED: "The measurement broke off with an error.",
    Cause.MISSING: "The claim was planned, but no score exists for it.",
}
"""What each cause of an undecided claim means."""
