"""The suites that judge metrics: what each claim comes to on scores made up here, and on small real models.

The made-up models are twelve of the pools and eight candidates, of which each metric is told what they know.
"""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from made_reports import made_rules
from small_runs import Bench

from suites import test_faithfulness as faithfulness
from suites import test_robustness as robustness
from uds_bench.attacks import NONE
from uds_bench.audits.depth.section import Depth
from uds_bench.audits.manifests import load_manifest
from uds_bench.audits.metrics.judged_metrics import JUDGED
from uds_bench.audits.metrics.meta_evaluation import MetaEvaluation, judge
from uds_bench.audits.metrics.needs import KNOWN, QUANTIZED, RELEARNED
from uds_bench.claims.claim import Claim
from uds_bench.claims.record import ClaimRecord
from uds_bench.errors import UdsError
from uds_bench.facts import FactSet, load_facts
from uds_bench.metrics import METRICS
from uds_bench.scores import FactScore, Score
from uds_bench.scoring.runner import ScoreRequest

SUITES = Path(__file__).parents[2] / "suites"
POSITIVE, NEGATIVE, CANDIDATES = ([f"{letter}{i}" for i in range(n)] for letter, n in (("p", 6), ("n", 6), ("c", 8)))
KNOWS = (
    {"full": 1.0, "retain": 0.0}
    | {name: 0.9 - 0.05 * i for i, name in enumerate(POSITIVE)}
    | {name: 0.02 + 0.03 * i for i, name in enumerate(NEGATIVE)}
    | {name: 0.01 + 0.02 * i for i, name in enumerate(CANDIDATES)}
)
BACK = {NONE: 0.0, QUANTIZED: 0.01, RELEARNED: 0.2}
"""Quantization changes little; relearning teaches every model, the retain model too, much the same."""
Level = Callable[[ScoreRequest], float]
Evaluate = Callable[..., MetaEvaluation]
FACTS = load_facts("authors", forget=2, retain=2)


def known(request: ScoreRequest) -> float:
    own = 0.9 + 0.03 * CANDIDATES.index(request.checkpoint) if request.checkpoint in CANDIDATES else 1.0
    return KNOWS[request.checkpoint] + own * BACK[request.attack]


def says(request: ScoreRequest) -> float:
    """Words: those of the candidates are gone, and come back the more the more is left, but for one of them."""
    if request.checkpoint not in CANDIDATES:
        return known(request)
    back = 0.25 if request.checkpoint == "c2" else 0.2 + 2 * KNOWS[request.checkpoint]
    return back if request.attack == RELEARNED else 0.0


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Evaluate:
    """The evaluation of the made-up models; by name of a metric: what else it reads than what a model knows."""

    def table(names: list[str]) -> str:
        return "{ " + ", ".join(f'{name} = "someone/{name}"' for name in names) + " }"

    def make(
        changed: Mapping[str, Level] | None = None,
        *,
        facts: FactSet = FACTS,
        fail: Callable[[ScoreRequest], bool] = lambda request: False,
        attacks: str = "nf4 = {}\nrelearn = {}",
    ) -> MetaEvaluation:
        text = '[facts]\nsource = "authors"\n[references]\nfull = "someone/full"\nretain = "someone/retain"\n'
        text += f"[attacks]\n{attacks}\n[candidates]\n"
        text += "".join(f'{name} = "someone/{name}"\n' for name in CANDIDATES)
        text += f"[pools]\npositive = {table(POSITIVE)}\nnegative = {table(NEGATIVE)}\n"
        path = tmp_path_factory.mktemp("made") / "uds.toml"
        path.write_text(text)

        def score(request: ScoreRequest) -> Score:
            if fail(request):
                raise UdsError(f"{request} broke")
            return made(request, {KNOWN: says, **(changed or {})}.get(request.metric))

        return judge(load_manifest(path).of(Depth), facts, score)

    return make


def made(request: ScoreRequest, level: Level | None = None) -> Score:
    metric = METRICS[request.metric]
    value = 0.9 if metric.direction == "utility" else 0.05 + 0.7 * known(request)
    if level is not None:
        value = level(request)
    elif metric.direction == "erasure":
        value = 1 - value
    # Facts differ, and differ in what an attack changes of them: no interval is without width.
    step = 0.001 if request.attack == NONE else 0.01
    rows = tuple(FactScore(f"f{i}", f"a{i}", value + step * (i % 3 - 1)) for i in range(12))
    told = {"checkpoint": request.checkpoint, "attack_key": request.attack}
    return Score(request.checkpoint, request.attack, metric.name, metric.variant(None), value, None, rows, {}, told)


def decided(name: str, test: Callable[..., None], *given: Any) -> ClaimRecord:
    """What one test of a suite decides of one claim."""
    claim = Claim(name, None, "node", made_rules())
    with contextlib.suppress(pytest.fail.Exception):
        test(claim, *given)
    return claim.record


def audit(meta: MetaEvaluation, facts: FactSet = FACTS, depth: Any = None) -> Any:
    """The audit as the claims read it."""
    return SimpleNamespace(judged=meta, on_pools=meta, facts=facts, depth=depth)


def faithful(meta: MetaEvaluation, metric: str, facts: FactSet = FACTS) -> ClaimRecord:
    return decided(f"faithfulness.{metric}", faithfulness.test_faithfulness, metric, audit(meta, facts))


def robust(meta: MetaEvaluation, metric: str = "uds", facts: FactSet = FACTS) -> ClaimRecord:
    return decided(f"robustness.{metric}", robustness.test_robustness, metric, audit(meta, facts))


@pytest.fixture(scope="module")
def sound(evaluation: Evaluate) -> MetaEvaluation:
    """Every metric follows what a model knows."""
    return evaluation()


# ---- faithfulness


@pytest.mark.parametrize("metric", JUDGED)
def test_a_metric_that_tells_all_models_apart_is_faithful(sound: MetaEvaluation, metric: str) -> None:
    record = faithful(sound, metric)
    assert record.observed == 1.0
    # Six models a side show no more than an AUC above 0.54: enough for chance, and not for the bound of UDS.
    assert record.verdict == ("undecided" if metric == "uds" else "pass")
    (mixed,) = record.controls
    assert (mixed.name, mixed.must, mixed.held) == ("pools mixed", "fail", True)
    assert 0.25 <= mixed.observed <= 0.75


@pytest.mark.parametrize("metric", ["es", "cka", "uds"])
def test_a_constant_metric_is_never_faithful(evaluation: Evaluate, metric: str) -> None:
    record = faithful(evaluation({metric: lambda request: 0.4}), metric)
    assert record.observed == 0.5
    assert record.verdict in ("fail", "undecided")


@pytest.mark.parametrize("metric", ["es", "cka", "uds"])
def test_a_metric_that_tells_the_wrong_way_round_fails(evaluation: Evaluate, metric: str) -> None:
    knowledge = METRICS[metric].direction == "knowledge"
    record = faithful(evaluation({metric: lambda r: 0.9 - known(r) / 2 if knowledge else known(r) / 2}), metric)
    assert record.observed == 0.0
    assert record.verdict == "fail"


def test_a_control_that_passes_is_missed(sound: MetaEvaluation) -> None:
    found = sound.rows["em"].faithfulness
    assert not faithfulness.must_not_pass("another metric", found.auc, 0.5).held
    assert faithfulness.must_not_pass("another metric", found.auc, 0.9).held


def test_a_model_of_a_pool_without_a_score_leaves_nothing_decided(evaluation: Evaluate) -> None:
    meta = evaluation(fail=lambda r: (r.checkpoint, r.metric) == ("n3", "es"))
    record = faithful(meta, "es")
    assert (record.verdict, record.observed) == ("undecided", None)
    assert all("n3: not scored" in one.message for one in (record, robust(meta, "es")))
    assert faithful(meta, "em").verdict == "pass"


def test_uds_is_first_only_where_it_tells_what_all_others_do_not(evaluation: Evaluate, sound: MetaEvaluation) -> None:
    level = decided("faithfulness.uds_first", faithfulness.test_uds_first, audit(sound))
    assert level.verdict == "undecided", "nothing is decided between two that tell every pair apart"
    blind = decided("faithfulness.uds_first", faithfulness.test_uds_first, audit(evaluation(others_blind())))
    assert blind.verdict == "pass"
    assert [(c.must, c.held) for c in blind.controls] == [("fail", True)]
    beaten = evaluation({"uds": lambda request: 0.5 - known(request) % 0.07})
    assert decided("faithfulness.uds_first", faithfulness.test_uds_first, audit(beaten)).verdict == "fail"


def others_blind() -> dict[str, Level]:
    """Every other metric tells nothing: its values lie across both pools."""
    places = {name: i % 6 for i, name in enumerate((*POSITIVE, *NEGATIVE))}
    blind: Level = lambda request: 0.3 + 0.05 * places.get(request.checkpoint, 0)  # noqa: E731
    return {name: blind for name in JUDGED if name != "uds"}


def test_uds_is_not_first_of_twenty_where_one_could_not_be_scored(evaluation: Evaluate) -> None:
    meta = evaluation(others_blind(), fail=lambda r: (r.checkpoint, r.metric) == ("n3", "es"))
    record = decided("faithfulness.uds_first", faithfulness.test_uds_first, audit(meta))
    assert record.verdict != "pass"


# ---- robustness


def test_a_stable_uds_is_robust_and_a_metric_that_never_moves_is_not(sound: MetaEvaluation) -> None:
    record = robust(sound)
    assert record.verdict == "pass"
    assert record.observed > 0.9
    (unmoved,) = record.controls
    assert (unmoved.must, unmoved.verdict, unmoved.held) == ("fail", "fail", True)


def test_an_attack_that_moves_no_retain_model_shows_nothing_robust(evaluation: Evaluate) -> None:
    """A metric that no attack moves would be perfect under it."""
    record = robust(evaluation({"uds": lambda r: 0.3 if r.checkpoint[0] == "p" else 0.9}))
    assert (record.verdict, record.cause) == ("undecided", "control")


def test_a_uds_that_is_noise_is_not_robust(evaluation: Evaluate) -> None:
    noisy = evaluation({"uds": lambda r: 1 - known(r) / 2 if r.checkpoint[0] in "pn" else noise(r)})
    assert robust(noisy).verdict in ("fail", "undecided")


def noise(request: ScoreRequest) -> float:
    """Above the cut before an attack, so that every candidate counts, and anything under it."""
    number = random.Random(f"{request.checkpoint} {request.attack}").random()
    return number if request.attack != NONE else 0.8 + 0.2 * number


def test_a_uds_that_does_not_move_under_relearning_is_not_robust(evaluation: Evaluate) -> None:
    """Where the retain model learns what the candidates do not: R is 0 of each of them."""
    stuck = evaluation({"uds": lambda r: 0.9 - 0.2 * ((r.checkpoint, r.attack) == ("retain", RELEARNED))})
    moved = stuck.unfiltered["uds"].robustness
    assert moved.r.value == 0.0
    assert moved.rob.value == 0.0


def test_any_other_metric_is_recorded_and_never_passes_without_a_golden(sound: MetaEvaluation) -> None:
    for metric in JUDGED:
        if metric != "uds":
            record = robust(sound, metric)
            assert record.verdict == "not applicable"
            assert "no golden decides" in record.message


@pytest.mark.parametrize("attack", [QUANTIZED, RELEARNED])
def test_a_candidate_without_a_score_under_an_attack_leaves_nothing_decided(evaluation: Evaluate, attack: str) -> None:
    meta = evaluation(fail=lambda r: (r.checkpoint, r.metric, r.attack) == ("c2", "uds", attack))
    assert robust(meta).verdict == "undecided"
    assert robust(meta, "es").verdict == "not applicable"


def test_a_warning_of_what_comes_back_is_told_from_its_reverse(evaluation: Evaluate, sound: MetaEvaluation) -> None:
    record = decided("robustness.proxy", robustness.test_proxy, audit(sound))
    assert record.verdict == "pass"
    assert 0.5 < record.observed < 1
    (wrong,) = record.controls
    assert (wrong.must, wrong.verdict, wrong.observed) == ("fail", "fail", -record.observed)
    blind = evaluation({"uds": lambda request: 0.5})
    assert decided("robustness.proxy", robustness.test_proxy, audit(blind)).verdict != "pass"
    backwards = evaluation({"uds": known})
    assert decided("robustness.proxy", robustness.test_proxy, audit(backwards)).verdict == "fail"


def restores(meta: MetaEvaluation) -> ClaimRecord:
    def read(checkpoint: str, metric: str, variant: str | None = None, attack: str = NONE) -> Score:
        (found,) = (s for s in meta.scores if (s.checkpoint, s.metric, s.attack) == (checkpoint, metric, attack))
        return found

    return decided(
        "robustness.relearning_restores",
        robustness.test_relearning_restores,
        audit(meta, depth=SimpleNamespace(score=read)),
    )


def test_an_attack_that_restores_nothing_is_none(evaluation: Evaluate, sound: MetaEvaluation) -> None:
    assert restores(sound).verdict == "pass"
    still = evaluation({KNOWN: lambda r: says(replace(r, attack=NONE))})
    assert restores(still).verdict in ("fail", "undecided")
    speaking = restores(evaluation({KNOWN: lambda request: 0.9}))
    assert speaking.verdict == "not applicable"
    assert "every candidate still says" in speaking.message


@pytest.mark.parametrize("name", ["full", "c0"])
@pytest.mark.parametrize("test", ["proxy", "restores"])
def test_words_that_were_not_scored_are_no_silence(evaluation: Evaluate, name: str, test: str) -> None:
    """An error, which makes the claim crash: else it would be about the other models, or be not applicable."""
    meta = evaluation(fail=lambda r: (r.checkpoint, r.metric, r.attack) == (name, KNOWN, NONE))
    with pytest.raises(UdsError, match=f"of {name}.*{name}: {KNOWN} broke"):
        restores(meta) if test == "restores" else decided("robustness.proxy", robustness.test_proxy, audit(meta))


# ---- not applicable


def claims(meta: MetaEvaluation, facts: FactSet = FACTS) -> Iterator[ClaimRecord]:
    for metric in JUDGED:
        yield faithful(meta, metric, facts)
        yield robust(meta, metric, facts)
    yield decided("faithfulness.uds_first", faithfulness.test_uds_first, audit(meta))
    yield decided("robustness.uds_first", robustness.test_uds_first, audit(meta))
    yield decided("robustness.proxy", robustness.test_proxy, audit(meta))
    yield restores(meta)


@pytest.mark.parametrize("attacks", ["", "nf4 = {}"])
def test_without_attacks_no_claim_about_robustness_applies(evaluation: Evaluate, attacks: str) -> None:
    for record in claims(evaluation(attacks=attacks)):
        if record.audit == "robustness":
            assert record.verdict == "not applicable"
            assert "the manifest does not name the attacks" in record.message
        else:
            assert record.verdict != "not applicable"


def test_without_a_split_no_claim_that_needs_it_applies(evaluation: Evaluate) -> None:
    facts = FactSet(fact for fact in FACTS if fact.split != "holdout")
    meta = evaluation(fail=lambda r: "holdout" in METRICS[r.metric].splits, facts=facts)
    for metric in JUDGED:
        needs = "holdout" in METRICS[metric].splits
        record = faithful(meta, metric, facts)
        assert (record.verdict == "not applicable") == needs
        assert ("the manifest's facts have no split holdout" in record.message) == needs
        assert not needs or robust(meta, metric, facts).verdict == "not applicable"
    assert sum("holdout" in METRICS[metric].splits for metric in JUDGED) == 8
    assert math.isnan(meta.value("full", "mia_loss"))


# ---- real runs


def test_a_run_without_pools_decides_nothing_and_says_so(bench: Bench, judged_store: Path) -> None:
    bench.judged(positive=[])
    ran = bench.run(SUITES / "test_faithfulness.py", SUITES / "test_robustness.py", store=judged_store)
    assert ran.counts == {"not applicable": 44}, ran.text
    assert all("the manifest has no pools" in claim["message"] for claim in ran.claims.values())
    assert "no pools" in ran.report["metrics"]["lacks"]
    assert "rows" not in ran.report["metrics"]
    assert any("stand-ins" in note for note in ran.report["summary"]["notes"])


def test_a_run_on_one_model_a_side_passes_nothing_and_stops_no_release(bench: Bench, judged_store: Path) -> None:
    """Claims about metrics are about no candidate: what they come to is a result beside the candidates' verdicts."""
    bench.judged()
    ran = bench.run(SUITES / "test_faithfulness.py", SUITES / "test_robustness.py", store=judged_store)
    assert ran.code == 0
    assert {ran.verdicts[f"faithfulness.{metric}"] for metric in JUDGED} == {"result"}
    assert {ran.claims[f"faithfulness.{metric}"]["outcome"] for metric in JUDGED} <= {"undecided", "fail"}
    assert "pass" not in ran.counts
    assert ran.claims["faithfulness.uds"]["observed"] == 1.0
    assert ran.verdicts["robustness.uds"] == "result"
    assert "fewer than 5 models" in ran.claims["robustness.uds"]["message"]
    assert ran.verdicts["robustness.proxy"] == "not applicable", "too few are silent"
    meta = ran.report["metrics"]
    assert [row["metric"] for row in meta["rows"]] == list(JUDGED)
    assert (meta["lacks"], meta["lacks_attacks"], meta["failed"]) == ("", "", [])
    assert set(ran.report["loads"]) <= {"full", "shallow", "swapped"}, "only the hidden fact is looked at"


def test_a_report_of_claims_that_other_processes_judged_is_read_from_the_store(
    bench: Bench, judged_store: Path
) -> None:
    """Only a claim that needs no judging is decided: the section is there all the same."""
    bench.judged()
    ran = bench.run(SUITES / "test_robustness.py", "-k", "nothing or relearning_restores", store=judged_store)
    assert len(ran.report["metrics"]["rows"]) == len(JUDGED)
