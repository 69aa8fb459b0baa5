"""The summary of a run on the page of a CI job: candidates by audits, and what is red. No message: they name people."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from tabulate import tabulate

from uds_bench.cards.statement import CLAIM
from uds_bench.claims.candidate_table import candidate_table
from uds_bench.claims.record import ClaimRecord
from uds_bench.console.markdown import in_markdown
from uds_bench.harness.result import RunResult
from uds_bench.harness.screen import sentence

PLACE = "GITHUB_STEP_SUMMARY"
"""The variable that names the file: Markdown that is appended to it stands on the page of the job."""


def append_step_summary(found: RunResult, is_embedded: bool, exit_code: int, instead: str = "") -> None:
    """Append the summary to the page of the job, if there is one. Raises OSError if it cannot be written."""
    if place := os.environ.get(PLACE):
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(step_summary(found, is_embedded, exit_code, instead))


def step_summary(found: RunResult, is_embedded: bool, exit_code: int, instead: str = "") -> str:
    """The run in one sentence, a row a candidate where a manifest names them, and a row for each claim that is red."""
    problems = [f"{len(found.problems)} problems, told in the log"] if found.problems else []
    records = found.told
    told = [
        f"### {in_markdown(sentence(replace(found, problems=problems), is_embedded, exit_code, instead))}",
        *problems,
    ]
    table = candidate_table(records)
    if table.candidates and not is_embedded:
        rows = [[in_markdown(name), *counts] for name, *counts in table.rows(_strong)]
        told.append(tabulate(rows, headers=("candidate", *map(in_markdown, table.audits)), tablefmt="github"))
    if red := [_red(record) for record in records if not record.is_good]:
        headers = ("claim", "result", "observed", "95% interval", "needs", "what to do")
        told.append(tabulate(red, headers=headers, tablefmt="github", disable_numparse=True))
    return "\n\n".join([*told, f"{CLAIM[0].upper()}{CLAIM[1:]}."]) + "\n\n"


def _strong(word: str) -> str:
    return f"**{word.upper()}**"


def _red(record: ClaimRecord) -> tuple[str, ...]:
    name, *cells, advice = map(in_markdown, (record.name, *record.cells, record.advice))
    return name, record.spelled(_strong), *cells, advice
