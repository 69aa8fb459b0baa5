"""What a function says of itself holds: examples run, and numerical functions say what they take and give."""

import doctest
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

import uds_bench
from uds_bench import metrics, statistics, verdicts

NUMERICAL = re.compile(
    r"\b(float|int|Array|NDArray|Tensor|Interval|Rate|MetricSummary|Erasure|Decision|FactValue|Measured|AnswerScores|Nll"
    r"|Ranked|Hits|Places|Masks|Gradients|Drift|Injection|TokenCost|Size|Shape|Batch|EntityBatch)\b"
)
"""Return types that are numbers, or hold little else."""
LOADED = re.compile(r"\b(Checkpoint|CheckpointSet|Anatomy)\b")
"""What takes a loaded model, its parts or its tokenizer, or the files of several, has no example: it would have to
train one."""


def modules_of(package: ModuleType) -> list[str]:
    return [found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]


FORMULAS = [*modules_of(statistics), verdicts.__name__, *modules_of(metrics)]
EXAMPLES = modules_of(uds_bench)


def public(name: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions that a module itself defines, by their names without an underscore."""
    for key, found in vars(import_module(name)).items():
        function = inspect.unwrap(found) if callable(found) else None
        if inspect.isfunction(function) and function.__module__ == name and not key.startswith("_"):
            yield f"{name}.{key}", function


def numerical() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in EXAMPLES:
        for key, function in public(name):
            given = str(function.__annotations__.get("return"))
            if NUMERICAL.search(given) and "Callable" not in given:
                yield key, function


def lacks(function: Callable[..., Any]) -> list[str]:
    """Which parts a numerical function does not tell of itself."""
    told = inspect.getdoc(function) or ""
    taken = " ".join(str(kind) for key, kind in function.__annotations__.items() if key != "return")
    is_loaded = LOADED.search(taken) or not {"model", "tokenizer"}.isdisjoint(function.__annotations__)
    wanted = ["Args:"] if taken else []
    wanted += ["Yields:" if inspect.isgeneratorfunction(function) else "Returns:"]
    wanted += [] if is_loaded else ["Example:", ">>> "]
    return [part for part in wanted if part not in told]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_hold(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = {name: sum(len(one.examples) for one in finder.find(import_module(name))) for name in EXAMPLES}
    assert sum(found[name] for name in FORMULAS) >= 60
    assert sum(found.values()) >= 700
    assert sum(found[name] for name in modules_of(statistics)) >= 20


def test_an_example_that_does_not_hold_is_seen() -> None:
    wrong = ModuleType("wrong", doc=">>> 1 + 1\n3\n")
    assert doctest.testmod(wrong, report=False, verbose=False).failed == 1


@pytest.mark.parametrize(("name", "function"), list(numerical()), ids=lambda one: one if isinstance(one, str) else "")
def test_numbers_are_told(name: str, function: Callable[..., Any]) -> None:
    assert lacks(function) == [], name


def test_most_of_what_is_measured_is_a_number() -> None:
    assert {statistics.auc, statistics.zero_rate_bound} <= {function for _, function in numerical()}
    assert len(list(numerical())) >= 270


def test_a_function_that_tells_nothing_is_seen() -> None:
    def untold(value: float) -> float:
        """Twice a number."""
        return 2 * value

    def untold_ones(count: int) -> Iterator[int]:
        """Numbers."""
        yield from range(count)

    def of_a_model(model: Any) -> float:
        """A number."""
        return float(model)

    assert lacks(untold) == ["Args:", "Returns:", "Example:", ">>> "]
    assert lacks(untold_ones) == ["Args:", "Yields:", "Example:", ">>> "]
    assert lacks(of_a_model) == ["Args:", "Returns:"]


def test_the_modules_are_all_there() -> None:
    assert len(FORMULAS) > 20
    told = ("audits.api", "audits.conformance", "methods.objectives", "inference.patching", "checkpoints.quantization")
    assert {f"{uds_bench.__name__}.{name}" for name in told} <= set(EXAMPLES)
