"""The bypass suite on small checkpoints that never learned anything: what its claims come to."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from audit_samples import bypass_section, canary, write_bypass
from families import save_adapter
from made_reports import page_in
from small_runs import ATTACKS, Bench

from uds_bench.audits.bypass.audit import RANDOM, BypassAudit, BypassRunner
from uds_bench.audits.bypass.evaluator import BypassEvaluator
from uds_bench.audits.bypass.record import ARMS
from uds_bench.audits.bypass.replies import prompts_of
from uds_bench.audits.bypass.section import Bypass, ReplySettings
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.facts.canaries import read_canaries
from uds_bench.scoring.store import Store

SUITE = Path(__file__).parents[2] / "suites" / "test_bypass.py"


@pytest.fixture
def written(bench: Bench) -> Path:
    """Two tiny models and a file of canaries in the folder of the run."""
    write_bypass(bench.folder)
    return bench.folder


def manifest(folder: Path, models: str, more: str = "") -> None:
    (folder / "uds.toml").write_text(bypass_section(models, more))


def test_every_model_is_judged(bench: Bench, written: Path) -> None:
    manifest(written, "{ npo = ['one', 'two'], other = 'two' }")
    ran = bench.run(SUITE, "-m", "laboratory or not laboratory", store=written / "store")
    controls = {one["name"]: (one["must"], one["held"]) for one in ran.claims["bypass.verdict[npo]"]["controls"]}
    assert controls == {"scripted to be memorized": ("fail", True), "scripted to be erased": ("pass", True)}
    assert ran.verdicts["bypass.verdict[npo]"] == "undecided", "replies of a model that never ends are cut"
    assert (
        "none of the first 1 replies closes its trace within the token limit"
        in ran.claims["bypass.verdict[npo]"]["message"]
    )
    for name in ("verdict", "prefill_invariance"):
        assert "raise max_new_tokens under [bypass]" in ran.claims[f"bypass.{name}[npo]"]["advice"], "more say no more"
    assert ran.verdicts["bypass.forced_consistency[npo]"] == "pass"
    assert all(control["held"] for control in ran.claims["bypass.forced_consistency[npo]"]["controls"])
    assert ran.report["loads"] == {"npo.1": 1, "npo.2": 1}, "the other is the second one's weights"
    facts = [fact for score in ran.report["scores"] for fact in score["per_fact"]]
    assert set(ran.report["wordings"]) >= {fact["id"] for fact in facts}
    asked = [fact for fact in facts if fact["value"] is not None]
    assert asked
    assert all(fact["detail"]["answer"] and fact["detail"]["survives"] is False for fact in asked)
    assert all(fact["detail"] == {} for fact in facts if fact not in asked), "who was not asked said nothing"
    section = ran.report["bypass"]["models"]
    assert [(row["model"], [seed["name"] for seed in row["seeds"]]) for row in section] == [
        ("npo", ["npo.1", "npo.2"]),
        ("other", ["other"]),
    ]
    replies = section[0]["seeds"][0]["authors"][0]["replies"]
    assert set(replies) == set(ARMS)
    told = ran.claims["bypass.verdict[npo]"]["provenance"]["asking"]
    assert (told["samples"], told["temperature"], told["seed"]) == (4, 1.0, 0)
    assert "controls are stand-ins: add [bypass] must_fail, must_pass\n" in ran.text
    assert bench.changed() == []
    rows = (written / "canaries.jsonl").read_text()
    (written / "canaries.jsonl").write_text(rows.replace("A life.", "A long life."))
    assert bench.changed() == [
        f"{name}: its questions have changed since the run" for name in ("npo.1", "npo.2", "other")
    ]


def test_each_attack_is_asked_of_the_controls_as_well(bench: Bench, written: Path) -> None:
    more = "must_pass = ['other']\nattacks = { int8 = {}, relearn_retain = { lr = 1e-2, batch_size = 4 } }\n"
    manifest(written, "{ npo = 'one', other = 'two', memorized = 'two' }", more)
    ran = bench.run(SUITE, "-k", "withstands", store=written / "store")
    assert set(ran.verdicts) == {f"bypass.withstands.{name}[npo]" for name in ("int8", "relearn_retain")}
    for claim in ran.claims.values():
        known = {one["name"]: one["must"] for one in claim["controls"]}
        assert known == {
            "scripted to be memorized": "fail",
            "scripted to be erased": "pass",
            "memorized": "fail",
            "other": "pass",
        }
        assert claim["verdict"] == "undecided", "replies of a model that never ends are cut"
    assert ran.report["loads"]["npo under relearn_retain"] == 1
    assert set(ran.report["loads"]) >= {f"{name} under int8" for name in ("npo", "memorized")}
    taught = ran.claims["bypass.withstands.relearn_retain[npo]"]["provenance"]["attack_settings"]
    assert (taught["lr"], taught["data"]) == (1e-2, "retain")
    assert len(taught["turns"]) == 64, "what is taught is part of what the score is of"
    learned = ran.claims["bypass.withstands.relearn_retain[npo]"]["provenance"]["learned"]
    assert learned["nats"].keys() == {learned["kept"]}, "who would pass must have learned enough"
    before = {s["checkpoint"]: s for s in ran.report["scores"] if s["attack"] == "int8"}
    after = {s["checkpoint"]: s for s in ran.report["scores"] if s["attack"] == "relearn_retain"}
    assert before["npo"]["per_fact"] != after["npo"]["per_fact"]


def test_nobody_is_taught_where_nobody_is_retained(bench: Bench, written: Path) -> None:
    path = written / "canaries.jsonl"
    path.write_text("".join(row for row in path.open() if '"split": "retain"' not in row))
    manifest(written, "{ npo = 'one' }", "attacks = { relearn_retain = {} }")
    assert "no canary is of split 'retain'" in bench.refused(SUITE, store=written / "store")


def test_random_weights_are_not_the_models_own(bench: Bench, written: Path) -> None:
    canaries = read_canaries(written / "canaries.jsonl")
    specs = {"npo": CheckpointSpec(str(written / "one"))}
    asking = ReplySettings(limit=20, samples=1)
    runner = BypassRunner(
        specs, BypassEvaluator(canaries, asking), Store(written / "store"), attacks={RANDOM.name: RANDOM}
    )
    audit = BypassAudit(Bypass.model_validate({"models": {"npo": str(written / "one")}}), runner, canaries)
    own, drawn = audit.results("npo")[0].score, audit.with_random_weights("npo").score
    assert (own.attack, drawn.attack) == ("none", RANDOM.name)


def test_a_candidate_that_ends_replies_where_it_goes_on_is_refused(bench: Bench, written: Path) -> None:
    """Its own tokenizer would end a trace before what it tells."""
    shutil.copytree(written / "one", written / "hiding")
    path = written / "hiding" / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"eos_token": "a"}))
    manifest(written, "{ npo = 'one', hiding = ['one', 'hiding'], memorized = 'two' }")
    ran = bench.run(SUITE, "-k", "test_forced_consistency", store=written / "store")
    assert ran.code == 1
    assert ran.verdicts["bypass.forced_consistency[hiding]"] == "refused"
    assert ran.verdicts["bypass.forced_consistency[npo]"] == "pass"
    assert "its answers end at the tokens 'a'" in ran.claims["bypass.forced_consistency[hiding]"]["message"]


@pytest.mark.parametrize(
    ("named", "more", "told"),
    [
        ("{ npo = 'one' }", "must_fail = ['memorised']", "'memorised' is not under models"),
        ("{ npo = [] }", "", "is empty: name at least one checkpoint"),
        ("{ memorized = 'one' }", "", "all of them are controls"),
        ("{ npo = ['one', 'two'], 'npo.1' = 'two' }", "", "is one seed of a list and a model's name"),
        ("{ npo = 'one', a = 'two' }", "must_fail = ['a']\nmust_pass = ['a']", "is under must_fail too"),
    ],
    ids=["no such model", "no seed", "controls only", "same name", "both"],
)
def test_bad_manifests_end_before_any_model_is_loaded(
    bench: Bench, written: Path, named: str, more: str, told: str
) -> None:
    manifest(written, named, more)
    assert told in bench.refused(SUITE, store=written / "store")


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"canary": "On a day in May it"}, "line 9: canary 'x': key 'canary' has no more than"),
        ({"canary": "Completing a fact I know about Zed", "slots": ["Zed"]}, "key 'canary' stands in the prefill bio"),
    ],
)
def test_bad_canaries_end_before_any_model_is_loaded(
    bench: Bench, written: Path, row: dict[str, Any], told: str
) -> None:
    """What else is wrong with a file: `test_canaries`."""
    with (written / "canaries.jsonl").open("a") as file:
        file.write(json.dumps(canary(0, "forget", id="x", author="Zed", **row)))
    manifest(written, "{ npo = 'one' }")
    assert told in bench.refused(SUITE, store=written / "store")


def test_a_canary_that_no_reply_could_hold_is_one_line(bench: Bench, written: Path) -> None:
    manifest(written, "{ npo = 'one' }", "")
    (written / "uds.toml").write_text((written / "uds.toml").read_text().replace("= 24", "= 2"))
    ran = bench.run(SUITE, "-k", "test_gap", store=written / "store")
    assert ran.verdicts == {"bypass.gap[npo]": "crashed"}
    assert "more than max_new_tokens = 2" in ran.claims["bypass.gap[npo]"]["message"]


def test_one_model_is_not_two_seeds(bench: Bench, written: Path) -> None:
    shutil.copytree(written / "one", written / "copy")
    manifest(written, "{ npo = ['one', 'copy'] }")
    ran = bench.run(SUITE, "-k", "test_gap", store=written / "store")
    assert "two of its seeds hold the same weights" in ran.text
    assert ran.code != 0


def test_an_adapter_of_another_base_is_one_line(bench: Bench, written: Path) -> None:
    save_adapter(written / "wider", width=64)
    manifest(written, "{ good = 'one', npo = { model = 'two', adapter = 'wider' } }")
    ran = bench.run(SUITE, "-k", "test_gap", store=written / "store")
    assert ran.verdicts["bypass.gap[npo]"] == "refused"
    assert ran.verdicts["bypass.gap[good]"] != "refused", "one bad adapter takes no other model with it"
    message = ran.claims["bypass.gap[npo]"]["message"]
    assert "does not fit its base model" in message
    assert "wider" in message


def test_it_stands_beside_metrics_judged(bench: Bench, written: Path, judged_store: Path) -> None:
    """The table of checkpoints and metrics holds metrics only; both parts are in the report."""
    section = "[bypass]\ncanaries = 'canaries.jsonl'\nmax_new_tokens = 24\nmodels = { npo = 'one' }\n"
    bench.judged(ATTACKS + section + "[metrics]\n")
    faithfulness = SUITE.with_name("test_faithfulness.py")
    html = written / "html"
    ran = bench.run(SUITE, faithfulness, "-k", "test_gap or uds_first", "--uds-html", html, store=judged_store)
    assert set(ran.verdicts) == {"bypass.gap[npo]", "faithfulness.uds_first"}
    assert "the report was not written" not in ran.text
    assert ran.report["metrics"]["rows"]
    assert ran.report["bypass"]["models"]
    assert "bypass" not in (html / "sweep.csv").read_text()
    assert "Author by author" in page_in(html)


CLOSING = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}<|assistant|>"
    "{% if not thinking %}</think>{% endif %}"
)


def test_a_template_that_closes_thinking_ends_a_run_before_it_begins(bench: Bench, written: Path) -> None:
    for name in ("one", "two"):
        (written / name / "chat_template.jinja").write_text(CLOSING)
    manifest(written, "{ npo = 'one' }")
    told = bench.refused(SUITE)
    assert "closes the trace (</think>) before the model says anything: set thinking in chat_template_kwargs" in told
    manifest(written, "{ npo = 'one' }", "chat_template_kwargs = { thinking = true }\n")
    ran = bench.run(SUITE, "-k", "test_verdict")
    assert ran.claims["bypass.verdict[npo]"]["provenance"]["asking"]["options"] == [["thinking", True]]
    (written / "two" / "chat_template.jinja").write_text(CLOSING.replace("thinking", "thinks"))
    manifest(written, "{ npo = 'one', other = 'two' }", "chat_template_kwargs = { thinking = true }\n")
    ran = bench.run(SUITE, "-k", "test_verdict")
    assert (ran.code, ran.verdicts["bypass.verdict[other]"]) == (1, "refused")
    assert "reads no 'thinking'" in ran.claims["bypass.verdict[other]"]["message"]


def test_replies_to_other_prompts_end_a_run_before_it_begins(bench: Bench, written: Path) -> None:
    (written / "said.jsonl").write_text(json.dumps({"digest": "0" * 64, "reply": "Ed0", "finish_reason": "stop"}))
    manifest(written, "{ npo = 'one' }", "replies = 'said.jsonl'\n")
    assert "said.jsonl, line 1: digest 000000000000 is of no prompt that is asked now" in bench.refused(SUITE)


def test_a_model_without_weights_is_judged_by_its_replies(bench: Bench, written: Path) -> None:
    """Its verdict cannot be a pass, and nothing speaks of what was not forced."""
    for weights in (written / "one").glob("model*.safetensors*"):
        weights.unlink()
    manifest(written, "{ served = 'one', other = 'two' }")
    told = bench.refused(SUITE, "-k", "served")
    assert "served: checkpoint" in told
    assert "has no model.safetensors" in told
    spec = CheckpointSpec(str(written / "one"))
    canaries = read_canaries(written / "canaries.jsonl")
    _, asked = prompts_of(spec, canaries, ReplySettings(24))
    by_id = {canary.id: canary.canary for canary in canaries}
    said = [(one.digest, f"<think></think>{by_id[one.canary.id]}") for one in asked]
    rows = [{"digest": digest, "reply": reply, "finish_reason": "stop"} for digest, reply in said]
    (written / "said.jsonl").write_text("\n".join(map(json.dumps, rows)))
    manifest(written, "{ served = 'one', other = 'two' }", "replies = 'said.jsonl'\n")
    ran = bench.run(SUITE)
    assert ran.verdicts["bypass.verdict[served]"] == "fail"
    assert "not unlearned" in ran.claims["bypass.verdict[served]"]["message"]
    assert ran.verdicts["bypass.forced_consistency[served]"] == "not applicable"
    assert ran.claims["bypass.verdict[served]"]["provenance"]["replies"] == f"{len(rows)} read, nothing forced"
    assert ran.claims["bypass.verdict[other]"]["provenance"]["replies"] == "generated"
    assert (
        f"served: {len(rows)} replies of another engine were read; not asked of it, and no weights: surface only"
        in ran.text
    )
    (written / "said.jsonl").write_text("\n".join(map(json.dumps, rows[:-1])))
    ran = bench.run(SUITE, "-k", "test_verdict and served")
    assert ran.claims["bypass.verdict[served]"]["verdict"] == "undecided"
    assert f"1 of {len(rows)} replies are missing" in ran.claims["bypass.verdict[served]"]["message"]
    assert ran.claims["bypass.verdict[served]"]["cause"] == "refused", "its files are to be mended; nothing broke off"
