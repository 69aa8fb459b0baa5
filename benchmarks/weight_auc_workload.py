"""One way to the AUC of many scores, in a process of its own: prints its value, processor seconds and peak memory.

    python weight_auc_workload.py {ours,sklearn} SCORES [SHARE]

Scores are float32 from a seed, SHARE of them positive; memory is counted above inputs and imports.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

PIECE = 1 << 20


def data(size: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """[size] scores with some ties, and whether each is positive; drawn in pieces, so that drawing sets no peak."""
    scores, labels = np.empty(size, np.float32), np.empty(size, bool)
    rng = np.random.default_rng(0)
    for start in range(0, size, 1 << 20):
        part = slice(start, min(size, start + (1 << 20)))
        labels[part] = rng.random(labels[part].shape, np.float32) < share
        scores[part] = np.round(rng.standard_normal(scores[part].shape, np.float32), 4)
        scores[part] += 0.1 * labels[part]
    return scores, labels


def ours(scores: np.ndarray, labels: np.ndarray) -> float:
    """Positives and negatives are picked out piece by piece, as from tensors and their masks."""
    from uds_bench.audits.localization.auc import exact_auc

    starts = range(0, len(scores), PIECE)
    return exact_auc(
        (scores[at : at + PIECE][labels[at : at + PIECE]] for at in starts),
        (scores[at : at + PIECE][~labels[at : at + PIECE]] for at in starts),
    ).value


def sklearn(scores: np.ndarray, labels: np.ndarray) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(labels, scores))


def peak() -> int:
    """Bytes that this process held at most. (getrusage's would begin at what its parent held.)"""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))


if __name__ == "__main__":
    way = {"ours": ours, "sklearn": sklearn}[sys.argv[1]]
    size, share = int(float(sys.argv[2])), float(sys.argv[3]) if len(sys.argv) > 3 else 0.05
    way(*data(10_000, share))  # imports
    scores, labels = data(size, share)
    before, start = peak(), time.process_time()
    value = way(scores, labels)
    print(json.dumps({"value": value, "seconds": time.process_time() - start, "bytes": peak() - before}))
