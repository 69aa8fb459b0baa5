"""What gets no card: files that were not judged, runs that were not whole, and what is no run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from audit_samples import bypass_section, write_bypass
from commands import Command, Refused, edited
from small_runs import Bench

BYPASS = Path(__file__).parents[2] / "suites" / "test_bypass.py"


def test_a_file_in_a_folder_of_the_candidate_counts(command: Command, card: Path, judged: Path, release: Path) -> None:
    """Such as a template that is used as soon as somebody names tools."""
    template = release / "runs" / "npo" / "additional_chat_templates" / "tool_use.jinja"
    template.parent.mkdir()
    template.write_text("{{ messages[0].content }}")
    assert "npo: its files have changed since the run" in command("verify", card, judged, exit=1).stdout
    template.rename(template.parent / "tool_use.txt")
    told = command("verify", card, judged, exit=1).stdout
    assert "model file npo/additional_chat_templates/tool_use.txt is not on the card" in told


@pytest.mark.parametrize("name", ["model.fp16.safetensors", "pytorch_model.bin", "ft/model.safetensors"])
def test_weights_beside_those_that_were_judged_stand_on_no_card(
    command: Command, judged: Path, release: Path, name: str
) -> None:
    """Whoever loads them would find their digest on a card of other weights."""
    beside = release / "runs" / "npo" / name
    beside.parent.mkdir(exist_ok=True)
    shutil.copy(next((release / "runs" / "full").glob("*.safetensors")), beside)
    command("card", judged, "--out", release / "cards")
    told = (release / "cards" / "npo" / "card.json").read_text()
    assert '"npo/model' in told
    assert name not in told


def test_weights_that_were_not_judged_get_no_card(command: Command, card: Path, judged: Path, release: Path) -> None:
    shutil.copytree(release / "runs" / "full", release / "runs" / "npo", dirs_exist_ok=True)
    told = command("verify", card, judged, exit=1).stdout
    assert "npo: its files have changed since depth.score[npo] was decided" in told
    shown = command("card", judged, "--out", release / "cards", exit=1)
    assert "no card: npo: its files have changed since depth.score[npo] was decided" in shown.stderr


def reworded(file: Path) -> None:
    file.write_text(file.read_text().replace("A life.", "A long life."))


@pytest.mark.parametrize(
    ("exchange", "told"),
    [
        (lambda folder: shutil.copytree(folder / "one", folder / "two", dirs_exist_ok=True), "npo.2: its files have"),
        (lambda folder: reworded(folder / "canaries.jsonl"), "npo.1: its questions have"),
    ],
    ids=["the second seed", "canaries"],
)
def test_of_all_seeds_and_questions_a_card_is_of_those_that_were_judged(
    command: Command, bench: Bench, exchange: Callable[[Path], object], told: str
) -> None:
    """Claims name the first seed's files alone, and no canaries."""
    write_bypass(bench.folder)
    (bench.folder / "uds.toml").write_text(bypass_section("{ npo = ['one', 'two'] }"))
    bench.run(BYPASS, store=bench.folder / "store")
    run, cards = bench.folder / "report.json", bench.folder / "cards"
    command("card", run, "--out", cards)
    shutil.rmtree(cards)
    exchange(bench.folder)
    shown = command("card", run, "--out", cards, exit=1)
    assert f"no card: {told} changed since the run: run `pytest suites/` again" in shown.stderr
    assert not cards.exists()


@pytest.mark.parametrize(("what", "told"), [("retain", "retain: its files and references"), ("facts", "questions")])
def test_what_a_verdict_rests_on_must_be_as_it_was(
    command: Command, refused: Refused, card: Path, judged: Path, release: Path, what: str, told: str
) -> None:
    if what == "retain":
        shutil.copytree(release / "runs" / "full", release / "runs" / "retain", dirs_exist_ok=True)
    else:
        facts = release / "facts.jsonl"
        facts.write_text(facts.read_text().replace("Where was", "In which town was"))
    lines = command("verify", card, judged, exit=1).stdout
    assert told in lines
    assert "changed since the run" in lines
    assert "changed since the run" in refused("card", judged, "--out", release / "again")


def test_what_is_no_card_run_or_manifest_is_one_line(
    command: Command, refused: Refused, card: Path, judged: Path, release: Path
) -> None:
    assert "is no release card" in refused("verify", judged, judged)
    manifest = release / "uds.toml"
    manifest.write_text(manifest.read_text().replace("npo = ", "other = "))
    assert "has changed since the run" in command("verify", card, judged, exit=1).stdout
    manifest.unlink()
    assert "is not there" in refused("card", judged, "--out", release / "cards")
    edited(judged, lambda report: [one.update(subject=None) for one in report["claims"]])
    assert "no claim of this run speaks of a candidate" in refused("card", judged, "--out", release / "cards")


def test_a_candidate_that_cannot_be_read_costs_no_other_its_card(command: Command, judged: Path, release: Path) -> None:
    weights = next((release / "runs" / "npo").glob("*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:100])
    shown = command("card", judged, "--out", release / "cards", exit=1)
    assert shown.stderr.startswith("uds-bench: no card: ")
    assert "truncated" in shown.stderr
    assert not (release / "cards").exists()


def test_a_run_from_which_claims_were_left_out_gets_no_card(refused: Refused, judged: Path, release: Path) -> None:
    """Else whoever names the one claim that passes holds a card that says PASSED."""
    edited(judged, lambda report: report["summary"].update(whole=False))
    assert "claims were left out of this run" in refused("card", judged, "--out", release / "cards")
