"""Reading the two kinds of JSON that the harness writes: run reports and score files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uds_bench.errors import ConfigurationError
from uds_bench.storage import load_document, read_text

if TYPE_CHECKING:
    from uds_bench.claims.run_report import RunReport
    from uds_bench.scores import Score

ADVICE = "name what --uds-json or `uds-bench score` wrote"


@dataclass(frozen=True)
class ScoreFile:
    """A file of scores; of a run report `run` too."""

    path: Path
    scores: Sequence[Score]
    run: RunReport | None = None

    @property
    def kind(self) -> str:
        """What it is, in words."""
        return "score file" if self.run is None else "run report"

    def error(self, problem: str) -> ConfigurationError:
        """What is wrong with it, in a line."""
        return ConfigurationError(f"{self.path}: {problem}")


def read_document(path: Path) -> ScoreFile:
    """Raises ConfigurationError for a file that is missing, no strict JSON, of another schema, or neither kind."""
    values = read_json(path, strict=True)
    if not isinstance(values, dict) or not isinstance(values.get("scores"), list):
        raise ConfigurationError(f"{path}: is neither a run report nor a score file: {ADVICE}")
    if "claims" in values:
        from uds_bench.audits import registry
        from uds_bench.claims.fact_rows import read_report

        run = read_report(values, path, registry.parts())
        return ScoreFile(path, run.scores, run)
    from pydantic import ValidationError

    from uds_bench.json_values import first_problem
    from uds_bench.scores import Scores

    try:
        return ScoreFile(path, Scores.from_json(values))
    except ValidationError as error:
        raise ConfigurationError(f"{path}: is no score file ({first_problem(error)}): write it again") from None
    except ValueError as error:
        raise ConfigurationError(f"{path}: {error}: write it again") from None


def read_json(path: Path, strict: bool) -> Any:
    """What a file holds. Raises ConfigurationError where it is missing or no JSON; `strict`: NaN is none."""
    kind = "strict JSON" if strict else "JSON"
    try:
        return load_document(read_text(path), finite=strict)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror}): name a JSON file") from None
    except ValueError as error:
        raise ConfigurationError(f"{path}: is no {kind} ({error}): write it again") from None


def read_run(path: Path) -> RunReport:
    """A run report, or ConfigurationError."""
    document = read_document(path)
    if document.run is None:
        raise document.error("is a score file: name a run report, which `pytest suites/ --uds-json FILE` writes")
    return document.run
