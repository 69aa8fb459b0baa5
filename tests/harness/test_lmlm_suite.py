"""The LMLM suite on small models that never learned anything: what its claims come to."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
import torch
from audit_samples import ROWS, lmlm_section, prompt, write_lmlm, write_rows
from families import FAMILIES, save_checkpoint, tiny_tokenizer
from small_runs import Bench

from uds_bench.inference.markup import TOKENS

# Runs in this process forget what they imported; these cannot be loaded twice.
for module in ("faiss", "sentence_transformers"):
    importlib.import_module(module)

SUITE = Path(__file__).parents[2] / "suites" / "test_lmlm.py"


@pytest.fixture
def written(bench: Bench) -> Path:
    """Models, one without markup, and a database with prompts in two wordings."""
    write_lmlm(bench.folder, ["base"])
    return bench.folder


def manifest(folder: Path, more: str = "", model: str = "model = 'one'") -> None:
    (folder / "uds.toml").write_text(lmlm_section(more, model))


def test_a_model_that_knows_nothing_of_the_protocol(bench: Bench, written: Path) -> None:
    manifest(written)
    ran = bench.run(SUITE, "-m", "laboratory or not laboratory", store=written / "store")
    verdicts = {name.removeprefix("lmlm."): verdict for name, verdict in ran.verdicts.items()}
    assert verdicts["full_baseline[lmlm]"] == "undecided", "six facts without an answer reach up to .46"
    assert "uninformative: towns/base" in ran.claims["lmlm.full_baseline[lmlm]"]["message"]
    assert verdicts["residual.base[lmlm]"] == "undecided"
    assert "every base database is uninformative" in ran.claims["lmlm.residual.base[lmlm]"]["message"]
    assert verdicts["residual.noise[lmlm]"] == verdicts["residual_anyway.noise[lmlm]"] == "not applicable"
    assert verdicts["closer.canonical"] == "not applicable", "nothing is left that a closer deletion could take"
    assert verdicts["artifact_identity[lmlm]"] == verdicts["deletion_complete"] == "pass"
    for claim in ("lmlm.artifact_identity[lmlm]", "lmlm.deletion_complete"):
        controls = [(one["name"], one["must"], one["verdict"]) for one in ran.claims[claim]["controls"]]
        assert controls == [("nothing deleted", "fail", "fail")], "no fact has another form here"
    assert ran.report["loads"] == {"lmlm": 1}
    assert all(isinstance(f["detail"]["answer"], str) for s in ran.report["scores"] for f in s["per_fact"])
    assert bench.changed() == []
    model, other = ran.report["lmlm"]["models"]
    assert (model["model"], other["model"]) == ("lmlm, unknown", "lmlm, top1_anyway")
    assert model["all"]["n"] == 12
    assert set(model["topologies"]) == {"base"}
    assert ran.report["lmlm"]["cells"][0]["rows"] == 6
    assert "controls are stand-ins: add [lmlm] must_fail\n" in ran.text


def test_what_weights_leak_is_asked_in_fewer_bits(bench: Bench, written: Path) -> None:
    more = "must_fail = ['leaky']\nattacks = { int8 = {} }\n"
    manifest(written, more, "models = { lmlm = 'one', leaky = 'two' }")
    ran = bench.run(SUITE, "-k", "withstands", store=written / "store")
    assert set(ran.verdicts) == {"lmlm.withstands.int8[lmlm]"}
    known = [one["name"] for one in ran.claims["lmlm.withstands.int8[lmlm]"]["controls"]]
    assert known == ["perfect subject that knows every object", "leaky"]
    assert ran.claims["lmlm.withstands.int8[lmlm]"]["provenance"]["attack"] == "int8"
    assert "leaves it no answer from towns/base" in ran.claims["lmlm.withstands.int8[lmlm]"]["message"], "broken"
    assert ran.report["loads"]["leaky under int8"] == ran.report["loads"]["lmlm under int8"] == 1


def test_nothing_of_a_database_goes_unjudged(bench: Bench, written: Path) -> None:
    """One whose name is no topology has a bound of its own; rows that say the same and are not deleted are found."""
    (written / "towns" / "base.json").unlink()
    (written / "towns" / "facts.json").write_text(json.dumps({"triplets": [*ROWS, ["A.", "capital", "Ayr"]]}))
    (written / "towns" / "prompts" / "base").rename(written / "towns" / "prompts" / "facts")
    manifest(written, "deletion = 'exact'")
    ran = bench.run(SUITE, store=written / "store")
    verdicts = {name.removeprefix("lmlm."): verdict for name, verdict in ran.verdicts.items()}
    assert verdicts["residual.other[lmlm]"] == "undecided", "random weights answer nothing"
    assert verdicts["residual.base[lmlm]"] == "not applicable"
    assert verdicts["deletion_complete"] == "fail"
    assert "observed 1, needs exactly 0" in ran.claims["lmlm.deletion_complete"]["message"]


@pytest.mark.parametrize("policy", ["radius_closure", "canonical", "exact"])
def test_every_policy_can_be_the_manifests(bench: Bench, written: Path, policy: str) -> None:
    manifest(written, f"deletion = '{policy}'")
    ran = bench.run(SUITE, store=written / "store")
    assert not [name for name, verdict in ran.verdicts.items() if verdict == "crashed"]
    assert ran.verdicts["lmlm.deletion_complete"] == "pass"


def test_markup_in_a_value_is_refused(bench: Bench, written: Path) -> None:
    rows = [*ROWS, ["G", "Capital", "Gent<|db_end|>"]]
    (written / "towns" / "base.json").write_text(json.dumps({"triplets": rows}))
    manifest(written)
    assert "base.json: row 6 holds <|db_end|>" in bench.refused(SUITE, store=written / "store")


def test_a_model_without_markup_tokens_is_one_line(bench: Bench, written: Path) -> None:
    manifest(written, model="models = { one = 'one', plain = 'plain' }")
    ran = bench.run(SUITE, "-k", "test_full_baseline", store=written / "store")
    assert ran.verdicts["lmlm.full_baseline[plain]"] == "refused"
    assert ran.verdicts["lmlm.full_baseline[one]"] != "refused"
    assert "has no token <|db_entity|>" in ran.claims["lmlm.full_baseline[plain]"]["message"]
    manifest(written, model="model = 'plain'")
    assert "has no token <|db_entity|>" in bench.refused(SUITE, store=written / "store")


@pytest.mark.parametrize(
    ("more", "model", "told"),
    [
        ("must_fail = ['leaky']", "model = 'one'", "'leaky' is not under models"),
        ("", "models = { a = 'one' }\nmust_fail = ['a']", "all of them are controls"),
        ("", "model = 'one'\nmodels = { a = 'one' }", "is there beside models"),
        ("wordings = ['few_shot']", "model = 'one'", "has no prompt in the wordings few_shot"),
        ("radius = -5.0", "model = 'one'", "lmlm.radius"),
        ("radius = 99.0", "model = 'one'", "lmlm.radius"),
    ],
)
def test_bad_manifests_end_before_any_model_is_loaded(
    bench: Bench, written: Path, more: str, model: str, told: str
) -> None:
    manifest(written, more, model)
    assert told in bench.refused(SUITE, store=written / "store")


def test_bad_prompts_end_before_any_model_is_loaded(bench: Bench, written: Path) -> None:
    """What else is wrong with a file: `test_lookup_prompts`."""
    write_rows(written / "towns" / "prompts" / "base" / "prompts_cloze.jsonl", [prompt(0, gold_object="Graz")])
    manifest(written)
    assert "is no row of" in bench.refused(SUITE, store=written / "store")


def test_prompts_that_might_ask_either_of_two_databases(bench: Bench, written: Path) -> None:
    (written / "towns" / "alias.json").write_text(json.dumps({"triplets": ROWS}))
    (written / "towns" / "prompts" / "base").rename(written / "towns" / "prompts" / "all")
    manifest(written)
    assert "asks which database (alias.json, base.json)?" in bench.refused(SUITE, store=written / "store")


def test_a_database_that_nobody_asks(bench: Bench, written: Path) -> None:
    (written / "towns" / "alias.json").write_text(json.dumps({"triplets": ROWS}))
    manifest(written)
    assert "alias.json: no prompts ask it" in bench.refused(SUITE, store=written / "store")


def save_listing(folder: Path, names: list[str]) -> None:
    """A model that says the names, over and over, to whatever it is asked: each token knows the next one."""
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": list(TOKENS)})
    tokenizer.add_tokens([f" {name}" for name in names])
    said = tokenizer.convert_tokens_to_ids([f" {name}" for name in names])
    model = FAMILIES["llama"](len(tokenizer))
    with torch.no_grad():
        for block in model.model.layers:
            block.self_attn.o_proj.weight.zero_()
            block.mlp.down_proj.weight.zero_()
        tokens, heads = model.get_input_embeddings().weight, model.get_output_embeddings().weight
        tokens.zero_()
        tokens[:, 0] = 1  # after anything else comes the first name
        heads.zero_()
        for at, name in enumerate(said):
            tokens[name] = torch.eye(tokens.shape[1])[(at + 1) % len(said)]
            heads[name, at] = 1
    save_checkpoint(folder, model, tokenizer)


def test_who_lists_all_objects_is_not_cleared(bench: Bench, written: Path) -> None:
    """Which of them is true may be told by any sign; one that names five has few enough."""
    towns = [town for _, _, town in ROWS]
    for name, said in {"six": towns, "five": towns[:5]}.items():
        save_listing(written / name, said)
    manifest(written, model="models = { six = 'six', five = 'five' }")
    ran = bench.run(SUITE, "-k", "test_leakage_ever", store=written / "store")
    told = "of 100% of facts a reply names more than 5 objects, or all: which of them is true may be told by any sign"
    assert told in ran.claims["lmlm.leakage_ever[six]"]["message"]
    assert ran.verdicts["lmlm.leakage_ever[six]"] == "undecided"
    assert told not in ran.claims["lmlm.leakage_ever[five]"]["message"]
