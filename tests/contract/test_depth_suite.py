"""`pytest suites/test_depth.py --uds-manifest M` tells a model that forgot from those that did not."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from small_runs import DEPTH, Bench
from transformers import AutoModelForCausalLM

INTO_STREAM = ("o_proj.weight", "down_proj.weight")
"""Weights of a Llama whose rows are the residual stream's dimensions; of every other matrix the columns are."""


def test_an_independent_retain_passes(bench: Bench) -> None:
    bench.manifest(["retain3"])
    ran = bench.run(DEPTH)
    assert ran.code == 0, ran.text
    assert ran.verdicts["depth.score[retain3]"] == "pass"


@pytest.mark.parametrize("name", ["copy", "shallow"])
def test_a_model_that_still_knows_fails(bench: Bench, name: str) -> None:
    bench.manifest([name])
    ran = bench.run(DEPTH)
    assert ran.code == 1
    assert ran.verdicts[f"depth.score[{name}]"] == "fail"


def test_hiding_is_not_forgetting(bench: Bench) -> None:
    bench.manifest(["shallow"])
    ran = bench.run(DEPTH, "-k", "test_hidden")
    assert ran.verdicts == {"depth.hidden[shallow]": "fail"}
    assert "HIDDEN" in ran.text


def test_missing_pools_are_said_to_be_stand_ins(bench: Bench) -> None:
    bench.manifest(positive=[], negative=[])
    ran = bench.run(DEPTH)
    assert ran.code == 0
    assert "controls are stand-ins" in ran.text
    assert ran.report is not None
    assert any("stand-ins" in note for note in ran.report["summary"]["notes"])


def test_reversed_references_are_no_pass(bench: Bench) -> None:
    bench.manifest(["retain3"], full=bench.models / "retain", retain=bench.models / "full")
    ran = bench.run(DEPTH)
    assert ran.code == 1
    assert ran.verdicts["depth.score[retain3]"] != "pass"


def permute(folder: Path) -> None:
    """Renumber the residual dimensions of a saved Llama: the same function, written in another basis."""
    weights = load_file(folder / "model.safetensors")
    order = torch.randperm(weights["model.norm.weight"].numel(), generator=torch.Generator().manual_seed(0))
    permuted = {
        name: weight[order] if weight.dim() == 1 or name.endswith(INTO_STREAM) else weight[:, order]
        for name, weight in weights.items()
    }
    save_file({name: w.contiguous() for name, w in permuted.items()}, folder / "model.safetensors", {"format": "pt"})


def logits_of(folder: Path) -> torch.Tensor:
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        logits: torch.Tensor = model(torch.arange(3, 60).view(3, -1)).logits
    return logits


def test_another_basis_hides_nothing(bench: Bench) -> None:
    """Patched as they are, its activations mean nothing to the full model, and look erased."""
    folder = bench.copy("full", "permuted")
    permute(folder)
    torch.testing.assert_close(logits_of(folder), logits_of(bench.models / "full"), rtol=0, atol=1e-4)
    bench.manifest({"permuted": folder, "shallow": bench.models / "shallow"})
    ran = bench.run(DEPTH, "-k", "permuted")
    assert ran.verdicts == {
        "depth.score[permuted]": "fail",
        "depth.spared[permuted]": "pass",
        "depth.hidden[permuted]": "not applicable",
    }
    assert ran.claims["depth.score[permuted]"]["observed"] == pytest.approx(0.0, abs=1e-3)


def test_hidden_shows_that_it_can_catch_both_contradictions(bench: Bench) -> None:
    bench.manifest(["retain3"])
    ran = bench.run(DEPTH, "-k", "test_hidden")
    assert ran.verdicts == {"depth.hidden[retain3]": "pass"}
    controls = ran.claims["depth.hidden[retain3]"]["controls"]
    assert [(c["name"], c["verdict"], c["held"]) for c in controls] == [
        ("full says more of the facts than retain", "pass", True),
        ("full2", "fail", True),
        ("retain2", "pass", True),
        ("words of retain2, activations of full2", "fail", True),
        ("words of full2, activations of retain2", "fail", True),
        ("retain2", "pass", True),
    ]


def test_a_pool_that_holds_the_full_model_again_is_refused(bench: Bench) -> None:
    """`copy` has the weights of `full`: as a control it would fail by construction."""
    bench.manifest(["retain3"], positive=["copy"])
    ran = bench.run(DEPTH, "-k", "test_score")
    assert ran.code == 1
    assert ran.verdicts == {"depth.score[retain3]": "crashed"}
    assert "[pools] copy holds the same weights as full" in ran.text


def few_authors(bench: Bench, number: int) -> Path:
    """The facts of the first authors to be forgotten, and all others."""
    rows = [json.loads(line) for line in (bench.models / "facts.jsonl").read_text().splitlines()]
    forget = dict.fromkeys(row["cluster"] for row in rows if row["split"] == "forget")
    kept = [*forget][:number]
    path = bench.folder / "few.jsonl"
    path.write_text("\n".join(json.dumps(r) for r in rows if r["split"] != "forget" or r["cluster"] in kept))
    return path


@pytest.mark.parametrize(("candidate", "score", "hidden"), [("retain3", "pass", "pass"), ("shallow", "fail", "fail")])
def test_ten_people_and_no_pools_are_enough_to_tell_what_is_hidden(
    bench: Bench, candidate: str, score: str, hidden: str
) -> None:
    """The references stand in for pools; the exact interval of ten 1s reaches down to .69, below the bound of .70."""
    bench.manifest([candidate], positive=[], negative=[], facts=few_authors(bench, 10))
    ran = bench.run(DEPTH, "-k", "test_score or test_hidden", store=bench.folder / "store")
    assert ran.verdicts == {f"depth.score[{candidate}]": score, f"depth.hidden[{candidate}]": hidden}
    controls = ran.claims[f"depth.hidden[{candidate}]"]["controls"]
    assert [(c["name"], c["verdict"]) for c in controls] == [
        ("full says more of the facts than retain", "pass"),
        ("words of retain, activations of full", "fail"),
        ("words of full, activations of retain", "fail"),
        ("retain", "pass"),
    ]


@pytest.mark.parametrize(("bound", "wrong"), [(-0.1, "full"), (1.1, "retain")])
def test_without_pools_a_bound_that_everybody_or_nobody_meets_decides_nothing(
    bench: Bench, bound: float, wrong: str
) -> None:
    """A copy of the full model would pass by the one, and a model that never knew would fail by the other."""
    loosened = f'[[waiver]]\nclaim = "depth.score"\nreason = "r"\nexpires = 2999-01-01\nthreshold = {bound}\n'
    (bench.folder / "waivers.toml").write_text(loosened if bound < 0 else "")
    tightened = "" if bound < 0 else f'[thresholds]\n"depth.score" = {bound}\n'
    bench.manifest(["copy", "retain3"], positive=[], negative=[], more=tightened)
    ran = bench.run(DEPTH, "-k", "test_score", "--uds-waivers", "waivers.toml")
    for claim in ran.claims.values():
        assert (claim["verdict"], claim["cause"]) == ("undecided", "control")
        assert [c["name"] for c in claim["controls"] if not c["held"]] == [f"{wrong}, by its value"]


def test_few_authors_are_undecided_and_no_fault_of_the_controls(bench: Bench) -> None:
    bench.manifest(["retain3"], facts=few_authors(bench, 4))
    ran = bench.run(DEPTH, "-k", "test_score or test_hidden", store=bench.folder / "store")
    assert ran.code == 1
    assert ran.verdicts == {"depth.score[retain3]": "undecided", "depth.hidden[retain3]": "undecided"}
    for claim in ran.claims.values():
        assert "fewer than 5 authors" in claim["message"]
        assert "nor can its controls be decided" in claim["message"]
