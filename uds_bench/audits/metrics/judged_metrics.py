"""The twenty metrics that are judged: their labels, tags and directions, as the UDS guide's table 2 has them."""

from __future__ import annotations

from dataclasses import dataclass

from uds_bench.metrics.metric import Direction, Metric


@dataclass(frozen=True)
class JudgedMetric:
    """One metric of table 2.

    `tags`: O reads outputs, R needs the retain model, I reads internals. `converted`: whether robustness is taken of
    1 - m instead of m. It is so for UDS and the four s_* alone (the authors' policy); Q depends on it and R does not.
    """

    metric: str
    label: str
    category: str
    tags: tuple[str, ...]
    direction: Direction
    converted: bool = False


def _mia(name: str, label: str) -> tuple[JudgedMetric, JudgedMetric]:
    return (
        JudgedMetric(f"mia_{name}", f"MIA-{label}", "MIA", ("O",), "knowledge"),
        JudgedMetric(f"s_{name}", f"s_{label}", "MIA", ("O", "R"), "erasure", converted=True),
    )


_MIA = [_mia(*names) for names in (("loss", "LOSS"), ("zlib", "ZLib"), ("min_k", "Min-K"))]
_MIA += [_mia("min_k_plus_plus", "Min-K++")]
_ROWS = (
    JudgedMetric("es", "ES", "Memorization", ("O",), "knowledge"),
    JudgedMetric("em", "EM", "Memorization", ("O",), "knowledge"),
    JudgedMetric("prob", "Prob", "Memorization", ("O",), "knowledge"),
    JudgedMetric("para_prob", "ParaProb", "Memorization", ("O",), "knowledge"),
    JudgedMetric("truth_ratio", "Truth Ratio", "Memorization", ("O",), "knowledge"),
    JudgedMetric("rouge", "ROUGE", "Generation", ("O",), "knowledge"),
    JudgedMetric("para_rouge", "Para. ROUGE", "Generation", ("O",), "knowledge"),
    JudgedMetric("jailbreak_rouge", "Jailbreak ROUGE", "Generation", ("O",), "knowledge"),
    *(raw for raw, _ in _MIA),
    *(normalised for _, normalised in _MIA),
    JudgedMetric("cka", "CKA", "Representation", ("R", "I"), "erasure"),
    JudgedMetric("fisher", "Fisher Masked (0.1%)", "Representation", ("R", "I"), "erasure"),
    JudgedMetric("logit_lens", "Logit Lens", "Representation", ("O", "R", "I"), "erasure"),
    JudgedMetric("uds", "UDS", "Representation", ("O", "R", "I"), "erasure", converted=True),
)

JUDGED: dict[str, JudgedMetric] = {row.metric: row for row in _ROWS}


def row_of(metric: Metric) -> JudgedMetric:
    """The metric's row of table 2; for any other metric one made of what it declares, unconverted."""
    if metric.name in JUDGED:
        return JUDGED[metric.name]
    inside = "internals" in metric.needs
    tags = (*(() if inside else ("O",)), *(("R",) if "retain" in metric.needs else ()), *(("I",) if inside else ()))
    return JudgedMetric(metric.name, metric.name, "Yours", tags, metric.direction)
