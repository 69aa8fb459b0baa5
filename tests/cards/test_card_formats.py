"""The formats of a card, each held against its own schema or reader."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sigstore.errors
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from google.protobuf.json_format import Parse
from huggingface_hub import eval_result_entries_to_yaml, parse_eval_result_entries
from in_toto_attestation.predicates.test_result.v0 import test_result_pb2
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1.statement_pb2 import Statement as StatementPb
from jsonschema import Draft7Validator
from made_reports import claim, run_of
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import CryptoSigner
from sigstore.dsse import Statement as Signed

from uds_bench.audits import registry
from uds_bench.cards.card import Card, cards
from uds_bench.cards.cyclonedx import cyclonedx
from uds_bench.cards.eval_results import eval_results
from uds_bench.cards.every_eval_ever import every_eval
from uds_bench.cards.markdown import page
from uds_bench.cards.statement import statement
from uds_bench.cards.verify import contradicted
from uds_bench.claims.record import Bound, ClaimRecord
from uds_bench.claims.run_report import CLUSTERS, RunReport
from uds_bench.errors import ConfigurationError
from uds_bench.scores import FactScore, Score
from uds_bench.statistics import Interval
from uds_bench.verdicts import Verdict

FILES = {"npo/model.safetensors": "ab" * 32}
RANGE = Interval(0.8, 0.95, "bootstrap", 15)
SCORE = {"observed": 0.9, "interval": RANGE, "unit": "authors", "bound": Bound(">=", 0.7), "statement": "It is erased."}
RUN = run_of(
    claim("depth.score[npo]", **SCORE),
    claim("depth.spared[npo]", "fail", observed=-0.2, bound=Bound("", 0.1), kind="equivalence"),
    claim("depth.hidden[npo]", "not applicable", observed=0.1),
    claim("bypass.verdict[npo]", "undecided", cause="too few units"),
    claim("depth.self_patch", observed=0.0, bound=Bound("==", 0.0), kind="identity"),
)
SCHEMA = json.loads((Path(__file__).parent / "schemas" / "every_eval_ever-0.3.0.json").read_text())


def card_of(run: RunReport) -> Card:
    (made,) = cards(run)
    return made


@pytest.mark.parametrize(
    "run", [RUN, run_of(claim("depth.score[npo]")), run_of(claim("a.b[npo]", observed=1, interval=RANGE))]
)
def test_every_format_is_valid_by_its_own_schema(run: RunReport) -> None:
    card = card_of(run)
    bom = json.dumps(cyclonedx(card, run, FILES))
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bom) is None
    assert list(Draft7Validator(SCHEMA).iter_errors(every_eval(card, run, FILES))) == []
    signed = statement(card, run, FILES, ("run.json", "cd" * 32))
    Statement.copy_from_pb(Parse(json.dumps(signed), StatementPb())).validate()
    Parse(json.dumps(signed["predicate"]), test_result_pb2.TestResult())
    rows = eval_results(card, run, "owner/name")
    assert eval_result_entries_to_yaml(parse_eval_result_entries(rows)) == rows


def test_sigstore_reads_the_statement_and_what_is_signed_cannot_be_changed() -> None:
    """With a key made here: that of an identity takes sigstore's servers."""
    signed = json.dumps(statement(card_of(RUN), RUN, FILES, ("run.json", "cd" * 32))).encode()
    Signed(signed)
    with pytest.raises(sigstore.errors.Error, match="malformed"):
        Signed(signed.replace(b'"sha256"', b'"md5"'))
    key = CryptoSigner.generate_ecdsa()
    envelope = Envelope(signed, "application/vnd.in-toto+json", {})
    envelope.sign(key)
    kept = json.dumps(envelope.to_dict())
    assert list(Envelope.from_dict(json.loads(kept)).verify([key.public_key], 1).values()) == [key.public_key]
    changed = json.loads(kept) | {"payload": base64.b64encode(signed.replace(b"ab", b"cd")).decode()}
    with pytest.raises(VerificationError):
        Envelope.from_dict(changed).verify([key.public_key], 1)


def damaged_bom(bom: Any) -> None:
    bom["components"][0]["modelCard"]["quantitativeAnalysis"]["performanceMetrics"][0]["value"] = 0.9


def test_the_schemas_refuse_what_is_none() -> None:
    bom, record = cyclonedx(card_of(RUN), RUN, FILES), every_eval(card_of(RUN), RUN, FILES)
    damaged_bom(bom)
    record["model_info"].pop("id")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bom)) is not None
    assert [error.message for error in Draft7Validator(SCHEMA).iter_errors(record)] == ["'id' is a required property"]


def test_a_model_card_has_the_numbers_and_what_they_came_to() -> None:
    (model,) = cyclonedx(card_of(RUN), RUN, FILES)["components"]
    assert model["components"][0]["hashes"] == [{"alg": "SHA-256", "content": "ab" * 32}]
    first, second = model["modelCard"]["quantitativeAnalysis"]["performanceMetrics"]
    assert first == {
        "type": "depth.score",
        "value": "0.9",
        "slice": "15 authors",
        "confidenceInterval": {"lowerBound": "0.8", "upperBound": "0.95"},
    }
    assert second == {"type": "depth.spared", "value": "-0.2"}
    said = {one["name"].partition(":")[2]: one["value"] for one in model["modelCard"]["properties"]}
    assert said["result"] == "FAILED"
    assert said["meaning"] == "evidence of an evaluation, not of compliance with any law"
    assert said["claim:depth.spared[npo]"] == "fail, needs within ±0.1 of 0"
    assert said["claim:bypass.verdict[npo]"] == "undecided (too few units)"
    assert said["claim:depth.self_patch"] == "pass, needs exactly equal"


def test_rows_of_the_hub_say_what_the_value_came_to() -> None:
    first, second = eval_results(card_of(RUN), RUN, "owner/name")
    assert first["dataset"] == {"id": "owner/name", "task_id": "depth.score"}
    assert first["value"] == 0.9
    assert first["notes"].startswith("pass, needs >= 0.7; 95% interval 0.800 to 0.950 over 15 authors; card FAILED; ")
    assert second["notes"].startswith("fail, needs within ±0.1 of 0; card FAILED; ")


def test_a_record_counts_what_does_not_hold_and_ranks_nothing_that_has_no_better() -> None:
    whole, score = every_eval(card_of(RUN), RUN, FILES)["evaluation_results"]
    details = whole["score_details"]["details"]
    assert whole["score_details"]["score"] == 2
    assert details == {"result": "FAILED", "failed": "depth.spared[npo] bypass.verdict[npo]", "problems": "0"}
    assert score["metric_config"] == {"evaluation_description": "It is erased.", "lower_is_better": False}
    assert score["score_details"]["uncertainty"]["confidence_interval"]["lower"] == 0.8


def test_a_run_without_a_time_is_one_line() -> None:
    with pytest.raises(ConfigurationError, match="'today' is no time"):
        cards(run_of(claim("depth.score[npo]"), started="today"))


def test_a_refused_candidate_is_told_so_and_counts_as_failed() -> None:
    run = run_of(claim("depth.score[npo]", "undecided", cause="refused"), claim("depth.self_patch"))
    card = card_of(run)
    row = next(line for line in page(card, run, FILES).splitlines() if "depth.score" in line)
    assert row.split("|")[2].strip() == "UNDECIDED (refused)"
    assert card.result == "FAILED"
    assert card.named("FAILED") == ["depth.score[npo]"]


def test_replies_that_another_engine_gave_are_named_on_the_card() -> None:
    run = run_of(claim("bypass.verdict[npo]"))
    note = "npo: 40 replies of another engine were read, and not asked of it"
    notes = [*run.summary.notes, note, "other: 40 replies of another engine were read, and not asked of it"]
    found = card_of(run.model_copy(update={"summary": run.summary.model_copy(update={"notes": notes})}))
    assert note in found.untested
    assert not any(one.startswith("other") for one in found.untested)


def test_what_is_known_of_clusters_is_on_the_card_and_nobodys_name() -> None:
    run = run_of(claim("depth.score[npo]"))
    notes = [f"{CLUSTERS}2 people are in several, as names tell; 'Ann Lee/1' and 'Ann Lee/2' are about Ann Lee. Give"]
    found = card_of(run.model_copy(update={"summary": run.summary.model_copy(update={"notes": notes})}))
    assert found.untested[-1] == "clusters: 2 people are in several, as names tell"


def test_a_card_says_what_was_asked_of_what_and_what_withstood_an_attack() -> None:
    attacked = claim("depth.withstands.nf4[npo]", "fail", provenance={"attack": "nf4"})
    facts = FactScore("a/1", "a", 1.0), FactScore("a/2", "a", 0.0)
    scores = [Score(name, "none", "uds", "block", 0.75, None, facts) for name in ("npo", "simnpo")]
    run = run_of(claim("depth.score[npo]"), attacked, scores=scores, salt="s")
    told = statement(card_of(run), run, FILES, ("run.json", "ab" * 32))["predicate"]["configuration"][0]["annotations"]
    assert told["asked"]["items"] == {"uds[block]": 2}
    assert told["attacks"] == {"nf4": {"depth.withstands.nf4[npo]": "FAILED"}}
    assert told["manifest"] == "of the manifest"
    assert told["command"] == "pytest suites/ --uds-manifest uds.toml"
    for others in ([scores[0]], [scores[0], replace(scores[1], value=0.5)]):
        again = run.model_copy(update={"scores": tuple(others)})
        made = statement(card_of(again), again, FILES, ("run.json", "ab" * 32))
        assert made["predicate"]["configuration"][0]["annotations"]["scores"] != told["scores"]
    lines = page(card_of(run), run, FILES)
    assert "- Under nf4: depth.withstands.nf4[npo] FAIL." in lines
    undecided = run_of(claim("depth.withstands.nf4[npo]", "undecided", provenance={"attack": "nf4"}))
    assert "- Under nf4: depth.withstands.nf4[npo] UNDECIDED." in page(card_of(undecided), undecided, FILES)
    assert "at most 2 facts or items a metric" in lines


def test_what_an_exact_test_decides_needs_no_interval() -> None:
    spec = registry.claims()["association.requests"]
    bound = Bound(spec.relation, spec.bound, spec.origin, spec.needs)
    record = ClaimRecord(spec.id, "npo", spec.kind, Verdict.PASS, "", observed=0.0, bound=bound)
    assert contradicted(record) == ""
    plain = replace(record, id="depth.score", bound=replace(bound, needs=""))
    assert contradicted(plain) == "passes without a value, an interval or a bound"
