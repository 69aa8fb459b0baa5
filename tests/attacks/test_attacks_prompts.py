"""Facts asked otherwise: what is asked never tells what it asks for, and replies are those of a plain loop."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import small_models as small
import torch
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.attacks import ATTACKS, Attack, find_attack
from uds_bench.attacks.prompts import persons
from uds_bench.audits.depth.section import CHANGES, PROMPTS
from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.errors import ConfigurationError, FactError
from uds_bench.facts import Fact, FactSet, embedded, load_facts
from uds_bench.facts.asking import Asking
from uds_bench.metrics.entity_accuracy import says
from uds_bench.metrics.subject import LONGEST, ReferenceModels, Subject
from uds_bench.scoring.metric_runner import MetricRunner
from uds_bench.scoring.runner import ScoreRequest
from uds_bench.scoring.store import Store

FACTS = embedded(forget=4, retain=6, holdout=0)
BUILT_IN = tuple(name for name in PROMPTS if name != "own_questions")


def asking(attack: Attack) -> Asking:
    assert attack.asking is not None
    return attack.asking


# ---- what is asked


def test_attacks_that_ask_otherwise_are_known_without_torch() -> None:
    assert set(PROMPTS) == {name for name in ATTACKS if find_attack(name).asking is not None}
    assert set(CHANGES) == set(ATTACKS) - set(PROMPTS)


@pytest.mark.parametrize("name", BUILT_IN)
def test_no_question_tells_what_it_asks_for(name: str) -> None:
    attack = find_attack(name)
    ways = asking(attack).ways(FACTS, "forget")
    forget = {fact.id: fact for fact in FACTS.split("forget")}
    assert len(ways) >= 0.8 * len(forget)
    assert attack.judged(FACTS) == FactSet(fact for fact in FACTS.split("forget") if fact.id in ways)
    for id, own in ways.items():
        assert own
        for way in own:
            assert not says(f"{way.question} {way.opening}", forget[id].entity), way


@given(st.integers(1, 6), st.integers(0, 50))
def test_shots_are_of_people_to_be_kept_one_each(shots: int, seed: int) -> None:
    attack = find_attack("few_shot", shots=shots, seed=seed)
    ((fact_id, (way,)), *_) = asking(attack).ways(FACTS, "forget").items()
    fact = next(one for one in FACTS if one.id == fact_id)
    *shown, last = way.question.split("\n\nQuestion: ")
    assert last == fact.question
    pairs = [tuple(one.split("\nAnswer: ")) for one in shown]
    known = {(one.question, one.answer): one.cluster for one in FACTS.split("retain")}
    assert len({known[pair] for pair in pairs}) == len(pairs) == shots  # type: ignore[index]
    secret = [one.entity for one in FACTS.split("forget")]
    assert not any(says(" ".join(pair), name) for pair in pairs for name in secret if name not in ("Yes", "No"))


def test_a_shot_that_says_a_secret_is_passed_over() -> None:
    secret = next(fact for fact in FACTS.split("forget") if fact.kind == "award")
    told = [
        replace(fact, answer=f"{fact.answer} It is not {secret.entity.upper()}.") if fact.split == "retain" else fact
        for fact in FACTS
    ]
    with pytest.raises(
        ConfigurationError, match="few_shot: 0 facts to be kept say no entity to be forgotten, and shots"
    ):
        asking(find_attack("few_shot")).ways(FactSet(told), "forget")


def test_a_part_of_the_name_stands_for_it() -> None:
    for id, own in asking(find_attack("alias")).ways(FACTS, "forget").items():
        fact = next(one for one in FACTS if one.id == id)
        first, last = persons(FACTS)[fact.cluster].split()
        assert [way.question.split() for way in own] == [
            fact.question.replace(f"{first} {last}", said).split() for said in (last, first, f"{first[0]}. {last}")
        ]


def test_who_is_meant_indirectly_is_named_nowhere() -> None:
    for id, (way,) in asking(find_attack("indirect")).ways(FACTS, "forget").items():
        fact = next(one for one in FACTS if one.id == id)
        assert not any(says(way.question, part) for part in persons(FACTS)[fact.cluster].split())
        assert "this person" in way.question
        told = [one.entity for one in FACTS if one.cluster == fact.cluster and says(way.question, one.entity)]
        assert told, "nothing says who is meant"


def test_facts_without_what_is_needed_are_not_judged() -> None:
    bare = FactSet(replace(fact, prefix="") for fact in FACTS)
    assert not find_attack("prefix").judged(bare)
    nobody = FactSet(replace(fact, question="what is it?", answer=fact.answer) for fact in FACTS)
    assert not find_attack("alias").judged(nobody)
    assert not find_attack("indirect").judged(nobody)


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_key_is_that_of_what_is_asked(name: str) -> None:
    attack = find_attack(name)
    assert pickle.loads(pickle.dumps(attack)).key_on(FACTS) == attack.key_on(FACTS)
    renamed = FactSet(
        replace(f, question=f.question.replace("?", "??"), answer=f"{f.answer}.", paraphrased_question=None)
        for f in FACTS
    )
    assert attack.key_on(FACTS) != attack.key_on(renamed)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"samples": 0}, r"^sampled: samples = 0 must be a whole number, 1 or more$"),
        ({"temperature": 0.0}, r"^sampled: temperature = 0.0 must be above 0$"),
        ({"temperature": float("nan")}, "must be above 0"),
    ],
)
def test_samples_that_cannot_be_drawn(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        find_attack("sampled", **settings)


@pytest.mark.parametrize("name", PROMPTS)
def test_it_changes_no_checkpoint(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"the attack {name} changes how facts are asked, and no weights"):
        find_attack(name).apply(CheckpointSpec("anything"), "cpu", FACTS)


# ---- questions of a file

AWARD = next(fact for fact in FACTS.split("forget") if fact.kind == "award")


def from_file(folder: Path, *rows: dict[str, str]) -> Attack:
    file = folder / "questions.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return find_attack("own_questions", questions=str(file))


def test_questions_of_a_file_are_asked_as_they_are(tmp_path: Path) -> None:
    rows = [
        {"fact": AWARD.id, "question": "What did the one who wrote by the sea win?"},
        {"fact": AWARD.id, "question": "Welchen Preis?", "opening": "Den"},
    ]
    attack = from_file(tmp_path, *rows)
    (own,) = asking(attack).ways(FACTS, "forget").values()
    assert [(way.question, way.opening) for way in own] == [(row["question"], row.get("opening", "")) for row in rows]
    assert list(attack.judged(FACTS)) == [AWARD]
    assert attack.key != from_file(tmp_path, *rows[:1]).key


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (
            {"fact": "nobody", "question": "Who?"},
            r"questions.jsonl, line 1: key 'fact' is 'nobody', which is no fact",
        ),
        ({"fact": AWARD.id, "question": f"Is it {AWARD.entity.lower()}?"}, "line 1: says .* which it asks for"),
        ({"fact": AWARD.id, "question": "?", "opening": AWARD.entity}, "line 1: says .* which it asks for"),
        ({"fact": AWARD.id}, "line 1: key 'question' is missing; add it"),
        ({"fact": AWARD.id, "question": "?", "hop": "2"}, "line 1: key 'hop' is unknown"),
    ],
)
def test_a_line_that_cannot_be_asked_is_refused_with_its_place(row: dict[str, str], told: str, tmp_path: Path) -> None:
    with pytest.raises(FactError, match=told) as caught:
        from_file(tmp_path, row).check(FACTS)
    assert "\n" not in str(caught.value)


def test_a_file_asks_what_was_to_be_kept_as_well(tmp_path: Path) -> None:
    forgotten, kept = ({"fact": FACTS.split(split)[0].id, "question": "And?"} for split in ("forget", "retain"))
    for row, lacking in ((forgotten, "retain"), (kept, "forget")):
        with pytest.raises(FactError, match=rf"questions\.jsonl: asks no fact of split {lacking}: add some$"):
            from_file(tmp_path, row).check(FACTS)
    both = from_file(tmp_path, forgotten, kept)
    both.check(FACTS)
    assert set(asking(both).ways(FACTS, "retain")) == {kept["fact"]}
    assert both.key_on(FACTS) != from_file(tmp_path, forgotten).key_on(FACTS)


def test_no_file_asks_nothing() -> None:
    with pytest.raises(ConfigurationError, match="own_questions: no question is given: name a file"):
        find_attack("own_questions").judged(FACTS)


# ---- what is replied


@pytest.fixture(scope="module")
def small_facts(models: Path) -> FactSet:
    return load_facts(models / "facts.jsonl")


@pytest.fixture(scope="module")
def runner(models: Path, small_facts: FactSet, tmp_path_factory: pytest.TempPathFactory) -> MetricRunner:
    attacks = {name: find_attack(name) for name in BUILT_IN} | {"sampled": find_attack("sampled", samples=3)}
    specs = {name: CheckpointSpec(str(models / name)) for name in small.NAMES}
    return MetricRunner(specs, small_facts, Store(tmp_path_factory.mktemp("store")), attacks=attacks)


def slow_replies(folder: Path, fact: Fact, attack: Attack, facts: FactSet) -> list[str]:
    """One prompt and one token at a time."""
    model = load(CheckpointSpec(str(folder)))
    told = []
    for way in asking(attack).ways(facts, "forget")[fact.id]:
        text = f"Question: {way.question}\nAnswer:" + (f" {way.opening}" if way.opening else "")
        ids = model.tokenizer(text)["input_ids"]
        start = len(ids)
        with torch.no_grad():
            while len(ids) < start + LONGEST:
                token = int(model.model(torch.tensor([ids])).logits[0, -1].argmax())
                if token == model.tokenizer.eos_token_id:
                    break
                ids.append(token)
        told.append(model.tokenizer.decode(ids[start:], skip_special_tokens=True))
    return told


@pytest.mark.parametrize("name", ["prefix", "few_shot"])
def test_replies_are_those_of_a_plain_loop(name: str, models: Path, small_facts: FactSet, runner: MetricRunner) -> None:
    attack = runner.attack(name)
    score = runner.score(ScoreRequest("full", "entity_accuracy", "free", name))
    values = {fact.id: fact.value for fact in score.per_fact}
    for fact in small_facts.split("forget")[:4]:
        told = slow_replies(models / "full", fact, attack, small_facts)
        assert values[fact.id] == float(any(says(text, fact.entity) for text in told)), told


def subject(models: Path, facts: FactSet, how: Asking | None, name: str = "full") -> Subject:
    def no_reference(which: str) -> Any:
        raise AssertionError(which)

    return Subject(load(CheckpointSpec(str(models / name))), ReferenceModels(no_reference, {}, facts), asking=how)


def test_what_is_kept_is_asked_alike_and_noted(models: Path, small_facts: FactSet, runner: MetricRunner) -> None:
    score = runner.score(ScoreRequest("full", "entity_accuracy", "free", "prefix"))
    kept = {id: value for id, _, value in score.notes["kept"]}
    retain = {fact.id: fact for fact in small_facts.split("retain")}
    assert set(kept) <= set(retain)
    assert len(kept) == min(len(retain), len(score.per_fact))
    assert {cluster for _, cluster, _ in score.notes["kept"]} == {retain[id].cluster for id in kept}
    for id in list(kept)[:3]:
        told = subject(models, small_facts, asking(runner.attack("prefix"))).replies("retain")[0][id]
        assert kept[id] == float(any(says(text, retain[id].entity) for text in told))


def test_draws_are_the_same_each_time_and_cold_ones_are_greedy(models: Path, small_facts: FactSet) -> None:
    def replies(**settings: Any) -> dict[str, list[str]]:
        return subject(models, small_facts, asking(find_attack("sampled", **settings))).replies()[0]

    warm, again, other = (replies(samples=2, seed=seed, temperature=2.0) for seed in (0, 0, 1))
    assert warm == again != other
    assert any(len(set(told)) > 2 for told in warm.values()), "draws of one question differ"
    cold = replies(samples=2, temperature=1e-6)
    greedy = subject(models, small_facts, None).replies()[0]
    assert {id: sorted(set(told)) for id, told in cold.items()} == {id: sorted(set(t)) for id, t in greedy.items()}


def test_of_more_draws_the_first_are_those_of_fewer(models: Path, small_facts: FactSet) -> None:
    """So that leak@k never falls as k grows, fact by fact."""
    assert find_attack("sampled", samples=3).remark == "leak@k with k = 3, replies drawn at temperature 1"
    few, more = (subject(models, small_facts, asking(find_attack("sampled", samples=k))).replies()[0] for k in (1, 3))
    ways = asking(find_attack("sampled")).ways(small_facts, "forget")
    assert few == {id: told[::3] for id, told in more.items()}
    assert {id: len(told) for id, told in few.items()} == {id: len(own) for id, own in ways.items()}


@pytest.mark.parametrize("metric", ["rouge", "prob", "entity_accuracy"])
def test_a_metric_that_does_not_read_it_is_refused_in_a_line(metric: str, runner: MetricRunner) -> None:
    variant = "prefixed" if metric == "entity_accuracy" else None
    with pytest.raises(
        ConfigurationError, match=rf"few_shot asks facts in other words, which {metric}\[\w+\] does not"
    ):
        runner.score(ScoreRequest("full", metric, variant, "few_shot"))


def test_a_model_that_never_knew_stays_silent(runner: MetricRunner) -> None:
    for name in ("prefix", "reworded", "sampled"):
        full, never = (runner.score(ScoreRequest(who, "entity_accuracy", "free", name)) for who in ("full", "retain"))
        assert full.value is not None
        assert never.value is not None
        assert never.value < 0.2 < full.value, name
