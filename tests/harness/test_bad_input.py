"""Input that cannot be judged: one line that says what is wrong and what to do, never a pass."""

import json
from pathlib import Path

import pytest
import torch
from families import save_unreadable
from safetensors.torch import load_file, save_file
from small_models import fresh_model
from small_runs import DEPTH, Bench
from transformers import AutoTokenizer


def other_shape(bench: Bench, **shape: int) -> Path:
    """A checkpoint whose shape is not that of the full model, with its tokenizer."""
    tokenizer = AutoTokenizer.from_pretrained(bench.models / "full")
    folder = bench.folder / "other"
    fresh_model(**{"vocabulary": len(tokenizer)} | shape).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    ("shape", "word"), [({"layers": 2}, "layers"), ({"width": 48}, "width"), ({"vocabulary": 900}, "vocabulary")]
)
def test_a_candidate_of_another_shape(bench: Bench, shape: dict[str, int], word: str) -> None:
    bench.manifest({"other": other_shape(bench, **shape)})
    assert f"other ({bench.folder / 'other'}): its {word} is {next(iter(shape.values()))}" in bench.refused(DEPTH)


def test_a_tokenizer_that_splits_otherwise(bench: Bench) -> None:
    folder = bench.copy("retain3", "other")
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    content["model"]["merges"] = content["model"]["merges"][:100]
    path.write_text(json.dumps(content))
    bench.manifest({"other": folder, "retain3": bench.models / "retain3"})
    ran = bench.run(DEPTH, "-k", "test_score")
    assert ran.code == 1
    assert ran.counts == {"pass": 1, "refused": 1}
    assert [line.split() for line in ran.text.splitlines() if line.startswith(("other ", "retain3 "))] == [
        ["other", "1", "UNDECIDED"],
        ["retain3", "1", "pass"],
    ]
    assert "reads texts otherwise than its parent's (model)" in ran.claims["depth.score[other]"]["message"]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("place", ["mlp.up_proj.weight", "self_attn.q_proj.weight", "model.norm.weight"])
def test_one_weight_that_is_not_finite(bench: Bench, value: float, place: str) -> None:
    folder = bench.copy("retain3", "broken")
    spoil(folder / "model.safetensors", value, place)
    bench.manifest({"broken": folder, "retain3": bench.models / "retain3"})
    ran = bench.run(DEPTH, "-k", "test_score or test_hidden")
    assert ran.code == 1
    assert ran.verdicts["depth.score[broken]"] == ran.verdicts["depth.hidden[broken]"] == "refused"
    assert ran.verdicts["depth.score[retain3]"] == "pass"
    assert "holds NaN or infinity" in ran.claims["depth.score[broken]"]["message"]
    assert ran.counts == {"pass": 2, "refused": 2}


def spoil(path: Path, value: float, place: str) -> None:
    """Set one weight of a file."""
    weights = load_file(path)
    name = next(name for name in sorted(weights) if name.endswith(place))
    weights[name].view(-1)[5] = torch.tensor(value)
    save_file(weights, path, metadata={"format": "pt"})


def test_every_cause_has_a_line_of_its_own(bench: Bench) -> None:
    """Seven checkpoints of which nothing is there: together they are told in far more than one message holds."""
    folders = {f"empty{number}": bench.folder / f"empty{number}" for number in range(7)}
    for folder in folders.values():
        folder.mkdir()
    bench.manifest(folders)
    _, *lines = bench.refused(DEPTH).split("ERROR: ")
    for line, (name, folder) in zip(lines, folders.items(), strict=True):
        assert line.startswith(f"{name}: checkpoint {folder} has no config.json: {folder} holds nothing of a model")
        assert line.strip().endswith("write them")


def test_a_sole_candidate_of_one_audit_costs_another_audit_nothing(bench: Bench) -> None:
    bypass = "[bypass]\nmodels = { gone = 'nowhere' }\n"
    bench.manifest({"retain3": bench.models / "retain3"}, more=bypass)
    ran = bench.run(DEPTH, DEPTH.with_name("test_bypass.py"), "-k", "test_score or test_bypass")
    assert ran.code == 1
    verdicts = ran.verdicts
    assert verdicts.pop("depth.score[retain3]") == "pass"
    assert "bypass.verdict[gone]" in verdicts
    assert set(verdicts.values()) == {"refused"}
    assert "nowhere" in ran.claims["bypass.verdict[gone]"]["message"]


def test_a_family_that_cannot_be_read_is_told_once(bench: Bench) -> None:
    folders = {name: save_unreadable(bench.folder / name, seed) for seed, name in enumerate(("full", "retain", "npo"))}
    names = {"full": folders["full"], "retain": folders["retain"]}
    bench.manifest({"npo": folders["npo"]}, positive=(), negative=(), **names)
    _, told = bench.refused(DEPTH).split("ERROR: ")
    assert told.startswith("full, retain, npo: family prophetnet is not supported: final norm and head")


def test_weights_cut_in_half(bench: Bench) -> None:
    folder = bench.copy("retain3", "cut")
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    bench.manifest({"cut": folder, "retain3": bench.models / "retain3"})
    ran = bench.run(DEPTH, "-k", "test_score")
    assert ran.code != 0
    assert str(path) in ran.text
    if ran.report is not None:
        assert ran.verdicts["depth.score[retain3]"] == "pass"


def test_nothing_to_forget(bench: Bench) -> None:
    path = bench.folder / "facts.jsonl"
    lines = (bench.models / "facts.jsonl").read_text().splitlines()
    path.write_text("\n".join(line for line in lines if '"retain"' in line))
    bench.manifest(facts=path)
    assert "no fact with split 'forget'" in bench.refused(DEPTH)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("[references]\n", "[reference]\n", 3),
        ("[candidates]\n", "[candidates]\nfull = 'x/y'\n", 7),
        ("[facts]\n", "[facts\n", 1),
    ],
)
def test_a_manifest_with_a_slip_is_told_with_its_line(bench: Bench, old: str, new: str, line: int) -> None:
    """What is told of each slip: `test_manifest`."""
    path = bench.manifest()
    path.write_text(path.read_text().replace(old, new))
    assert f"{path}, line {line}: " in bench.refused(DEPTH)


def test_a_manifest_without_candidates(bench: Bench) -> None:
    bench.manifest({})
    assert "[candidates] with at least one name" in bench.refused(DEPTH)


@pytest.mark.parametrize(
    ("audit", "section", "needs"),
    [
        ("bypass", "", "[bypass] models with at least one name"),
        ("lmlm", "", "[lmlm] model, or models by name"),
        ("association", "", "[association] model"),
        ("association", "[association]\ntemplates = 2\n", "[association] model"),
        ("localization", "", "[localization] pretrained, injected, masks, candidates with at least one name"),
        (
            "localization",
            "[localization]\npretrained = '{models}/full'\n",
            "[localization] injected, masks, candidates with at least one name",
        ),
    ],
)
def test_an_audit_says_what_it_needs_and_of_another_nothing(bench: Bench, audit: str, section: str, needs: str) -> None:
    bench.manifest(more=section.format(models=bench.models))
    suite = DEPTH.with_name(f"test_{audit}.py")
    assert f"the {audit} audit needs {needs}: add what is missing" in bench.refused(suite)
    if not section:
        beside = bench.run(suite, f"{DEPTH}::test_frozen")
        assert beside.counts == {"pass": 1}
        assert f"not asked, as the manifest names nothing for them: {audit}\n" in beside.text


def test_of_an_empty_manifest_no_audit_is_named_but_what_writes_one(bench: Bench) -> None:
    empty = bench.folder / "empty.toml"
    empty.touch()
    assert f"{empty}: names nothing to be judged: `uds-bench init` writes" in bench.refused(
        DEPTH.parent, manifest=empty
    )
