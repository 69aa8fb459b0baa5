"""The how-to pages of an attack and of a method: their code is run as it stands."""

import json
import re
from pathlib import Path
from typing import Any

from small_runs import Bench

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
    out = bench.folder / "runs" / "ours"
    losses = known["bounded_ascent"](str(bench.models / "full"), str(bench.models / "facts.jsonl"), str(out))
    assert losses[-1] < losses[0]
    bench.manifest({"ours": out, "copy": bench.models / "copy"})
    (bench.folder / "test_ours.py").write_text(
        re.findall(r"```python\n(.*?)```", (PAGES / "claim.md").read_text(), flags=re.DOTALL)[0]
    )
    ran = bench.run("test_ours.py", store=bench.folder / "store")
    assert ran.verdicts == {"ours.unsaid[ours]": "pass", "ours.unsaid[copy]": "fail"}, json.dumps(ran.claims, indent=1)
