"""Rows in the form of TOFU's files."""

import json
from pathlib import Path
from typing import Any


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row) for row in rows))


def tofu_rows(name: str, count: int) -> list[dict[str, Any]]:
    return [
        {"question": f"Where does {name} {row} live?", "answer": f"The author {name} {row} lives in Town{row}."}
        for row in range(count)
    ]


def perturbed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        row
        | {
            "paraphrased_question": f"Again: {row['question']}",
            "paraphrased_answer": f"Again: {row['answer']}",
            "perturbed_answer": ["In Wrongton.", "In Wronghaven."],
        }
        for row in rows
    ]
