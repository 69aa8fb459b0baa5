"""An estimate: a number taken from a sample of models, with its interval at any level."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from uds_bench.statistics import LEVEL, Interval, cluster_interval, harmonic_mean, mean


@dataclass(frozen=True)
class Estimate:
    """`value` is NaN where there was nothing to take it from; `at(level)` gives its two-sided interval."""

    value: float
    at: Callable[[float], Interval]

    @property
    def interval(self) -> Interval:
        """The interval at `LEVEL`."""
        return self.at(LEVEL)


def mean_over_models(values: Mapping[str, float]) -> Estimate:
    """Mean of one number a model; its interval over models, exact where all sit at 0 or at 1.

    Args:
        values: By model, 0 to 1.

    Returns:
        An estimate of 0 to 1; NaN of no model.

    Example:
        >>> mean_over_models({"a": 0.0, "b": 0.5}).value
        0.25
    """
    numbers, names = list(values.values()), list(values)
    return Estimate(mean(numbers), lambda level: cluster_interval(numbers, names, limits=(0.0, 1.0), level=level))


def harmonic(*parts: Estimate) -> Estimate:
    """Harmonic mean of estimates in [0, 1].

    It rises with each part, so the box of the parts' intervals bounds it. Each part's interval misses with at most its
    share of 1 - level, which holds whether or not the parts come from the same models.

    Args:
        parts: Estimates of 0 to 1.

    Returns:
        An estimate of 0 to 1; 0 where a part is.

    Source: UDS guide, section 4.1, Rob and Overall.

    Example:
        >>> one, half = mean_over_models({"a": 1.0}), mean_over_models({"a": 0.5})
        >>> round(harmonic(one, half).value, 4)  # 2 / (1 + 2)
        0.6667
    """

    def at(level: float) -> Interval:
        bounds = [part.at(1 - (1 - level) / len(parts)) for part in parts]
        low, high = harmonic_mean(*(b.low for b in bounds)), harmonic_mean(*(b.high for b in bounds))
        return Interval(low, high, f"box of the parts' intervals ({bounds[0].method})", min(b.units for b in bounds))

    return Estimate(harmonic_mean(*(part.value for part in parts)), at)
