"""Claims about attacks: asked for each attack that a manifest names, and of nobody where it names none."""

from __future__ import annotations

from pathlib import Path

import pytest
import small_models as small
from small_runs import Bench

SUITE = Path(__file__).parents[2] / "suites" / "test_withstanding.py"
GENTLE = "[attacks]\nrelearn_half = { epochs = 3, lr = 1e-3, batch_size = 2 }\n"


def test_what_was_only_hidden_comes_back_and_who_never_knew_stays_silent(bench: Bench) -> None:
    bench.manifest(["shallow", "retain3"], more=GENTLE)
    ran = bench.run(SUITE)
    assert set(ran.verdicts) == {"depth.withstands.relearn_half[shallow]", "depth.withstands.relearn_half[retain3]"}
    hidden, never = (ran.claims[f"depth.withstands.relearn_half[{name}]"] for name in ("shallow", "retain3"))
    assert hidden["observed"] > 0.5 > never["observed"], ran.text
    for claim in (hidden, never):
        assert [(c["must"], c["verdict"]) for c in claim["controls"] if c["must"] == "fail"] == [("fail", "fail")] * 2
    # Of half of the people only: those who were taught are not judged.
    assert hidden["interval"]["units"] == small.FORGET // 2


def test_without_attacks_they_are_left_out_and_said_where_asked_for_alone(bench: Bench) -> None:
    bench.manifest(["retain3"])
    assert set(bench.run(SUITE).verdicts.values()) == {"not applicable"}
    both = bench.run(SUITE, SUITE.with_name("test_depth.py"), "--collect-only", "-q")
    assert "test_depth.py" in both.text
    assert "test_withstands" not in both.text


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("relearn_halves = {}", "did you mean 'relearn_half'"),
        ("relearn_half = { share = 1.0 }", "share"),
        ("relearn_worst = { lr = [] }", "lr"),
        ("relearn = { precision = 'bf16' }", "precision"),
        ("relearn_lora = { rank = 0 }", "rank"),
    ],
)
def test_a_table_that_cannot_be_is_told_in_a_line(table: str, told: str, bench: Bench) -> None:
    bench.manifest(["retain3"], more=f"[attacks]\n{table}\n")
    refused = bench.refused(SUITE)
    assert told in refused
    assert "uds.toml" in refused
