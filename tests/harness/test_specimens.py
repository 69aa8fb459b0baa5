"""[specimens]: shipped models must come to the verdict that is declared of them, and to no other."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_reports import made_rules
from small_runs import DEPTH, Bench

from uds_bench.audits import registry
from uds_bench.audits.manifests import load_manifest
from uds_bench.claims.record import ClaimRecord, Control
from uds_bench.errors import ConfigurationError
from uds_bench.statistics import Interval
from uds_bench.verdicts import Decision, Verdict

SHIPPED = """\
[facts]
source = "authors"
[references]
full = "specimen:full"
retain = "specimen:retain"
[candidates]
npo = "specimen:npo"
simnpo = "specimen:simnpo"
"""
DECLARED = """\
[specimens]
"depth.score" = { pass = ["npo"], fail = ["simnpo"] }
"depth.hidden" = { fail = ["simnpo"] }
"""
CONTROL = Control("full2", "fail", "pass", 0.9, None, held=False)


def settled(
    must: str | None, came_out: Verdict, golden: float | None = None, controls: tuple[Control, ...] = ()
) -> ClaimRecord:
    specimens = {} if must is None else {"depth.score[simnpo]": must}
    goldens = {} if golden is None else {"depth.score[simnpo]": {"value": golden}}
    rules = made_rules(goldens, specimens=specimens)
    decision = Decision(came_out, 0.2345, Interval(0.2, 0.3, "any", 15), "observed 0.234")
    return rules.settle(registry.claims()["depth.score"], "simnpo", "node", decision, controls, {})


@pytest.mark.parametrize("must", ["pass", "fail"])
@pytest.mark.parametrize("came_out", Verdict)
def test_only_what_is_declared_is_good(must: str, came_out: Verdict) -> None:
    record = settled(must, came_out)
    word = "cleared" if must == "pass" else "caught"
    assert (record.verdict, record.flag) == ((must, word) if came_out == must else ("fail", None))
    assert record.is_good is (came_out == must)
    assert (record.specimen, record.outcome) == (must, came_out)
    if came_out == must:
        assert f"{word} as declared: observed 0.234" in record.message
    else:
        assert f"specimen simnpo must be {word} ({must}) and came out {came_out}: observed" in record.message


def test_what_is_not_declared_is_what_it_is() -> None:
    record = settled(None, Verdict.FAIL)
    assert (record.verdict, record.specimen, record.outcome) == (Verdict.FAIL, None, "fail")


def test_a_missed_control_comes_before_what_is_declared() -> None:
    record = settled("fail", Verdict.FAIL, controls=(CONTROL,))
    assert (record.verdict, record.cause, record.flag) == ("undecided", "control", None)
    assert "caught" not in record.message


@pytest.mark.parametrize(
    ("came_out", "told"),
    [(Verdict.FAIL, "caught as declared: "), (Verdict.PASS, "specimen simnpo must be caught (fail) and came out pass")],
)
def test_a_drift_voids_no_declared_verdict(came_out: Verdict, told: str) -> None:
    record = settled("fail", came_out, golden=0.23)
    assert (record.verdict, record.cause, record.flag) == ("undecided", "drifted", None)
    assert (record.specimen, record.outcome) == ("fail", came_out)
    assert "drifted: observed 0.2345, golden 0.2300 +- 0.0001, off by 0.0045; " + told in record.message


def test_the_record_survives_being_sent() -> None:
    record = settled("fail", Verdict.FAIL, controls=(CONTROL,))
    assert ClaimRecord.from_json(record.to_json()) == record


def written(folder: Path, text: str) -> Path:
    path = folder / "uds.toml"
    path.write_text(text)
    return path


def test_the_section_names_claims_and_subjects(tmp_path: Path) -> None:
    manifest = load_manifest(written(tmp_path, SHIPPED + DECLARED))
    assert manifest.known_verdicts == {
        "depth.score[npo]": "pass",
        "depth.score[simnpo]": "fail",
        "depth.hidden[simnpo]": "fail",
    }


@pytest.mark.parametrize(
    ("shipped", "other", "name"),
    [
        ('"specimen:npo"', '"zoo:npo"', "npo"),
        ('"specimen:npo"', '{ model = "specimen:npo", adapter = "gpt2" }', "npo"),
        ('"specimen:retain"', '"gpt2"', "retain"),
        ("[candidates]", '[pools]\npositive = { two = "gpt2" }\n[candidates]', "two"),
        ("[candidates]", '[association]\nmodel = "gpt2"\nsubjects = "people"\n[candidates]', "model"),
        ("[candidates]", '[lmlm]\nmodels = { npo = "gpt2" }\n[candidates]', "npo"),
    ],
)
def test_it_is_of_shipped_models_alone(tmp_path: Path, shipped: str, other: str, name: str) -> None:
    assert load_manifest(written(tmp_path, SHIPPED.replace(shipped, other)))
    path = written(tmp_path, SHIPPED.replace(shipped, other) + DECLARED)
    line = path.read_text().splitlines().index("[specimens]") + 1
    with pytest.raises(ConfigurationError) as raised:
        load_manifest(path)
    told = f"specimens: is of shipped models (specimen:NAME), and {name} is none: declare it under [expect]"
    assert str(raised.value) == f"{path}, line {line}: {told}"


def test_a_claim_is_declared_once(tmp_path: Path) -> None:
    more = '[expect]\n"depth.score[npo]" = { verdict = "fail", reason = "x" }\n'
    with pytest.raises(ConfigurationError, match="is declared under \\[specimens\\] already: keep one"):
        load_manifest(written(tmp_path, SHIPPED + DECLARED + more))


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ('"depth.score" = { pass = ["nobody"] }', "depth.score[nobody]"),
        ('"depth.scores" = { pass = ["npo"] }', "depth.scores[npo]"),
        ('"depth.order" = { pass = ["npo"] }', "depth.order[npo]"),
    ],
)
def test_an_entry_of_no_claim_is_an_error(bench: Bench, entry: str, name: str) -> None:
    path = written(bench.folder, f"{SHIPPED}[specimens]\n{entry}\n")
    assert f"[specimens] entry {name!r} matches no claim" in bench.refused(DEPTH, "-k", "frozen", manifest=path)


def test_entries_that_match_leave_a_selection_alone(bench: Bench) -> None:
    ran = bench.run(DEPTH, "-k", "frozen", manifest=written(bench.folder, SHIPPED + DECLARED))
    assert ran.code == 0, ran.text
    assert ran.counts == {"pass": 1}
