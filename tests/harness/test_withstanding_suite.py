"""Claims about attacks: asked for each attack that a manifest names, and of nobody where it names none."""

from __future__ import annotations

import json
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
    assert bench.changed() == [], "what is scored under an attack is of the files that lie there"


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


def test_prompts_are_asked_of_every_model_and_change_none(bench: Bench) -> None:
    facts = [json.loads(line) for line in (bench.models / "facts.jsonl").read_text().splitlines()]
    rows = [{"fact": f["id"], "question": f"Say it: {f['question']}"} for f in facts]
    (bench.folder / "mine.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    bench.manifest(["retain3"], more="[attacks]\nprefix = {}\nown_questions = { questions = 'mine.jsonl' }\n")
    ran = bench.run(SUITE)
    assert set(ran.claims) == {f"depth.withstands.{name}[retain3]" for name in ("prefix", "own_questions")}
    told = ran.claims["depth.withstands.prefix[retain3]"]
    assert told["observed"] == 0
    assert {one["name"]: one["observed"] for one in told["controls"]}["full, attacked alike"] > 0.5
    kept = next(one for one in told["controls"] if one["name"].startswith("what retain3 kept, asked alike"))
    assert (kept["must"], kept["held"]) == ("pass", True)
    assert not any("under" in name for name in ran.report["loads"]), "models are asked as they are"


def test_a_line_of_ones_own_questions_that_asks_nothing_is_told_before_anything_is_scored(bench: Bench) -> None:
    (bench.folder / "mine.jsonl").write_text('{"fact": "nobody", "question": "Who is it?"}\n')
    bench.manifest(["retain3"], more="[attacks]\nown_questions = { questions = 'mine.jsonl' }\n")
    assert "mine.jsonl, line 1: key 'fact' is 'nobody'" in bench.refused(SUITE)
    bench.manifest(["retain3"], more="[attacks]\nown_questions = {}\n")
    assert "attacks.own_questions.questions" in bench.refused(SUITE)
