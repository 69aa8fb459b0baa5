"""Where an answer after deletion comes from: the weights, what retrieval still reaches, or nothing that is gold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class PromptOutcome:
    """One prompt for one deleted fact: right with retrieval on, right with it off, and whether a retained candidate of
    the trace says the same as the fact."""

    on: bool
    off: bool
    gold_retained: bool = False

    @property
    def leaked(self) -> bool:
        """L: the weights alone give the answer (LMLM audit, equation 1)."""
        return self.off

    @property
    def mediated(self) -> bool:
        """R: right with retrieval on and wrong with it off (equation 2)."""
        return self.on and not self.off

    @property
    def artifact(self) -> bool:
        """A: right with retrieval on although no retained candidate says the same as the fact (equation 3)."""
        return self.on and not self.gold_retained


@dataclass(frozen=True)
class Contingency:
    """Counts of prompts: `a` right on and off, `b` on alone, `c` off alone, `d` neither (appendix C)."""

    a: int
    b: int
    c: int
    d: int

    @property
    def n(self) -> int:
        """All prompts."""
        return self.a + self.b + self.c + self.d

    def __add__(self, other: Contingency) -> Contingency:
        return Contingency(self.a + other.a, self.b + other.b, self.c + other.c, self.d + other.d)


def contingency(outcomes: Iterable[PromptOutcome]) -> Contingency:
    """Counts of prompts by what is right with retrieval on and with it off.

    Args:
        outcomes: One a prompt, [prompts].

    Returns:
        Four counts, which add up to the prompts.

    Source: LMLM audit, appendix C.

    Example:
        >>> on_and_off = ((True, True), (True, False), (True, False), (False, False))
        >>> contingency([PromptOutcome(*one) for one in on_and_off])
        Contingency(a=1, b=2, c=0, d=1)
    """
    cells = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    for one in outcomes:
        cells[one.on, one.off] += 1
    return Contingency(*cells.values())


def artifact_gap(outcomes: Sequence[PromptOutcome]) -> int:
    """By how many prompts A - R differs from 1[on] (L - G): 0 always.

    Args:
        outcomes: One a prompt, [prompts].

    Returns:
        A count, 0 by the definitions of L, R, A and G.

    Source: LMLM audit, section 3 and proposition 6.1.

    Example:
        >>> either = (True, False)
        >>> artifact_gap([PromptOutcome(on, off, kept) for on in either for off in either for kept in either])
        0
    """
    return sum(
        (int(one.artifact) - int(one.mediated)) != int(one.on) * (int(one.leaked) - int(one.gold_retained))
        for one in outcomes
    )


def identity_gap(outcomes: Sequence[PromptOutcome]) -> int:
    """By how many prompts either identity fails: the first over all, the second over those that do not leak.

    A deletion that leaves a row behind shows here, as R that is not A.

    Args:
        outcomes: One a prompt, [prompts].

    Returns:
        A count, 0 where deletion is complete.

    Source: LMLM audit, proposition 6.1.

    Example:
        >>> identity_gap([PromptOutcome(True, False, gold_retained=True)]), identity_gap([PromptOutcome(True, True)])
        (1, 0)
    """
    return artifact_gap(outcomes) + closure_gap([one for one in outcomes if not one.leaked])


def closure_gap(outcomes: Sequence[PromptOutcome]) -> int:
    """By how many prompts A differs from R.

    Args:
        outcomes: One a prompt, [prompts].

    Returns:
        A count, 0 where deletion is complete and nothing leaks.

    Source: LMLM audit, proposition 6.1.

    Example:
        >>> closure_gap([PromptOutcome(True, False)]), closure_gap([PromptOutcome(True, True)])  # A = R = 1, then R = 0
        (0, 1)
    """
    return sum(one.artifact != one.mediated for one in outcomes)
