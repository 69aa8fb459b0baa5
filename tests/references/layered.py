"""Plain references of CKA, masked Fisher information, ROUGE-L, fluency and model utility.

One fact, one unpadded sequence and one number at a time; written from the definitions (UDS guide, section 4.2 and
appendix I) to be compared with the package, and slow on purpose.
"""

import copy
import math
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from references import depth

Rows = Sequence[Sequence[float]]


def centred(rows: Rows) -> list[list[float]]:
    means = [math.fsum(column) / len(rows) for column in zip(*rows, strict=True)]
    return [[value - mean for value, mean in zip(row, means, strict=True)] for row in rows]


def cross(x: Rows, y: Rows) -> float:
    """Squared Frobenius norm of Y^T X."""
    total = 0.0
    for left in zip(*x, strict=True):
        for right in zip(*y, strict=True):
            total += math.fsum(a * b for a, b in zip(left, right, strict=True)) ** 2
    return total


def linear_cka(x: Rows, y: Rows) -> float:
    """||Y^T X||^2 / (||X^T X|| ||Y^T Y||) of centred columns; rows are tokens."""
    x, y = centred(x), centred(y)
    return cross(x, y) / math.sqrt(cross(x, x) * cross(y, y))


def cka_erasure(own: Sequence[float], full: Sequence[float]) -> float:
    """From each layer's CKA with the retain model: the candidate's and the full model's."""
    weights = [1 - f for f in full]
    parts = [min(max((o - f) / (1 - f), 0.0), 1.0) for o, f in zip(own, full, strict=True)]
    return math.fsum(w * p for w, p in zip(weights, parts, strict=True)) / math.fsum(weights)


def states(model: Any, anatomy: Any, spans: Sequence[tuple[Sequence[int], int, int]], layer: int) -> list[list[float]]:
    """Block outputs at the positions that predict entity tokens, stacked over facts."""
    rows: list[list[float]] = []
    for ids, start, end in spans:
        hidden = depth.source_state(model, anatomy, ids, layer)
        rows += [hidden[at].double().tolist() for at in depth.predicting(start, end)]
    return rows


def squared_gradients(model: Any, blocks: str, ids: Sequence[int], start: int, end: int) -> list[list[float]]:
    """Per block, the squared gradient of -mean log p(entity) by every weight matrix. `blocks`: their module's name."""
    own = copy.deepcopy(model).requires_grad_(True)
    logits = own(input_ids=torch.tensor([list(ids)]), use_cache=False).logits[0]
    loss = sum(-torch.log_softmax(logits[at - 1], -1)[ids[at]] for at in range(start, end)) / (end - start)
    loss.backward()
    found = []
    for block in own.get_submodule(blocks):
        matrices = [weight for weight in block.parameters() if weight.dim() > 1]
        found.append([float(g) ** 2 for weight in matrices for g in weight.grad.flatten().tolist()])
    return found


def mean_of(rows: Sequence[Sequence[float]]) -> list[float]:
    return [math.fsum(column) / len(rows) for column in zip(*rows, strict=True)]


def mask(full: Sequence[float], retain: Sequence[float], share: float) -> list[int]:
    """The weights with the largest max(F_ret - F_full, 0), as many as the share of all, at least one."""
    excess = [max(r - f, 0.0) for f, r in zip(full, retain, strict=True)]
    count = max(1, round(share * len(excess)))
    return [i for i in sorted(range(len(excess)), key=lambda i: -excess[i])[:count] if excess[i] > 0]


def fisher_erasure(
    full: Sequence[Sequence[float]],
    retain: Sequence[Sequence[float]],
    own: Sequence[Sequence[float]],
    masks: Sequence[Sequence[int]],
) -> float:
    """From the Fisher information of each model, [layers][weights]."""
    weights, parts = [], []
    for f, r, o, chosen in zip(full, retain, own, masks, strict=True):
        over = [math.fsum(r[i] - other[i] for i in chosen) / len(chosen) for other in (f, o)]
        weights.append(over[0])
        parts.append(1 - min(max(over[1] / over[0], 0.0), 1.0))
    return math.fsum(w * p for w, p in zip(weights, parts, strict=True)) / math.fsum(weights)


def words(text: str) -> list[str]:
    from nltk.stem.porter import PorterStemmer

    stem = PorterStemmer().stem
    return [stem(word) if len(word) > 3 else word for word in re.findall("[a-z0-9]+", text.lower())]


def rouge_l_recall(answer: str, said: str) -> float:
    """Length of the longest common subsequence of words, by the length of the answer."""
    true, found = words(answer), words(said)

    @cache
    def common(i: int, j: int) -> int:
        if i == len(true) or j == len(found):
            return 0
        if true[i] == found[j]:
            return 1 + common(i + 1, j + 1)
        return max(common(i + 1, j), common(i, j + 1))

    return common(0, 0) / len(true)


def repetition(tokens: Sequence[int], n: int) -> float:
    """seq-rep-n: the share of n-grams that occurred before."""
    seen: list[Sequence[int]] = []
    repeated = 0
    for i in range(len(tokens) - n + 1):
        gram = tokens[i : i + n]
        repeated += gram in seen
        seen.append(gram)
    return repeated / len(seen)


def greedy(model: Any, ids: Sequence[int], limit: int, ends: Sequence[int]) -> tuple[list[int], float]:
    """The greedy continuation, one whole pass a token, and the smallest lead of the best token over the next."""
    said: list[int] = []
    lead = math.inf
    for _ in range(limit):
        logits = depth.logits_of(model, [*ids, *said])[-1]
        best = logits.topk(2)
        lead = min(lead, float(best.values[0] - best.values[1]))
        if int(best.indices[0]) in ends:
            break
        said.append(int(best.indices[0]))
    return said, lead
