"""Answers that begin alike as one row of tokens, in which each shared beginning stands once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from uds_bench.facts.dialogue import EncodedAnswer

LONG = 1000
"""Attention makes a token in a row of so many cost about twice what it costs in a short one; measured, not exact."""


@dataclass(frozen=True)
class AnswerTree:
    """What a model is fed to predict every labelled token of some answers, and where it predicts them.

    `rows`: the place of each answer in the sequence that was given. `tokens`: what is fed, each after those it follows;
    `positions`: how many these are. `paths`: for each answer, the places in `tokens` of its ids but the last, which
    predicts nothing that is scored. `predicting`, `targets`: the places that predict labelled tokens and those tokens,
    each pair once; `scored`: for each answer, which pairs its labelled tokens are.
    """

    rows: tuple[int, ...]
    tokens: tuple[int, ...]
    positions: tuple[int, ...]
    paths: tuple[tuple[int, ...], ...]
    predicting: tuple[int, ...]
    targets: tuple[int, ...]
    scored: tuple[tuple[int, ...], ...]


def answer_tree(answers: Sequence[EncodedAnswer], rows: Sequence[int]) -> AnswerTree:
    """The tree of some of the answers; one answer's has no branches."""
    fed: dict[tuple[int, int], int] = {}
    positions: dict[int, int] = {}
    pairs: dict[tuple[int, int], int] = {}
    paths, scored = [], []
    for answer in (answers[row] for row in rows):
        path, place = [], -1
        for position, token in enumerate(answer.ids[:-1]):
            place = fed.setdefault((place, token), len(fed))
            positions[place] = position
            path.append(place)
        paths.append(tuple(path))
        labelled = zip(path[answer.start - 1 :], answer.ids[answer.start :], strict=True)
        scored.append(tuple(pairs.setdefault(pair, len(pairs)) for pair in labelled))
    predicting, targets = zip(*pairs, strict=True) if pairs else ((), ())
    tokens = tuple(token for _, token in fed)
    return AnswerTree(tuple(rows), tokens, tuple(positions.values()), tuple(paths), predicting, targets, tuple(scored))


def same_prompt(answers: Sequence[EncodedAnswer], most: int) -> list[list[int]]:
    """The answers that have one prompt, in groups.

    Args:
        answers: Prompts and answers in tokens.
        most: Answers in a group.

    Returns:
        Places in `answers`, two to `most` a group, longest first in and among the groups; who is alone is in none.

    Example:
        >>> rows = [((1, 2, 3), 2), ((1, 2, 4, 5), 2), ((9, 3), 1)]  # ids, and where the answer begins
        >>> same_prompt([EncodedAnswer(ids, start, ends=False, text="") for ids, start in rows], most=8)
        [[1, 0]]
    """
    groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for i in sorted(range(len(answers)), key=lambda i: (-len(answers[i].ids), i)):
        groups[answers[i].ids[: answers[i].start]].append(i)
    cut = [group[i : i + most] for group in groups.values() for i in range(0, len(group), most)]
    return [group for group in cut if len(group) > 1]


def pays(tree: AnswerTree) -> bool:
    """Whether a tree costs less than its answers apart: long answers that share little make one costly row."""
    return _cost(len(tree.tokens)) < sum(_cost(len(path)) for path in tree.paths)


def _cost(tokens: int) -> float:
    return tokens * (1 + tokens / LONG)


def tree_batches(trees: Iterable[AnswerTree], most: int, tokens: int) -> list[list[AnswerTree]]:
    """Trees of like length together, longest first: at most `most`, and more than one only up to `tokens` in all."""
    found: list[list[AnswerTree]] = []
    for tree in sorted(trees, key=lambda tree: (-len(tree.tokens), tree.rows)):
        if not found or len(found[-1]) == most or (len(found[-1]) + 1) * len(found[-1][0].tokens) > tokens:
            found.append([])
        found[-1].append(tree)
    return found


def tree_mask(trees: Sequence[AnswerTree], firsts: Sequence[int], length: int, dtype: torch.dtype) -> torch.Tensor:
    """What each token of a batch attends to: itself, and what it follows in some answer.

    Args:
        trees: One a row.
        firsts: Where each row's tokens begin, [trees].
        length: Of a row, with its padding.
        dtype: Of the model.

    Returns:
        [trees, 1, length, length]: 0 where a token attends, the lowest number of the dtype elsewhere.

    Example:
        >>> answers = [EncodedAnswer((7, 8, 0), 1, ends=True, text=""), EncodedAnswer((7, 5, 0), 1, ends=True, text="")]
        >>> tree = answer_tree(answers, [0, 1])
        >>> tree.tokens
        (7, 8, 5)
        >>> (tree_mask([tree], [0], 3, torch.float32) == 0).long()
        tensor([[[[1, 0, 0],
                  [1, 1, 0],
                  [1, 0, 1]]]])
    """
    # Padding too sees itself: attention to nothing at all would be NaN.
    seen = np.eye(length, dtype=bool)[None].repeat(len(trees), 0)
    for row, first, tree in zip(seen, firsts, trees, strict=True):
        for path in tree.paths:
            places = first + np.array(path, dtype=int)
            row[places[:, None], places] = np.tri(len(path), dtype=bool)
    hidden = torch.from_numpy(~seen).unsqueeze(1)
    return torch.zeros(hidden.shape, dtype=dtype).masked_fill_(hidden, torch.finfo(dtype).min)
