"""`uds-bench zoo results`: what draws of the zoo found, and what is no draw."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from uds_bench.cli.results import over_draws

Command = Callable[..., Any]


def claim(name: str, observed: float | None, outcome: str, kind: str = "threshold") -> dict[str, Any]:
    return {"name": name, "observed": observed, "outcome": outcome, "kind": kind, "controls": []}


def draw(folder: Path, number: int, *claims: dict[str, Any], **more: object) -> Path:
    file = folder / f"{number}.json"
    scores = [{"provenance": {"checkpoint": f"model {number}"}}]
    manifest = {"digest": "of the zoo"}
    report = {
        "schema": 1,
        "manifest": manifest,
        "profile": "zoo",
        "draw": number,
        "scores": scores,
        "claims": list(claims),
        **more,
    }
    file.write_text(json.dumps(report))
    return file


def test_a_claim_has_a_line_with_its_interval_over_draws(command: Command, tmp_path: Path) -> None:
    values = (0.1, 0.25, 0.2)
    files = [
        draw(
            tmp_path,
            number,
            claim("depth.score[npo]", value, "pass" if number else "fail"),
            claim("depth.self_patch", 0.0, "pass", "identity"),
            claim("bypass.verdict[npo]", None, "not applicable"),
        )
        for number, value in enumerate(values)
    ]
    head, _, *rows = command("zoo", "results", *files).stdout.strip().splitlines()
    assert [cell.strip() for cell in head.split("|")[1:-1]] == ["claim", "by draw", "mean", "95% over draws", "came to"]
    assert len(rows) == 1
    low, high = stats.t.interval(0.95, 2, np.mean(values), stats.sem(values))
    assert [cell.strip() for cell in rows[0].split("|")[1:-1]] == [
        "`depth.score[npo]`",
        "0.100 0.250 0.200",
        "0.183",
        f"{low:.3f}..{high:.3f}",
        "fail 1, pass 2",
    ]


def test_a_value_whose_control_did_not_come_out_right_is_void(command: Command, tmp_path: Path) -> None:
    missed = claim("a", 0.9, "pass") | {"controls": [{"held": False}]}
    files = [draw(tmp_path, number, claim("a", 0.5, "pass") if number else missed) for number in range(3)]
    assert "| – 0.500 0.500 | 0.500  | – " in (shown := command("zoo", "results", *files).stdout)
    assert "void 1, pass 2" in shown


def test_what_one_draw_lacks_is_missing_there_and_has_no_interval(command: Command, tmp_path: Path) -> None:
    files = [draw(tmp_path, number, *([claim("a", 0.5, "pass")] if number else [])) for number in range(3)]
    assert "| – 0.500 0.500 | 0.500  | – " in (shown := command("zoo", "results", *files).stdout)
    assert "missing 1, pass 2" in shown


def test_values_that_agree_have_an_interval_without_width_and_two_have_none() -> None:
    assert over_draws([0.5, 0.5, 0.5]) == (0.5, 0.5)
    assert np.isnan(over_draws([0.1, 0.2])).all()


@pytest.mark.parametrize(
    ("numbers", "more", "said"),
    [
        ([0, 1], {}, "2 given, and a statement about a method takes 3 draws"),
        ([0, 1, 2], {"profile": "quick"}, "is of no draw of the zoo"),
        ([0, 1, 2], {"draw": 4}, "is of draw 4, as another one"),
        ([0, 1, 2], {"manifest": 1}, "does not say of which manifest it is"),
        ([0, 1, 2], {"draw": "abc"}, "is of no draw of the zoo"),
        ([0, 1, 2], {"draw": True}, "is of no draw of the zoo"),
        ([0, 1, 2], {"profile": "full"}, "is of no draw of the zoo"),
        ([0, 1, 2], {"scores": [{"provenance": {"checkpoint": "one"}}]}, "each draw has models of its own"),
        ([0, 1, 2], {"scores": [1]}, "does not say of which model it is"),
        ([0, 1, 2], {"claims": [1]}, "holds a claim that cannot be read"),
        ([0, 1, 2], {"claims": [claim("a", "x", "pass")]}, "a has observed 'x'"),  # type: ignore[arg-type]
        ([0, 1, 2], {"claims": [{"name": "a"}]}, "holds a claim that cannot be read"),
    ],
)
def test_what_is_no_three_draws_is_refused(
    refused: Callable[..., str], tmp_path: Path, numbers: list[int], more: dict[str, object], said: str
) -> None:
    assert said in refused("zoo", "results", *(draw(tmp_path, number, **more) for number in numbers))
