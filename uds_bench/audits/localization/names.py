"""What the audit calls the weights to be found and the updates that are looked at."""

from __future__ import annotations

from typing import Literal, get_args

Target = Literal["forget_among_groups", "forget", "forget_or_retain"]
TARGETS: tuple[Target, ...] = get_args(Target)
"""The forget mask among the other groups' masks, all of them written to (ours, the headline: a score that sees
injection alone finds nothing); the forget mask among all other weights, and forget or retain among all other (both
published)."""


Subject = Literal["unlearned", "random", "permuted", "planted", "misplaced"]
SUBJECTS: tuple[Subject, ...] = get_args(Subject)
"""The update itself; one as long in directions that are drawn; itself against masks that are drawn anew; one that
lies within the forget mask; and one everywhere but there."""
HEADLINE: Target = "forget_among_groups"
PUBLISHED: Target = "forget"

MOST_WEIGHTS = 2_000_000
"""Weights that are drawn, uniformly, where there are more (appendix E)."""
PROMPTS_PER_PERSON = 200
"""Prompts a person (section 4.3)."""
ASKED = 3
"""Questions of each form that an item is asked."""
