"""Bring your own metric: every check on it, as a plain function and as a pytest parametrization."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from uds_bench.audits.metrics.check_context import CheckContext, zoo_context
from uds_bench.audits.metrics.checks import CHECKS
from uds_bench.errors import ConfigurationError, did_you_mean
from uds_bench.metrics.metric import Metric

Outcome = Literal["pass", "fail", "not applicable", "expected failure", "unexpected pass"]


@dataclass(frozen=True)
class CheckResult:
    """One check of one metric. `reason`: why its failure was expected; a failure that does not come is no good news:
    the reason no longer holds. `crashed`: the metric raised, which no expected failure stands for."""

    metric: str
    check: str
    outcome: Outcome
    text: str
    reason: str | None = None
    crashed: bool = False

    @property
    def ok(self) -> bool:
        """Whether it came out as it was to: passed, or failed as declared."""
        return self.outcome not in ("fail", "unexpected pass")

    def __str__(self) -> str:
        because = "" if self.reason is None else f" [{self.reason}]"
        return f"{self.metric}: {self.check}: {self.outcome}: {self.text}{because}"


def check_metric(
    metric: Metric, context: CheckContext | None = None, *, expected_failures: Mapping[str, str] | None = None
) -> list[CheckResult]:
    """Put a metric through every check on the models of a context, the embedded zoo by default; good if all are `ok`.

    `expected_failures`: check name -> reason. ConfigurationError for a name that is no check, or an empty reason.
    """
    expected = _known(expected_failures)
    context = context or zoo_context()
    return [_result(metric, check, context, expected.get(check)) for check in CHECKS]


def require(check: str, metric: Metric, context: CheckContext) -> None:
    """One check in a test: raises AssertionError where the metric fails it.

    RuntimeError where the metric itself raised, so that no expected failure covers a crash.
    """
    import pytest

    seen = _result(metric, check, context, None)
    if seen.outcome == "not applicable":
        pytest.skip(str(seen))
    if not seen.ok:
        raise (RuntimeError if seen.crashed else AssertionError)(str(seen))


def metric_checks(
    metrics: Iterable[Metric], *, expected_failures: Mapping[str, Mapping[str, str]] | None = None
) -> Iterator[Any]:
    """Check each metric: its pairs of metric and check, for pytest's `parametrize`.

    `expected_failures`: metric name -> check name -> reason; such a test is a strict xfail.
    """
    import pytest

    listed = list(metrics)
    by_metric = dict(expected_failures or {})
    if unknown := sorted(by_metric.keys() - {metric.name for metric in listed}):
        raise ConfigurationError(f"expected failures of a metric that is not checked: {', '.join(unknown)}")
    for metric in listed:
        expected = _known(by_metric.get(metric.name))
        for check in CHECKS:
            reason = expected.get(check)
            marks = () if reason is None else (pytest.mark.xfail(raises=AssertionError, strict=True, reason=reason),)
            yield pytest.param(metric, partial(require, check), id=f"{metric.name}-{check}", marks=marks)


def _result(metric: Metric, check: str, context: CheckContext, reason: str | None) -> CheckResult:
    """A metric that raises, whatever it is, fails the check, and the other checks go on."""
    try:
        seen, text = CHECKS[check](metric, context)
    except Exception as error:
        text = f"raised {type(error).__name__}: {' '.join(str(error).split())}"
        return CheckResult(metric.name, check, "fail", text, reason, crashed=True)
    expected: Outcome = "expected failure" if seen == "fail" else "unexpected pass"
    return CheckResult(metric.name, check, seen if reason is None else expected, text, reason)


def _known(expected: Mapping[str, str] | None) -> dict[str, str]:
    given = dict(expected or {})
    if unknown := sorted(given.keys() - CHECKS.keys()):
        raise ConfigurationError(f"there is no check {unknown[0]}: {did_you_mean(unknown[0], CHECKS)}")
    if unexplained := [check for check, reason in given.items() if not reason.strip()]:
        raise ConfigurationError(f"an expected failure needs a reason: {', '.join(unexplained)} has none")
    return given
