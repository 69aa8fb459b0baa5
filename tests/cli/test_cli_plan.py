"""`uds-bench plan`: what is stored, missing, not built or unusable, without a model being loaded."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from audit_samples import lmlm_section, write_lmlm
from commands import Command, Refused
from families import FAMILIES, save_checkpoint, tiny_tokenizer
from safetensors.torch import load_file, save_file

from uds_bench.audits import registry
from uds_bench.audits.manifests import manifest_of
from uds_bench.cli.session import CommandSession
from uds_bench.errors import UdsError
from uds_bench.metrics.metric import Metric
from uds_bench.scoring.folder import Folder
from uds_bench.scoring.metric_runner import MetricRunner
from uds_bench.scoring.runner import ScoreRequest
from uds_bench.scoring.store import ScoreKey

FORM = ("checkpoint", "metric", "variant")


@pytest.fixture(autouse=True)
def no_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(runner: MetricRunner, name: str) -> None:
        raise AssertionError(f"{name} was loaded")

    monkeypatch.setattr(MetricRunner, "loaded", refuse)


def _statuses(shown: str) -> dict[tuple[str, str, str], str]:
    return {(c["checkpoint"], c["metric"], c["variant"]): c["status"] for c in json.loads(shown)["cells"]}


def test_scores_are_missing_before_and_stored_after(
    command: Command, fed: list[Metric], saved_release: Path, scored: Path, tmp_path: Path
) -> None:
    words = ("plan", "--manifest", saved_release / "uds.toml", "--variants", "--json")
    before = _statuses(command(*words, "--store", tmp_path / "none").stdout)
    after = _statuses(command(*words, "--store", scored / "store").stdout)
    assert {name for name, _, _ in before} == {"full", "retain", "npo"}
    assert len(before) == 3 * sum(len(metric.variants) for metric in fed)
    assert before.keys() == after.keys()
    assert set(before.values()) == {"missing"}
    assert set(after.values()) == {"stored"}
    assert not (tmp_path / "none").exists()


def test_what_is_listed_is_what_a_run_would_find(
    command: Command, saved_release: Path, scored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a store that lacks some cells, and has one that is cut short; and of one whose names cannot be listed."""
    store = shutil.copytree(scored / "store", tmp_path / "store")
    cells = sorted((store / "cells").rglob("*.json"))
    gone, cut, linked = cells[:5], cells[5], cells[6].parent
    lost = {tuple(json.loads(cell.read_bytes().splitlines()[0])[key] for key in FORM) for cell in [*gone, cut]}
    for cell in gone:
        cell.unlink()
    cut.write_bytes(cut.read_bytes()[:-1])
    linked.rename(tmp_path / "elsewhere")
    linked.symlink_to(tmp_path / "elsewhere")
    words = ("plan", "--manifest", saved_release / "uds.toml", "--variants", "--json", "--store", store)
    with pytest.warns(UserWarning, match="is cut short or altered"):
        found = _statuses(command(*words).stdout)
    assert {place for place, status in found.items() if status == "missing"} == lost
    assert set(found.values()) == {"missing", "stored"}

    def refuse(shelf: Folder, under: str) -> None:
        raise UdsError("it is not listed")

    monkeypatch.setattr(Folder, "names", refuse)
    with pytest.warns(UserWarning, match="is cut short or altered"):
        assert _statuses(command(*words).stdout) == found


def test_in_an_empty_store_few_cells_are_looked_for(
    command: Command, saved_release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, cell = [], MetricRunner.cell

    def counted(runner: MetricRunner, request: ScoreRequest, device: str | None = None) -> ScoreKey:
        made.append(request)
        return cell(runner, request, device)

    monkeypatch.setattr(MetricRunner, "cell", counted)
    words = ("plan", "--manifest", saved_release / "uds.toml", "--variants", "--json", "--store", tmp_path / "none")
    found = _statuses(command(*words).stdout)
    assert {one.checkpoint for one in made} == {name for name, _, _ in found}
    assert {(one.metric, one.variant) for one in made} == {place[1:] for place in found}
    assert len(set(made)) < len(found) / 2


def test_metrics_that_the_facts_cannot_feed_are_left_out_and_named(
    command: Command, saved_release: Path, tmp_path: Path
) -> None:
    words = ("plan", "--manifest", saved_release / "uds.toml", "--store", tmp_path / "none", "--json")
    asked_for_all = command(*words)
    assert "left out, as the facts have no split holdout: mia_loss, mia_zlib" in asked_for_all.stderr
    assert not [cell for cell in json.loads(asked_for_all.stdout)["cells"] if cell["metric"].startswith("mia_")]
    by_name = command(*words, "--metrics", "mia_loss", exit=4)
    assert "left out" not in by_name.stderr
    assert "mia_loss needs facts of the split holdout" in by_name.stderr
    assert {cell["status"] for cell in json.loads(by_name.stdout)["cells"]} == {"unusable"}


def test_a_changed_fact_or_weight_makes_its_scores_missing(command: Command, release: Path, scored: Path) -> None:
    words = ("plan", "--manifest", release / "uds.toml", "--metrics", "uds", "--store", scored / "store", "--json")
    assert set(_statuses(command(*words).stdout).values()) == {"stored"}
    tokenizer = tiny_tokenizer()
    save_checkpoint(release / "runs" / "npo", FAMILIES["llama"](len(tokenizer), seed=9), tokenizer)
    assert _statuses(command(*words).stdout) == {
        ("full", "uds", "aligned"): "stored",
        ("retain", "uds", "aligned"): "stored",
        ("npo", "uds", "aligned"): "missing",
    }
    facts = release / "facts.jsonl"
    facts.write_text(facts.read_text().replace("Where was", "In which town was"))
    assert set(_statuses(command(*words).stdout).values()) == {"missing"}


def test_table_has_a_row_a_checkpoint_and_a_column_a_metric(
    command: Command, fed: list[Metric], saved_release: Path, scored: Path
) -> None:
    words = ("plan", "--manifest", saved_release / "uds.toml", "--store", scored / "store")
    lines = command(*words).stdout.splitlines()
    assert lines[0].split() == ["checkpoint", *(metric.name for metric in fed)]
    stored = ["stored"] * len(fed)
    assert [line.split() for line in lines[2:5]] == [[name, *stored] for name in ("full", "retain", "npo")]
    assert f"{3 * len(fed)} scores: {3 * len(fed)} stored, 0 missing, 0 not built, 0 unusable" in lines


def test_shipped_models_are_there_to_be_scored(command: Command) -> None:
    document = json.loads(command("plan", "--json").stdout)
    assert document["counts"] == {"stored": 0, "missing": len(document["cells"]), "not built": 0, "unusable": 0}
    audits = {cell["audit"] for cell in document["cells"]}
    assert audits == {"depth", "association", "bypass", "lmlm", "localization"}
    chosen = json.loads(command("plan", "--audits", "bypass, lmlm", "--json").stdout)["cells"]
    assert chosen == [cell for cell in document["cells"] if cell["audit"] in ("lmlm", "bypass")]
    by_metric = json.loads(command("plan", "--metrics", "uds", "--json").stdout)["cells"]
    assert {(cell["audit"], cell["metric"]) for cell in by_metric} == {("depth", "uds")}


@pytest.mark.parametrize("claim", ["localization.resurfacing", "localization.resurfacing_order"])
def test_who_leaks_is_planned_where_it_is_asked(claim: str, tmp_path: Path) -> None:
    def planned(*claims: str) -> dict[str, set[tuple[str, str]]]:
        marks = [pytest.mark.claim(one).mark for one in claims]
        session = CommandSession(manifest_of(None, "quick"), tmp_path / "store", "cpu", marks=marks)
        found = session.planned("localization")
        return {
            runner.evaluator.measure.name: {(one.checkpoint, one.attack) for one in requests}
            for runner, requests in found
        }

    leaks = planned("localization.auc", claim)["localization_leaks"]
    assert {name for name, _ in leaks} == {"oracle_brief", "refusing", "injected"}
    assert {attack for _, attack in leaks} > {"none", "resurface_0"}
    assert planned("localization.auc").keys() == {"localization_extraction"}


def test_an_audit_that_the_manifest_does_not_speak_of_is_refused(refused: Refused, saved_release: Path) -> None:
    words = ("plan", "--manifest", saved_release / "uds.toml", "--audits", "lmlm")
    assert "--audits: there is no 'lmlm': choose from depth" in refused(*words)


def test_embedded_models_are_not_trained(command: Command, private_cache: Path) -> None:
    manifest = registry.audits()["depth"].embedded("zoo")
    document = json.loads(command("plan", "--manifest", manifest, "--json").stdout)
    assert document["counts"] == {"stored": 0, "missing": 0, "not built": len(document["cells"]), "unusable": 0}
    assert document["cells"]
    assert not (private_cache / "zoo").exists()


def test_unusable_checkpoints_are_told_with_the_reason(command: Command, release: Path, tmp_path: Path) -> None:
    tokenizer, npo = tiny_tokenizer(), release / "runs" / "npo"
    for old in npo.iterdir():
        old.unlink()
    save_checkpoint(npo, FAMILIES["llama"](len(tokenizer), layers=2), tokenizer)
    words = ("plan", "--manifest", release / "uds.toml", "--metrics", "uds", "--store", tmp_path / "store", "--json")
    result = command(*words, exit=4)
    assert _statuses(result.stdout)["npo", "uds", "aligned"] == "unusable"
    assert _statuses(result.stdout)["full", "uds", "aligned"] == "missing"
    assert "its layers is 2, the full model's is 3" in result.stderr


def test_a_model_that_cannot_ask_a_database_is_unusable(command: Command, tmp_path: Path) -> None:
    write_lmlm(tmp_path)
    (tmp_path / "uds.toml").write_text(lmlm_section(model="models = { one = 'one', plain = 'plain' }"))
    result = command("plan", "--manifest", tmp_path / "uds.toml", "--store", tmp_path / "store", "--json", exit=4)
    statuses = {cell["checkpoint"]: cell["status"] for cell in json.loads(result.stdout)["cells"]}
    assert statuses == {"one": "missing", "plain": "unusable"}
    assert "has no token <|db_entity|>: it cannot ask a database" in " ".join(result.stderr.split())


def test_one_weight_that_is_not_finite_is_told_before_a_run(command: Command, release: Path, tmp_path: Path) -> None:
    file = max((release / "runs" / "npo").glob("*.safetensors"))
    weights = load_file(file)
    next(iter(weights.values())).view(-1)[0] = torch.nan
    save_file(weights, file, metadata={"format": "pt"})
    words = ("plan", "--manifest", release / "uds.toml", "--metrics", "uds", "--store", tmp_path / "store", "--json")
    result = command(*words, exit=4)
    assert _statuses(result.stdout)["npo", "uds", "aligned"] == "unusable"
    assert result.stderr.count("holds NaN or infinity") == 1


def test_the_gate_is_what_the_claims_of_a_run_read(command: Command, saved_release: Path, run_report: Path) -> None:
    words = ("plan", "--manifest", saved_release / "uds.toml", "--gate", "--json")
    planned = json.loads(command(*words, "--store", run_report.parent / "none").stdout)
    assert {cell["status"] for cell in planned["cells"]} == {"missing"}
    form = ("checkpoint", "metric", "variant", "attack")
    read = {tuple(score[key] for key in form) for score in json.loads(run_report.read_text())["scores"]}
    assert {tuple(cell[key] for key in form) for cell in planned["cells"]} == read


def test_the_gate_names_no_metric(refused: Refused, saved_release: Path) -> None:
    said = refused("plan", "--manifest", saved_release / "uds.toml", "--gate", "--metrics", "uds")
    assert "--gate: its claims say which scores they read" in said


def test_thresholds_are_told_before_a_run(
    command: Command, refused: Refused, saved_release: Path, tmp_path: Path
) -> None:
    """One of no claim is refused, and one that a run takes with a waiver alone is said."""
    text = (saved_release / "uds.toml").read_text()
    manifest = saved_release / "thresholds.toml"
    manifest.write_text(f'{text}\n[thresholds]\n"depth.scor" = 0.8\n')
    assert "no claim 'depth.scor' takes a threshold: did you mean 'depth.score'" in refused(
        "plan", "--manifest", manifest
    )
    manifest.write_text(f'{text}\n[thresholds]\n"depth.score" = 0.1\n')
    assert (
        "depth.score is looser than the default, and needs a waiver" in command("plan", "--manifest", manifest).stdout
    )


def test_an_expectation_of_nobody_is_told_before_a_run(refused: Refused, saved_release: Path, tmp_path: Path) -> None:
    asked = shutil.copytree(saved_release, tmp_path / "release") / "uds.toml"
    expected = "'depth.score[npoo]' = { verdict = 'fail', reason = 'it is shallow' }"
    asked.write_text(f"{asked.read_text()}\n[expect]\n{expected}\n")
    told = refused("plan", "--gate", "--manifest", asked)
    assert "[expect] entry 'depth.score[npoo]' matches no claim: did you mean 'depth.score[npo]'" in told


def test_a_manifest_that_asks_for_nothing_is_no_gate(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "empty.toml").write_text("")
    told = refused("plan", "--gate", "--manifest", tmp_path / "empty.toml")
    assert "empty.toml: names nothing to be judged: `uds-bench init` writes a manifest to begin with" in told
