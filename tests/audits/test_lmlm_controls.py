"""Controls whose outcome is known, and the evaluator that keeps what is judged."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from families import FAMILIES, in_memory, tiny_tokenizer
from hashing import HashingEncoder
from lmlm_by_hand import CELL, WRONG, by_hand, looked_up, perfectly, with_reply

from uds_bench.audits.lmlm import controls, rates
from uds_bench.audits.lmlm.asking.database_cell import DatabaseCell, every_prompt
from uds_bench.audits.lmlm.asking.deletion import Policy
from uds_bench.audits.lmlm.asking.evaluator import LmlmEvaluator, replies_of
from uds_bench.audits.lmlm.asking.probe import Library, ask_perfectly
from uds_bench.audits.lmlm.asking.record import OFF, LookupReply
from uds_bench.audits.lmlm.attribution import artifact_gap, closure_gap
from uds_bench.audits.lmlm.judged import judge
from uds_bench.audits.lmlm.leakage import Leakage
from uds_bench.facts.lookup_prompts import LookupFact, LookupPrompt, LookupPrompts
from uds_bench.facts.topology import TOPOLOGIES, embedded
from uds_bench.facts.triplets import Triplet, TripletDatabase
from uds_bench.inference.markup import TOKENS
from uds_bench.retrieval.encoder import encoder_of
from uds_bench.retrieval.settings import RetrieverSettings
from uds_bench.scores import Score, summarise


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_a_perfect_subject_answers_all_and_leaks_nothing(topology: str) -> None:
    judged = perfectly(topology)
    assert rates.baseline(judged).value == 1.0
    assert not any(one.outcome.off for one in judged)
    outcomes = [one.outcome for one in judged]
    assert artifact_gap(outcomes) == closure_gap(outcomes) == 0
    assert rates.uninformative(judged) == []


def test_an_incomplete_deletion_parts_mediated_from_artifact() -> None:
    """Rows equal to the fact alone: its other form answers, from a retained candidate that says the same."""
    for policy, apart in (("alias_closure", 0), ("exact", 2)):
        cell = replace(CELL, policy=policy)
        units, told = ask_perfectly(Library([cell], encoder=HashingEncoder()))
        judged = judge([cell], units, {unit.id: one for unit, one in zip(units, told, strict=True)})
        outcomes = [one.outcome for one in judged]
        assert artifact_gap(outcomes) == 0
        assert closure_gap(outcomes) == apart
        assert sum(one.on and one.gold_retained for one in outcomes) == apart


def test_one_who_knows_all_leaks_all() -> None:
    base = perfectly("base")
    knowing = controls.knowing_all(base)
    assert [one.outcome.off for one in knowing] == [not one.given for one in base]
    assert Leakage(knowing).worst()[0] == "by contains with lookups self completed"
    assert Leakage(knowing).worst()[1].interval.low > 0.9
    assert [one.replies["del_on"] for one in knowing] == [one.replies["del_on"] for one in base]


def test_where_nothing_was_deleted_everything_is_still_said() -> None:
    both = [*perfectly("base"), *perfectly("alias")]
    kept = controls.nothing_deleted(both, "alias")
    assert {one.topology for one in kept} == {"alias"}
    assert len(kept) == len(perfectly("alias"))
    assert rates.residual(kept, above_chance=False).value == 1.0
    # Every lookup kept the fact's own row, so none of these is an artifact.
    assert not any(one.outcome.artifact for one in kept)


def test_wordings_that_are_answered_alike_do_not_differ() -> None:
    judged = perfectly("base")
    mixed = with_reply(judged, range(len(judged) // 2), del_on=LookupReply("wrong"))
    found = controls.alike_in_wording(mixed)
    assert rates.furthest_wording(found, 0.1)[1].value == 0.0
    for fact in {one.fact.id for one in found}:
        assert len({one.replies["del_on"].answer for one in found if one.fact.id == fact}) == 1
    assert [one.replies["full"] for one in found] == [one.replies["full"] for one in judged]


def test_one_wording_that_is_right_stands_out() -> None:
    judged = perfectly("base")
    found = controls.right_in_one_wording(judged)
    wording, apart = rates.furthest_wording(found, 0.1)
    assert wording == judged[0].wording
    assert apart.interval.low > 0.1
    right = [one for one in found if one.outcome.on]
    assert right == [one for one in found if one.wording == wording and one.fact.id % 2 == 0]


@pytest.mark.parametrize("domain", ["countries", "politicians", "sports"])
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_a_stale_index_makes_a_cell_uninformative(domain: str, topology: str) -> None:
    judged = controls.stale(perfectly(topology, domain=domain))
    assert rates.uninformative(judged) == [f"{domain}/{topology}"]


def test_a_stale_index_never_holds_the_object_by_chance() -> None:
    """Half a database on there is the same object again."""
    rows = tuple(Triplet(name, "born in", town) for name in ("Mira", "Ida") for town in ("Oslo", "Faro"))
    facts = tuple(LookupFact(at, row) for at, row in enumerate(rows))
    prompts = tuple(LookupPrompt(fact.id, "direct", "?") for fact in facts)
    cell = DatabaseCell("people", "base", LookupPrompts(TripletDatabase(rows), facts, prompts))
    judged = judge([cell], every_prompt([cell]), {unit.id: WRONG for unit in every_prompt([cell])})
    assert rates.baseline(controls.stale(judged)).value == 0


def test_what_a_deletion_left_over_is_counted() -> None:
    cells = [DatabaseCell("countries", topology, embedded("countries", topology)) for topology in ("base", "alias")]
    assert controls.left_over(cells, {cell.name: cell.deletions() for cell in cells}) == 0
    exact = {cell.name: replace(cell, policy="exact").deletions() for cell in cells}
    assert controls.left_over(cells, exact) == len(cells[1].facts)


def test_candidates_that_say_the_same_are_counted_by_state() -> None:
    rows = [by_hand(full=looked_up("Oslo", 0), del_on=looked_up("Oslo", 3)), by_hand(del_on=looked_up("Faro", 2, 1))]
    assert sum(one.retains_gold("del_on") for one in rows) == 1, (
        "the alias row, though it was not the one that answered"
    )
    assert sum(one.retains_gold("full") for one in rows) == 1
    assert sum(one.retains_gold("forbidden") for one in rows) == 0


def test_the_control_of_incomplete_deletion_needs_an_alias() -> None:
    base, alias = (
        DatabaseCell("countries", topology, embedded("countries", topology)) for topology in ("base", "alias")
    )
    assert controls.if_any_alias([base], "it") == []
    assert controls.if_any_alias([base, alias], "it") == ["it"]
    assert controls.if_any_alias([], "it") == []


# The evaluator.


def test_a_result_holds_all_that_is_judged() -> None:
    """A real model, of random weights, from its prompts to a stored score and back."""
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": list(TOKENS)})
    checkpoint = in_memory(FAMILIES["llama"](len(tokenizer), seed=3), tokenizer)
    evaluator = LmlmEvaluator((CELL,), RetrieverSettings(kind="tfidf"))
    found = evaluator.evaluate(checkpoint)
    score = summarise(
        evaluator.measure, found, evaluator.units, checkpoint="m", attack="none", variant="exact", provenance={}
    )
    read = Score.from_json(json.loads(json.dumps(score.to_json())))
    assert set(read.per_fact[0].detail) == {"unknown", "top1_anyway"}, "both are asked where nothing is said"
    judged = judge([CELL], evaluator.units, replies_of(read, "unknown"))
    assert [value.value for value in found.values] == [float(one.outcome.on) for one in judged]
    assert [one.unit.id for one in judged] == [value.id for value in found.values]
    assert all(found.notes["touched"][state] == 0 for state in OFF)


@pytest.mark.parametrize("policy", get_args(Policy))
@pytest.mark.parametrize("kind", ["tfidf", "hybrid"])
def test_a_digest_knows_the_encoder_where_one_is_asked(policy: Policy, kind: str, tmp_path: Path) -> None:
    """Deletions by radius differ with the encoder even where lookups go by words."""
    found = []
    for content in ("{}", '{"other": 1}'):
        (tmp_path / "config.json").write_text(content)
        encoder_of.cache_clear()
        settings = RetrieverSettings(kind=kind, model=str(tmp_path))
        found.append(LmlmEvaluator((replace(CELL, policy=policy),), settings).digest)
    embeds = kind == "hybrid" or policy in ("radius_closure", "canonical")
    assert (found[0] != found[1]) is embeds


def test_deletions_and_lookups_by_words_load_no_encoder() -> None:
    settings = RetrieverSettings(kind="tfidf")
    assert Library([replace(CELL, policy="exact"), CELL], settings).encoder is None
