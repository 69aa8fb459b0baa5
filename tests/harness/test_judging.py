"""Judging gathers what it needs and says what it lacks: nothing is left out of a number in silence."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_runs import Bench, judged_models

from uds_bench.attacks import NONE
from uds_bench.audits.depth.audit import plan_requests
from uds_bench.audits.depth.section import Depth
from uds_bench.audits.manifests import load_manifest
from uds_bench.audits.metrics import run_document
from uds_bench.audits.metrics.judged_metrics import JUDGED
from uds_bench.audits.metrics.meta_evaluation import (
    MetaEvaluation,
    judge,
    missing_attacks,
    models_of,
    relative_utilities,
    requests,
    require_distinct,
)
from uds_bench.audits.metrics.metric_rows import Models, evaluate
from uds_bench.audits.metrics.needs import KNOWN, QUANTIZED, RELEARNED, UTILITY
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.claims.goldens import SAME
from uds_bench.errors import ConfigurationError, UdsError
from uds_bench.facts import load_facts
from uds_bench.metrics import METRICS
from uds_bench.scores import FactScore, Score, Scores
from uds_bench.scoring.metric_runner import MetricRunner
from uds_bench.scoring.runner import ScoreRequest
from uds_bench.scoring.store import Store

MODELS = Models("full", "retain", ("p1", "p2"), ("n1", "n2"), ("npo", "mine"))
KNOWS = {"full": 1.0, "p1": 0.9, "p2": 0.8, "npo": 0.1, "mine": 0.7, "n1": 0.2, "n2": 0.05, "retain": 0.0}
MANIFEST = """
[facts]
source = "authors"
[references]
full = "zoo:full"
retain = "zoo:retain"
[candidates]
npo = "zoo:npo_weak"
mine = "someone/mine"
[pools]
positive = { p1 = "zoo:full2", p2 = "zoo:plain_r5_e15" }
negative = { n1 = "zoo:retain2", n2 = "zoo:others_r5_e15" }
"""
ATTACKS = "[attacks]\nnf4 = {}\nrelearn = {}\n"


def score(request: ScoreRequest) -> Score:
    """A score that follows what the model knows, and nothing of it under an attack but a little more."""
    metric = METRICS[request.metric]
    level = 0.05 + 0.8 * KNOWS[request.checkpoint] + (0.1 if request.attack == RELEARNED else 0.0)
    value = {"knowledge": level, "erasure": 1 - level, "utility": 0.9}[metric.direction]
    facts = tuple(FactScore(f"f{i}", f"a{i}", value) for i in range(6))
    told = {"checkpoint": f"digest of {request.checkpoint}", "attack_key": request.attack}
    return Score(request.checkpoint, request.attack, metric.name, metric.variant(None), value, None, facts, {}, told)


def read(folder: Path, text: str = MANIFEST + ATTACKS) -> Depth:
    path = folder / "uds.toml"
    path.write_text(text)
    return load_manifest(path).of(Depth)


def judged(
    manifest: Depth, fail: Callable[[ScoreRequest], bool] = lambda request: False
) -> tuple[MetaEvaluation, list[ScoreRequest]]:
    """The evaluation with every score for which `fail` holds missing, and what was asked for."""
    asked = []

    def give(request: ScoreRequest) -> Score:
        asked.append(request)
        if fail(request):
            raise UdsError(f"{request} broke")
        return score(request)

    facts = load_facts("authors", forget=1, retain=1)
    return judge(manifest, facts, give), asked


# ---- what is asked for


@pytest.mark.parametrize("robust", [True, False])
def test_every_score_that_is_read_is_asked_for_once(robust: bool) -> None:
    wanted = requests(MODELS, robust)
    assert len(wanted) == len(set(wanted))
    places = {(r.checkpoint, r.attack) for r in wanted}
    assert places == set(MODELS.needed(robust))
    assert {attack for _, attack in places} == ({NONE, QUANTIZED, RELEARNED} if robust else {NONE})
    for place in places:
        here = {r.metric for r in wanted if (r.checkpoint, r.attack) == place}
        useful = place[1] == NONE and place[0] in ("full", "npo", "mine")
        assert here == {*JUDGED, KNOWN, *(UTILITY if useful else ())}


def test_metrics_are_judged_on_the_sweep_too_and_no_claim_speaks_of_it(tmp_path: Path) -> None:
    lines = MANIFEST.replace('mine = "someone/mine"\n', "").replace(
        "[pools]", '[sweep]\nmine = "someone/mine"\n[pools]'
    )
    manifest = read(tmp_path, lines + ATTACKS)
    assert models_of(manifest) == MODELS
    assert manifest.judged() == ["npo"]
    request = pytest.mark.scores("uds", of=("candidates",)).mark
    every = pytest.mark.scores("uds", of=("every_candidate",)).mark
    facts = load_facts("authors", forget=1, retain=1)
    assert [r.checkpoint for r in plan_requests(manifest, facts, [request], manifest.candidates)] == ["npo"]
    assert [r.checkpoint for r in plan_requests(manifest, facts, [every], manifest.candidates)] == ["npo", "mine"]


@pytest.mark.parametrize(
    ("section", "wanted"), [("", []), ("[metrics]\n", []), ("[metrics]\ncomponents = true\n", ["npo", "mine"])]
)
def test_parts_of_a_block_are_scored_where_the_manifest_asks_for_them(
    tmp_path: Path, section: str, wanted: list[str]
) -> None:
    manifest, facts = read(tmp_path, MANIFEST + section), load_facts("authors", forget=1, retain=1)
    parts = pytest.mark.scores("uds[mlp]", of=("every_component",)).mark
    assert [r.checkpoint for r in plan_requests(manifest, facts, [parts], manifest.candidates)] == wanted


def test_a_manifest_gives_its_models_or_none(tmp_path: Path) -> None:
    assert models_of(read(tmp_path)) == MODELS
    for pool in ("positive", "negative"):
        lines = [line for line in MANIFEST.splitlines() if not line.startswith(pool)]
        assert models_of(read(tmp_path, "\n".join(lines))) is None


def test_whole_scores_make_every_row(tmp_path: Path) -> None:
    found, asked = judged(read(tmp_path))
    assert asked == requests(MODELS, robust=True)
    assert (found.lacks, found.lacks_attacks, found.failed) == ("", "", {})
    assert list(found.rows) == list(found.unfiltered) == list(JUDGED)
    metrics = [METRICS[name] for name in JUDGED]
    for rows, chosen in ((found.rows, {"utility": found.utility}), (found.unfiltered, {"filters": False})):
        again = evaluate(found.scores, metrics, MODELS, **chosen)
        assert [row.flat() for row in rows.values()] == [row.flat() for row in again]
    assert all(row.overall is not None and not row.missing for row in found.rows.values())
    for metric in JUDGED:
        kept, everyone = found.rows[metric].kept, found.unfiltered[metric].kept
        assert (kept.kept, kept.knowing, everyone.kept) == (("npo",), ("mine",), ("npo", "mine"))


# ---- what is missing


@pytest.mark.parametrize("pool", ["positive", "negative"])
def test_without_a_pool_nothing_is_asked_for_and_all_claims_are_told_why(tmp_path: Path, pool: str) -> None:
    lines = [line for line in (MANIFEST + ATTACKS).splitlines() if not line.startswith(pool)]
    found, asked = judged(read(tmp_path, "\n".join(lines)))
    assert asked == []
    assert found.models is None
    assert (found.rows, found.unfiltered, list(found.scores)) == ({}, {}, [])
    assert "no pools" in found.lacks
    assert found.lacks == found.lacks_attacks
    assert found.silent() == []


@pytest.mark.parametrize(
    ("attacks", "lacking"), [("", [QUANTIZED, RELEARNED]), ("nf4 = {}", [RELEARNED]), ("relearn = {}", [QUANTIZED])]
)
def test_without_an_attack_robustness_is_not_asked_for_and_says_so(
    tmp_path: Path, attacks: str, lacking: list[str]
) -> None:
    manifest = read(tmp_path, f"{MANIFEST}[attacks]\n{attacks}\n")
    assert missing_attacks(manifest) == lacking
    found, asked = judged(manifest)
    assert {request.attack for request in asked} == {NONE}
    assert found.lacks == ""
    assert all(name in found.lacks_attacks for name in (*lacking, "[attacks]"))
    for row in (*found.rows.values(), *found.unfiltered.values()):
        assert row.faithfulness is not None
        assert (row.robustness, row.overall) == (None, None)
        assert any("not scored" in text for text in row.missing)


@pytest.mark.parametrize(
    ("checkpoint", "attack"),
    [(n, NONE) for n in KNOWS] + [("npo", QUANTIZED), ("npo", RELEARNED), ("retain", RELEARNED)],
)
def test_a_score_that_fails_is_named_and_takes_what_needs_it_along(
    tmp_path: Path, checkpoint: str, attack: str
) -> None:
    lost = ScoreRequest(checkpoint, "em", None, attack)
    whole, _ = judged(read(tmp_path))
    found, _ = judged(read(tmp_path), lambda request: request == lost)
    assert found.failed == {lost: f"{lost} broke"}
    assert math.isnan(found.value(checkpoint, "em", attack))
    for name, row in found.rows.items():
        if name != "em" or checkpoint == "full":  # whose own value no row is made of
            assert row.flat() == whole.rows[name].flat()
    row = found.rows["em"]
    if checkpoint != "full":
        assert (row.faithfulness is None) == (checkpoint in ("p1", "p2", "n1", "n2"))
        assert (row.robustness, row.overall) == (None, None)
        assert any(text.startswith(checkpoint) and "not scored" in text for text in row.missing)


@pytest.mark.parametrize(
    ("one", "other"), [("p1", "full"), ("n2", "retain"), ("p2", "p1"), ("n1", "npo"), ("n1", "p1")]
)
def test_a_pool_may_not_count_one_model_twice(tmp_path: Path, one: str, other: str) -> None:
    """Else the same weights under six names would show what six models show."""

    def give(request: ScoreRequest) -> Score:
        found = score(request)
        same = {"checkpoint": f"digest of {other}"} if request.checkpoint == one else {}
        return replace(found, provenance={**found.provenance, **same})

    with pytest.raises(ConfigurationError, match=rf"\[pools\] {one} holds the same weights as {other}"):
        judge(read(tmp_path), load_facts("authors", forget=1, retain=1), give)


def test_a_fault_of_the_program_is_no_missing_score(tmp_path: Path) -> None:
    def give(request: ScoreRequest) -> Score:
        raise TypeError("a slip")

    with pytest.raises(TypeError):
        judge(read(tmp_path), load_facts("authors", forget=1, retain=1), give)


@pytest.mark.parametrize("metric", UTILITY)
@pytest.mark.parametrize("name", ["full", "npo"])
def test_a_part_of_utility_that_fails_leaves_no_robustness(tmp_path: Path, metric: str, name: str) -> None:
    found, _ = judged(read(tmp_path), lambda request: (request.checkpoint, request.metric) == (name, metric))
    assert math.isnan(found.utility["npo"])
    assert math.isnan(found.utility["mine"]) == (name == "full")
    for row in found.rows.values():
        assert row.faithfulness is not None
        assert row.robustness is None
        assert "npo: no relative utility" in row.missing
    assert all(row.robustness is not None for row in found.unfiltered.values()), "which sets no floor"


# ---- numbers of several scores


def useful(**values: tuple[float | None, float | None]) -> Scores:
    """Model utility and fluency by checkpoint."""
    rows = [(n, m, v) for n, pair in values.items() for m, v in zip(UTILITY, pair, strict=True)]
    return Scores(Score(n, NONE, m, METRICS[m].variant(None), v, None, ()) for n, m, v in rows)


def test_relative_utility_is_the_harmonic_mean_of_two_over_the_full_models() -> None:
    found = relative_utilities(useful(full=(0.8, 0.9), npo=(0.4, 0.6), mine=(0.9, 1.0)), MODELS)
    assert found["npo"] == pytest.approx(
        statistics.harmonic_mean([0.4, 0.6]) / statistics.harmonic_mean([0.8, 0.9]), abs=1e-12
    )
    assert found["mine"] == 1.0


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize("name", ["full", "npo"])
def test_relative_utility_is_nan_where_a_part_is_missing(name: str, part: int) -> None:
    values: dict[str, list[float | None]] = {n: [0.8, 0.9] for n in ("full", "npo", "mine")}
    values[name][part] = None
    scores = useful(**{n: (v[0], v[1]) for n, v in values.items()})
    absent = Scores(s for s in scores if s.value is not None)
    for given in (scores, absent):
        found = relative_utilities(given, MODELS)
        assert list(found) == ["npo", "mine"]
        assert math.isnan(found["npo"])
        assert math.isnan(found["mine"]) == (name == "full")


def test_utility_under_an_attack_does_not_stand_in() -> None:
    scores = useful(full=(0.8, 0.9), npo=(0.8, 0.9), mine=(0.8, 0.9))
    attacked = Scores(replace(s, attack=QUANTIZED) if s.checkpoint == "npo" else s for s in scores)
    assert math.isnan(relative_utilities(attacked, MODELS)["npo"])


def evaluation(values: Mapping[str, float | None], attack: str = NONE) -> MetaEvaluation:
    """One that holds nothing but how much each model says."""
    scores = Scores(replace(score(ScoreRequest(n, KNOWN, None, attack)), value=v) for n, v in values.items())
    return MetaEvaluation({}, {}, MODELS, scores, {}, {})


def test_silent_are_those_that_say_at_most_half_of_what_full_says() -> None:
    assert evaluation({"full": 0.8, "npo": 0.4, "mine": 0.41}).silent() == ["npo"]
    assert evaluation({"full": 0.8, "npo": 0.0, "mine": 0.1}).silent() == ["npo", "mine"]
    assert evaluation({"full": 0.8, "npo": 0.8, "mine": 0.7}).silent() == []


@pytest.mark.parametrize("name", ["full", "npo"])
def test_nobody_is_taken_to_speak_whose_words_were_not_scored(name: str) -> None:
    """Else a claim about silent models would find none of them, and be called not applicable."""
    values: dict[str, float | None] = {"full": 0.8, "npo": 0.1, "mine": 0.8}
    absent = {n: v for n, v in values.items() if n != name}
    for given in (values | {name: None}, absent):
        with pytest.raises(UdsError, match=f"no {KNOWN} of {name}"):
            evaluation(given).silent()


def test_a_number_of_many_scores_shares_their_provenance(tmp_path: Path) -> None:
    found, _ = judged(read(tmp_path))
    told = {**dict.fromkeys(SAME, "same"), "seconds": 3}
    named = [replace(s, provenance=told) if (s.checkpoint, s.metric) == ("full", "em") else s for s in found.scores]
    assert replace(found, scores=Scores(named)).provenance("em") == dict.fromkeys(SAME, "same")
    assert replace(found, scores=Scores()).provenance("em") == {}


# ---- the part of a report


@pytest.fixture(scope="module")
def runner(models: Path, judged_store: Path) -> MetricRunner:
    """With every score of `judged_models`; it may load models, and scores nothing anew."""
    from uds_bench.attacks import find_attack

    specs = {name: CheckpointSpec(str(models / name)) for name, _ in judged_models().needed(robust=False)}
    attacks = {"nf4": find_attack("nf4"), "relearn": find_attack("relearn", epochs=1, lr=3e-3, batch_size=6)}
    return MetricRunner(specs, load_facts(models / "judged.jsonl"), Store(judged_store), attacks=attacks)


@pytest.fixture
def found(bench: Bench, runner: MetricRunner) -> MetaEvaluation:
    def stored(request: ScoreRequest) -> Score:
        return runner.stored(request)

    return judge(load_manifest(bench.judged()).of(Depth), runner.facts, stored)


def words_in(document: Mapping[str, Any], runner: MetricRunner) -> bool:
    text = json.dumps(document, allow_nan=False)
    return any(fact.entity in text or fact.question in text for fact in runner.facts.split("forget"))


def test_a_section_of_nothing_says_what_is_lacking(bench: Bench, runner: MetricRunner) -> None:
    manifest = load_manifest(bench.judged(positive=[])).of(Depth)
    nothing, _ = judged(manifest)
    document = run_document.section(runner, manifest, nothing)
    assert document == {"lacks": nothing.lacks, "lacks_attacks": nothing.lacks, "failed": []}


def test_a_section_names_every_score_that_failed(bench: Bench, runner: MetricRunner, found: MetaEvaluation) -> None:
    lost = {ScoreRequest("swapped", "em", None, "nf4"): "it broke"}
    document = run_document.section(runner, load_manifest(bench.judged()).of(Depth), replace(found, failed=lost))
    assert document["failed"] == [{"what": "swapped under nf4: em", "reason": "it broke"}]
    assert len(document["rows"]) == len(JUDGED)


def test_words_stand_in_a_section_only_of_nobody_or_where_asked(
    bench: Bench, runner: MetricRunner, found: MetaEvaluation
) -> None:
    mine = load_manifest(bench.judged()).of(Depth)
    assert not words_in(run_document.section(runner, mine, found), runner)
    assert words_in(run_document.section(runner, mine, found, words=True), runner)
    # A file of one's own is not fiction for being called so.
    for name in ("authors.jsonl", "tofu/mine.jsonl"):
        (bench.folder / name).parent.mkdir(exist_ok=True)
        (bench.folder / name).write_text((bench.models / "judged.jsonl").read_text())
        theirs = load_manifest(bench.judged(facts=name)).of(Depth)
        assert not words_in(run_document.section(runner, theirs, found), runner)
    invented = load_manifest(bench.judged(facts="authors")).of(Depth)
    assert words_in(run_document.section(runner, invented, found), runner)


def test_a_hidden_fact_is_read_once_and_kept(runner: MetricRunner, found: MetaEvaluation) -> None:
    fact = runner.facts.split("forget")[0].id
    first = run_document.hidden_layers(runner, "shallow", fact, words=False)
    loads = runner.loads.copy()
    assert run_document.hidden_layers(runner, "shallow", fact, words=False) == first
    assert runner.loads == loads
    told = run_document.hidden_layers(runner, "shallow", fact, words=True)
    assert told["entity"] == runner.facts.split("forget")[0].entity
    assert first["tokens"] == told["tokens"]
    for layer in (*first["layers"], {"own": first["said"]}):
        assert all(set(way) == {"right"} and 0 <= way["right"] <= first["tokens"] for way in layer.values())
    # The full model's own states, patched in, say what it says.
    own = run_document.hidden_layers(runner, "full", fact, words=False)
    assert {layer["patched"]["right"] for layer in own["layers"]} == {own["said"]["right"]}


def test_a_hidden_fact_of_a_model_that_cannot_be_read_is_an_error_in_a_line(bench: Bench, runner: MetricRunner) -> None:
    broken = bench.copy("shallow", "broken")
    weights = sorted(broken.glob("*.safetensors"))[0]
    weights.write_bytes(weights.read_bytes()[:100])
    specs = runner.specs | {"broken": CheckpointSpec(str(broken))}
    other = MetricRunner(specs, runner.facts, runner.store)
    told = run_document.hidden_layers(other, "broken", runner.facts.split("forget")[0].id, words=False)
    assert set(told) == {"error"}
    assert weights.name in told["error"]
    assert "\n" not in told["error"]


def test_parts_of_a_block_that_nobody_scored_are_left_out(runner: MetricRunner, tmp_path: Path) -> None:
    # A store of its own: others may have scored the parts in the one that tests share.
    empty = MetricRunner(runner.specs, runner.facts, Store(tmp_path))
    assert run_document.component_scores(empty, judged_models().candidates) == []
    wanted = run_document.component_requests(judged_models().candidates)
    assert {(r.checkpoint, r.metric) for r in wanted} == {(name, "uds") for name in judged_models().candidates}
    assert {r.variant for r in wanted} == {"block", "attention", "attention_residual", "mlp"}


def test_a_candidate_of_the_zoo_has_its_recipes_method_and_any_other_its_name(tmp_path: Path) -> None:
    assert run_document.methods_of(read(tmp_path)) == {"npo": "npo", "mine": "mine"}
    renamed = read(tmp_path, MANIFEST.replace("npo = ", "best = ").replace("npo_weak", "idk_weak"))
    assert run_document.methods_of(renamed) == {"best": "idk_nll", "mine": "mine"}


TWINS = (("one", "a"), ("two", "b"), ("copy", "a"))


def test_two_candidates_with_the_same_weights_are_refused() -> None:
    one, two, copy = (Score(n, "none", "uds", "block", 0.5, None, (), {}, {"checkpoint": d}) for n, d in TWINS)
    require_distinct([one, two])
    with pytest.raises(ConfigurationError, match="copy holds the same weights as one"):
        require_distinct([one, two, copy])
