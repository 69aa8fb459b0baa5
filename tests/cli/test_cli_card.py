"""`uds-bench card` and `verify`: what a card says, whom it names, and what it notices."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from commands import Command, Refused, edited
from made_reports import claim, run_of

from uds_bench.audits import registry
from uds_bench.audits.manifests import load_manifest
from uds_bench.cards.card import cards
from uds_bench.checkpoints import digests, reading
from uds_bench.claims.record import ClaimRecord
from uds_bench.errors import ConfigurationError
from uds_bench.facts import load_facts
from uds_bench.retrieval.encoder import Encoder
from uds_bench.trials import check

BYPASS = Path(__file__).parents[2] / "suites" / "test_bypass.py"


def test_a_card_is_an_in_toto_statement_of_every_file_of_the_candidate(card: Path, release: Path) -> None:
    statement = json.loads(card.read_text())
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    files = {f"npo/{file.name}" for file in (release / "runs" / "npo").iterdir()}
    assert {one["name"] for one in statement["subject"]} == files
    assert all(len(one["digest"]["sha256"]) == 64 for one in statement["subject"])
    predicate = statement["predicate"]
    assert predicate["result"] == "FAILED"
    assert "depth.score[npo]" in predicate["failedTests"], "undecided counts as failed"
    assert [one["name"] for one in predicate["configuration"]] == ["run.json"]


def test_a_card_names_nobody(card: Path, release: Path, judged: Path) -> None:
    """Nor does it confirm a guess: what is a plain digest of facts is in the run report alone."""
    files = [file for file in sorted(card.parent.rglob("*")) if file.is_file()]
    names = ["card.json", "card.md", "cyclonedx.json", "eval_results/uds_bench.yaml", "every_eval_ever.json"]
    assert [file.relative_to(card.parent).as_posix() for file in files] == names
    text = "".join(file.read_text() for file in files)
    digests = [one["provenance"].get(key, "none") for one in cards_of(judged) for key in ("facts", "cell", "rendered")]
    assert any(len(digest) == 64 for digest in digests)
    assert [digest for digest in digests if digest in text] == []
    facts = load_facts(release / "facts.jsonl")
    told = [part for fact in facts for part in (fact.question, fact.answer, fact.entity, fact.id, fact.cluster)]
    assert told
    assert [part for part in told if part in text] == []


def cards_of(report: Path) -> list[Any]:
    claims: list[Any] = json.loads(report.read_text())["claims"]
    return claims


def test_the_page_is_one_screen_and_says_what_was_not_tested(card: Path) -> None:
    page = card.with_name("card.md").read_text()
    assert page.startswith("# npo: FAILED\n")
    assert len(page.splitlines()) < 40
    assert "Not tested: the association audit; the bypass audit; the lmlm audit; the localization audit" in page
    assert "pytest suites/ --uds-manifest uds.toml" in page


def test_an_untouched_card_holds(command: Command, card: Path, judged: Path, scored: Path) -> None:
    assert command("verify", card, judged).stdout == "holds: npo, FAILED\n"
    assert command("verify", card, judged, "--store", scored / "store").stdout == "holds: npo, FAILED\n"


def called_green(card: Any) -> None:
    card["predicate"] |= {"result": "PASSED", "failedTests": []}


def better_number(card: Any) -> None:
    card["predicate"]["configuration"][0]["annotations"]["claims"][0]["observed"] = 0.99


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (called_green, "result: the card says PASSED, the run FAILED"),
        (better_number, "the card's numbers are not those of the run: depth."),
        (lambda card: card["subject"].pop(), "is not on the card"),
        (lambda card: card["subject"][0]["digest"].update(sha256="0" * 64), "is another file than the card's"),
    ],
)
def test_an_edited_card_is_noticed(
    command: Command, card: Path, judged: Path, change: Callable[[Any], None], told: str
) -> None:
    edited(card, change)
    assert told in command("verify", card, judged, exit=1).stdout


def test_an_edited_run_is_noticed(command: Command, card: Path, judged: Path, scored: Path) -> None:
    def pass_all(report: Any) -> None:
        for one in report["claims"]:
            one.update(verdict="pass", cause=None, outcome="pass")
        report["scores"][0]["value"] = 0.99

    edited(judged, pass_all)
    told = command("verify", card, judged, "--store", scored / "store", exit=1).stdout
    assert "input run.json is another file than the card's" in told
    assert "is another than the stored one" in told
    assert "depth.score[npo]: passes with" in told


def test_a_run_that_contradicts_itself_gets_no_card(command: Command, judged: Path, release: Path) -> None:
    """A pass whose interval misses its bound was PASSED on the card, and `verify` alone said so."""

    def pass_it(report: Any) -> None:
        (score,) = (one for one in report["claims"] if one["name"] == "depth.spared[npo]")
        score.update(verdict="pass", observed=0.2, cause=None)
        score["interval"].update(low=0.1, high=0.3)

    edited(judged, pass_it)
    shown = command("card", judged, "--out", release / "cards", exit=1)
    assert "no card: depth.spared[npo] passes with 0.100 to 0.300, which misses >= 0.5" in shown.stderr
    assert not (release / "cards").exists()


def test_waivers_alone_decide_nothing_anew(refused: Refused, card: Path, judged: Path) -> None:
    assert "--waivers: claims are decided anew by it" in refused("verify", card, judged, "--waivers", "nowhere.toml")


def test_a_consistent_lie_is_told_by_deciding_anew(command: Command, judged: Path, release: Path, scored: Path) -> None:
    """One claim is raised with its interval, one is left out, and every count agrees."""
    again = ("--store", scored / "store", "--again")
    command("card", judged, "--out", release / "cards")
    card = release / "cards" / "npo" / "card.json"

    def lie(report: Any) -> None:
        report["claims"] = [one for one in report["claims"] if one["name"] != "depth.hidden[npo]"]
        (score,) = (one for one in report["claims"] if one["name"] == "depth.spared[npo]")
        score["observed"] = 0.99
        (other,) = (one for one in report["claims"] if one["name"] == "depth.score[npo]")
        other["provenance"]["quantization"] = "nf4"
        report["summary"]["planned"] -= 1

    edited(judged, lie)
    command("card", judged, "--out", release / "cards")
    assert command("verify", card, judged).exit_code == 0, "no file says otherwise"
    told = command("verify", card, judged, *again, exit=1).stdout
    assert "depth.spared[npo]: observed not as decided now" in told
    assert "depth.score[npo]: quantization not as decided now" in told
    assert "depth.hidden[npo]: the run lacks it" in told


def test_what_is_decided_anew_reads_no_cache_of_the_user(
    command: Command, card: Path, judged: Path, scored: Path, private_cache: Path
) -> None:
    """Whoever writes there writes vectors, digests and models that a claim stands on."""
    before = {path for path in private_cache.rglob("*") if path.is_file()}
    told = command("verify", card, judged, "--store", scored / "store", "--again")
    assert told.stdout == "holds: npo, FAILED\n"
    assert {path for path in private_cache.rglob("*") if path.is_file()} == before
    assert not list((scored / "store" / "cache").glob("digests/*")), "nor are digests kept for a later one"


@pytest.mark.parametrize("device", ["-pthis", "-c/evil.ini", "cuda:x", "cpu\n", "auto", "", None])
def test_a_run_on_no_device_is_decided_by_no_other_command(
    command: Command, refused: Refused, card: Path, judged: Path, device: str | None
) -> None:
    """Its word was one of the command that decides anew."""

    def put(report: Any) -> None:
        report["environment"].pop("device")
        report["environment"] |= {} if device is None else {"device": device}

    edited(judged, put)
    told = f"environment.device: {device!r} is no device"
    assert told in command("verify", card, judged, "--again", exit=1).stdout
    assert told in refused("card", judged, "--out", judged.parent / "again")


def test_what_is_decided_anew_is_told_nothing_but_values_of_our_options(
    command: Command, card: Path, judged: Path, scored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []

    def seen(*options: Any) -> Any:
        given.extend(options)
        raise ConfigurationError("enough")

    monkeypatch.setattr(check, "judged", seen)
    assert "enough" in command("verify", card, judged, "--store", scored / "store", "--again", exit=1).stdout
    assert [option.partition("=")[0] for option in given[0]] == ["--uds-manifest", "--uds-device", "--uds-store"]
    assert given[-1] == ["test_depth.py"]
    given.clear()
    edited(judged, lambda report: [one.update(node="x/..::t") for one in report["claims"]])
    told = command("verify", card, judged, "--store", scored / "store", "--again", exit=1).stdout
    assert "no claim of the run is of a file of `suites/`" in told
    assert given == []


def test_a_pass_or_a_score_of_no_files_is_told(command: Command, card: Path, judged: Path) -> None:
    def cut(report: Any) -> None:
        (one,) = (one for one in report["claims"] if one["name"] == "depth.spared[npo]")
        one.update(verdict="pass", cause=None)
        one["provenance"].pop("checkpoint")
        (score,) = (one for one in report["scores"] if (one["checkpoint"], one["metric"]) == ("npo", "uds"))
        report["scores"].append({**score, "attack": "nf4", "provenance": {"device": "cpu"}})

    edited(judged, cut)
    told = command("verify", card, judged, exit=1).stdout
    assert "depth.spared[npo]: passes and has no provenance.checkpoint" in told
    assert "npo: its files have changed since the run" in told


def test_a_score_that_was_measured_on_no_device_is_told(command: Command, card: Path, judged: Path) -> None:
    edited(judged, lambda report: [one["provenance"].update(device="-pthis") for one in report["scores"]])
    assert "npo: uds was measured on no device" in command("verify", card, judged, exit=1).stdout


def test_a_card_and_whether_it_holds_go_by_no_digest_that_was_kept(
    command: Command, judged: Path, scored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights can change while the times of their file do not; and they are read once."""
    monkeypatch.setattr(digests, "remembered", None)
    opened: list[Path] = []
    own = reading._read
    monkeypatch.setattr(reading, "_read", lambda path: opened.append(path) or own(path))
    command("card", judged, "--out", judged.parent / "cards")
    card = judged.parent / "cards" / "npo" / "card.json"
    assert command("verify", card, judged, "--store", scored / "store").stdout == "holds: npo, FAILED\n"
    assert sorted(opened) == sorted(2 * sorted(dict.fromkeys(opened)))


def said_twice(statement: Any) -> None:
    statement["subject"].insert(0, statement["subject"][0] | {"digest": {"sha256": "0" * 64}})


LIES = {
    "another file": said_twice,
    "another digest": lambda statement: statement["subject"][0]["digest"].update(sha512="0"),
    "nothing untested": lambda statement: annotations(statement).update(untested=[]),
    "another dtype": lambda statement: annotations(statement).update(loaded=["float32 of somebody"]),
    "more": lambda statement: statement["predicate"].update(approved=True),
}


def annotations(statement: Any) -> Any:
    return statement["predicate"]["configuration"][0]["annotations"]


@pytest.mark.parametrize("lie", LIES)
def test_all_that_a_card_says_is_compared(command: Command, card: Path, judged: Path, lie: str) -> None:
    edited(card, LIES[lie])
    told = command("verify", card, judged, exit=1).stdout
    assert "the card says" in told


def test_claims_that_a_run_did_not_decide_stand_on_the_card(command: Command, judged: Path, release: Path) -> None:
    """Whoever cuts a file's claims from a report, all of them, leaves a run that looks whole."""

    def cut(report: Any) -> None:
        report["claims"] = [one for one in report["claims"] if one["id"] != "depth.hidden"]

    edited(judged, cut)
    command("card", judged, "--out", release / "cards")
    assert "depth.hidden: not decided" in (release / "cards" / "npo" / "card.md").read_text()


def test_results_hidden_in_another_file_are_no_results(command: Command, card: Path, judged: Path) -> None:
    file = card.with_name("cyclonedx.json")
    genuine = json.loads(file.read_text())
    file.write_text(json.dumps({"result": "PASSED", "evaluation_results": genuine}))
    assert f"{file} is not what" in command("verify", card, judged, exit=1).stdout


@pytest.mark.parametrize("name", ["card.md", "cyclonedx.json", "every_eval_ever.json"])
def test_what_stands_beside_a_card_says_the_same(command: Command, card: Path, judged: Path, name: str) -> None:
    file = card.with_name(name)
    file.write_text(
        file.read_text().replace('"evaluator_relationship": "other"', '"evaluator_relationship": "third_party"')
    )
    assert command("verify", card, judged).exit_code == 0, "who ran it is filled in by whoever hands it in"
    file.write_text(file.read_text().replace("FAILED", "PASSED"))
    assert f"{file} is not what `uds-bench card` writes of this run" in command("verify", card, judged, exit=1).stdout


@pytest.mark.parametrize("name", ["card.json", "run.json", "cyclonedx.json", "every_eval_ever.json"])
def test_a_key_that_stands_twice_is_no_document(
    command: Command, refused: Refused, card: Path, judged: Path, name: str
) -> None:
    """Here the last one counts, elsewhere the first."""
    file = judged if name == "run.json" else card.with_name(name)
    text = file.read_text()
    key = next(iter(json.loads(text)))
    file.write_text(text.replace("{", f'{{"{key}": "PASSED", ', 1))
    assert json.loads(file.read_text()) == json.loads(text)
    if name in ("card.json", "run.json"):
        assert f"the key '{key}' stands twice" in refused("verify", card, judged)
    else:
        assert f"{file} is not what" in command("verify", card, judged, exit=1).stdout
    if name == "run.json":
        assert f"the key '{key}' stands twice" in refused("card", judged, "--out", judged.parent / "again")


@pytest.mark.parametrize(("said", "lie"), [("card FAILED", "card PASSED"), ("value: ", "value: 0.99 #")])
def test_the_rows_for_the_hub_say_the_same(command: Command, card: Path, judged: Path, said: str, lie: str) -> None:
    file = card.parent / "eval_results" / "uds_bench.yaml"
    rows = file.read_text()
    assert said in rows
    file.write_text(rows.replace("owner/name", "another/dataset"))
    assert command("verify", card, judged).exit_code == 0, "whoever releases it names the dataset"
    file.write_text(rows.replace(said, lie))
    assert f"{file} is not what `uds-bench card` writes of this run" in command("verify", card, judged, exit=1).stdout


PASSES = claim("depth.score[npo]")


@pytest.mark.parametrize(
    ("claims", "result"),
    [
        ([PASSES], "PASSED"),
        ([PASSES, claim("depth.hidden[npo]", "waived")], "WARNED"),
        ([PASSES, claim("depth.hidden[npo]", "declared")], "WARNED"),
        ([claim("depth.score[npo]", "waived"), claim("depth.hidden[npo]", "declared")], "FAILED"),
        ([claim("depth.score[npo]", "declared"), claim("depth.self_patch")], "FAILED"),
        ([PASSES, claim("depth.hidden[npo]", "not applicable")], "PASSED"),
        ([PASSES, claim("depth.hidden[npo]", "undecided")], "FAILED"),
        ([PASSES, claim("depth.self_patch", "fail")], "FAILED"),
        ([PASSES, claim("bypass.weights_decide", "fail")], "PASSED"),
        ([claim("depth.score[npo]", "not applicable"), claim("depth.self_patch")], "FAILED"),
        ([claim("depth.basis[npo]", kind="identity"), claim("depth.score[npo]", "waived")], "FAILED"),
    ],
)
def test_the_result_is_the_worst_of_the_candidate_and_of_what_it_rests_on(
    claims: list[ClaimRecord], result: str
) -> None:
    (made,) = cards(run_of(*claims))
    assert made.result == result


def test_a_run_that_is_red_otherwise_passes_nobody() -> None:
    run = run_of(PASSES)
    summary = run.summary.model_copy(update={"problems": ["2 claims were planned and 1 accounted for"]})
    (made,) = cards(run.model_copy(update={"summary": summary}))
    assert made.result == "FAILED"


def test_an_encoder_of_one_s_own_stands_on_the_card(tmp_path: Path) -> None:
    """One that holds equal texts alike, and no others, finds nothing after any deletion."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "vocab.txt").write_text("word")
    lines = {}
    for name, own in (("default", ""), ("own", "retriever = { model = 'mine' }\n")):
        (tmp_path / "uds.toml").write_text("[lmlm]\nmodels = { lmlm = 'zoo:lmlm' }\n" + own)
        session: Any = SimpleNamespace(manifest=load_manifest(tmp_path / "uds.toml"), device="cpu")
        lines[name] = registry.audits()["lmlm"].notes(session)
    digest = Encoder(str(tmp_path / "mine")).digest
    assert lines["default"] == []
    assert lines["own"] == [f"set otherwise than by default: lmlm.retriever.model = another encoder (sha256 {digest})"]
    run = run_of(claim("lmlm.leakage[lmlm]"))
    run = run.model_copy(update={"summary": run.summary.model_copy(update={"notes": lines["own"]})})
    (made,) = cards(run)
    assert lines["own"][0] in made.untested


def test_free_text_of_a_run_is_on_no_card(command: Command, judged: Path, release: Path) -> None:
    """Messages, reasons and problems may name anybody: whatever stands in one is on none of the files."""

    def name_somebody(report: Any) -> None:
        for one in report["claims"]:
            one["message"] = one["node"] = one["reproduce"] = "Zyxwina Quorl"
            one["waiver"] = one["expected"] = {"reason": "Zyxwina Quorl"}
            for control in one["controls"]:
                control.update(name="Zyxwina Quorl", why="Zyxwina Quorl")
        report["summary"].update(problems=["Zyxwina Quorl"], notes=["Zyxwina Quorl"])

    edited(judged, name_somebody)
    command("card", judged, "--out", release / "cards", "--benchmark", "owner/name")
    files = [file for file in (release / "cards").rglob("*") if file.is_file()]
    assert len(files) == 5
    assert [file.name for file in files if "Quorl" in file.read_text()] == []


def test_a_benchmark_that_the_hub_cannot_have_is_one_line(refused: Refused, judged: Path, release: Path) -> None:
    told = refused("card", judged, "--out", release / "cards", "--benchmark", "tofu")
    assert "--benchmark: 'tofu' is no dataset of the hub: give owner/name" in told
    assert not (release / "cards").exists()
