"""The how-to pages of an attack and of a method: their code is run as it stands."""

import json
import re
from pathlib import Path
from typing import Any

from small_runs import Bench

from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.facts import load_facts
from uds_bench.methods import unlearning_data
from uds_bench.trials.trial import lesson

PAGES = Path(__file__).parents[2] / "docs" / "howto"


def code(page: str) -> str:
    (found,) = re.findall(r"```python\n(.*?)```", (PAGES / page).read_text(), flags=re.DOTALL)
    return str(found)


def test_an_attack_of_ones_own_is_measured_under(bench: Bench) -> None:
    bench.manifest(["retain3", "copy"])
    (bench.folder / "test_noise.py").write_text(code("attack.md"))
    ran = bench.run("test_noise.py", store=bench.folder / "store")
    assert ran.verdicts == {"ours.unsaid_under_noise[retain3]": "pass", "ours.unsaid_under_noise[copy]": "fail"}
    assert {(score["checkpoint"], score["attack"]) for score in ran.report["scores"]} == {
        ("retain3", "noise"),
        ("copy", "noise"),
    }


def test_a_method_of_ones_own_makes_a_candidate(bench: Bench) -> None:
    known: dict[str, Any] = {}
    exec(code("method.md"), known)
    full = load(CheckpointSpec(str(bench.models / "full")))
    data = unlearning_data(full.tokenizer, load_facts(bench.models / "facts.jsonl"))
    forget, retain = ([lesson(full.tokenizer, one) for one in part] for part in (data.forget, data.retain))
    made = known["bounded_ascent"](full.model.requires_grad_(True), full.tokenizer, forget, retain, 0)
    out = bench.folder / "runs" / "ours"
    made.save_pretrained(out)
    full.tokenizer.save_pretrained(out)
    bench.manifest({"ours": out, "copy": bench.models / "copy"})
    (bench.folder / "test_ours.py").write_text(
        re.findall(r"```python\n(.*?)```", (PAGES / "claim.md").read_text(), flags=re.DOTALL)[0]
    )
    ran = bench.run("test_ours.py", store=bench.folder / "store")
    assert ran.verdicts == {"ours.unsaid[ours]": "pass", "ours.unsaid[copy]": "fail"}, json.dumps(ran.claims, indent=1)
