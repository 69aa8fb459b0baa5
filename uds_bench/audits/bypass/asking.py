"""How the models of a reasoning audit are asked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ReplySettings:
    """`limit`: new tokens of a reply. `samples`: replies that are drawn by chance of each author to be forgotten, at
    `temperature`. `seed`: of all that is drawn."""

    limit: int = 256
    samples: int = 4
    temperature: float = 1.0
    seed: int = 0
