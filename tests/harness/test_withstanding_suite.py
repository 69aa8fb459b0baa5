"""Claims about attacks: asked for each attack that a manifest names, and of nobody where it names none."""

from __future__ import annotations

from pathlib import Path

import pytest
import small_models as small
from small_runs import Bench

SUITE = Path(__file__).parents[2] / "suites" / "test_withstanding.py"
SETTINGS = "{ epochs = 3, lr = 1e-3, batch_size = 2 }"
TRIED = f"[attacks]\nnf4 = {{}}\nrelearn = {SETTINGS}\nrelearn_half = {SETTINGS}\n"


def test_each_attack_is_judged_beside_models_that_are_attacked_alike(bench: Bench) -> None:
    bench.manifest(["shallow", "retain3"], more=TRIED)
    ran = bench.run(SUITE)
    found = {
        (attack, name): ran.claims[f"depth.withstands.{attack}[{name}]"]
        for attack in ("nf4", "relearn", "relearn_half")
        for name in ("shallow", "retain3")
    }
    assert len(ran.claims) == len(found)
    # Twelve differences that are all 1 may be .47 in truth: the full model, though it tells all, is no clear control.
    assert {claim["cause"] for claim in found.values()} == {"control"}
    relearned, never = found["relearn", "shallow"], found["relearn", "retain3"]
    assert relearned["interval"]["low"] > 0.5 > never["interval"]["high"], ran.text
    assert found["nf4", "retain3"]["observed"] == 0
    assert found["relearn_half", "shallow"]["interval"]["units"] == small.FORGET // 2


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
