"""What the depth audit reads out of scores, on scores written by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from families import FAMILIES, save_checkpoint, tiny_tokenizer
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.audits import registry
from uds_bench.audits.depth import reading as depth
from uds_bench.audits.depth.audit import notes, of_another_base
from uds_bench.audits.manifests import load_manifest
from uds_bench.errors import ConfigurationError
from uds_bench.facts import Fact, FactSet, Unannotated
from uds_bench.scores import FactScore, Score
from uds_bench.statistics import Interval
from uds_bench.verdicts import Decision, Verdict

AUTHORS = 15
SHARE = 0.5


def decided(verdict: Verdict, units: int = AUTHORS) -> Decision:
    return Decision(verdict, 0.8, Interval(0.75, 0.85, "any", units), "observed 0.800")


def spoken(
    value: float | None, low: float = 0.0, high: float = 0.0, units: int = AUTHORS, variant: str = "free"
) -> Score:
    interval = None if value is None else Interval(low, high, "any", units)
    return Score("any", "none", "entity_accuracy", variant, value, interval, (FactScore("f", "a", value),))


def hidden(verdict: Verdict, *words: Score, full: float = 1.0, share: float = SHARE, **depth_of: Any) -> Decision:
    references = [spoken(full, full - 0.1, full) for _ in words]
    return depth.hidden(decided(verdict, **depth_of), words, references, share, SHARE)


SAYS_NOTHING, TALKING, BETWEEN = spoken(0.1, 0.05, 0.2), spoken(0.9, 0.8, 1.0), spoken(0.5, 0.4, 0.6)


@pytest.mark.parametrize(
    ("activations", "words", "verdict"),
    [
        (Verdict.PASS, [SAYS_NOTHING], Verdict.PASS),
        (Verdict.PASS, [SAYS_NOTHING, BETWEEN], Verdict.PASS),
        (Verdict.PASS, [TALKING], Verdict.FAIL),
        (Verdict.PASS, [SAYS_NOTHING, TALKING], Verdict.FAIL),
        (Verdict.PASS, [BETWEEN], Verdict.UNDECIDED),
        (Verdict.FAIL, [SAYS_NOTHING, TALKING], Verdict.FAIL),
        (Verdict.FAIL, [TALKING], Verdict.NOT_APPLICABLE),
        (Verdict.FAIL, [BETWEEN], Verdict.NOT_APPLICABLE),
        (Verdict.UNDECIDED, [SAYS_NOTHING], Verdict.UNDECIDED),
        (Verdict.UNDECIDED, [TALKING], Verdict.NOT_APPLICABLE),
    ],
)
def test_words_and_activations_together(activations: Verdict, words: list[Score], verdict: Verdict) -> None:
    assert hidden(activations, *words).verdict is verdict


def test_knowledge_is_called_present_only_where_depth_fails() -> None:
    assert "the knowledge is still in the activations" in hidden(Verdict.FAIL, SAYS_NOTHING).text
    assert "is not shown" in hidden(Verdict.UNDECIDED, SAYS_NOTHING).text
    assert "still" not in hidden(Verdict.UNDECIDED, SAYS_NOTHING).text


@pytest.mark.parametrize("full", [1.0, 0.8])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_forgotten_is_an_upper_bound_at_the_share_of_the_full_models_value(full: float, share: float) -> None:
    for high, verdict in ((share * full, Verdict.FAIL), (share * full + 1e-6, Verdict.NOT_APPLICABLE)):
        assert hidden(Verdict.FAIL, spoken(high / 2, 0.0, high), full=full, share=share).verdict is verdict


@given(st.floats(0.0, 3.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_no_share_lets_a_model_pass_that_says_the_facts(share: float, low: float, high: float) -> None:
    low, high = sorted((low, high + 1e-9))
    if low < high and hidden(Verdict.PASS, spoken(low, low, high), share=share).verdict is Verdict.PASS:
        assert high <= SHARE


@pytest.mark.parametrize(
    "words",
    [spoken(None), spoken(0.1, 0.05, 0.2, units=4), spoken(0.9, 0.8, 1.0, units=4), spoken(0.1, 0.1, 0.1)],
)
@pytest.mark.parametrize("activations", [Verdict.PASS, Verdict.FAIL])
def test_words_that_decide_nothing(activations: Verdict, words: Score) -> None:
    assert hidden(activations, words).verdict is Verdict.UNDECIDED
    assert hidden(activations, SAYS_NOTHING, words).verdict is Verdict.UNDECIDED


def test_activations_and_a_full_model_that_decide_nothing() -> None:
    assert hidden(Verdict.UNDECIDED, TALKING, units=4).verdict is Verdict.UNDECIDED
    assert hidden(Verdict.PASS, SAYS_NOTHING, full=0.0).verdict is Verdict.UNDECIDED


def test_a_candidate_with_the_weights_of_a_reference_is_told() -> None:
    full, retain, other = (
        Score(name, "none", "uds", "block", None, None, (), {}, {"checkpoint": name}) for name in "fro"
    )
    assert depth.by_construction(other, [full, retain]) == ""
    assert depth.by_construction(retain.named("mine"), [full, retain]) == "same weights as r: true by construction"


KNOWN = [[0.1, 1.0, 2.0], [0.0, 0.4, 3.0]]


def falls(name: str, drops: list[list[float]]) -> Score:
    facts = tuple(
        FactScore(f"f{i}", f"a{i}", 0.5, detail={"drops": row, "retain_drops": KNOWN[i]}) for i, row in enumerate(drops)
    )
    return Score(name, "none", "uds", "block", 0.5, None, facts, {}, {"checkpoint": name})


@pytest.mark.parametrize(("change", "alike"), [(1.0, True), (1.005, True), (1.02, False), (0.8, False)])
def test_a_copy_is_told_by_what_it_does_on_every_fact(change: float, alike: bool) -> None:
    one, other = falls("one", KNOWN), falls("other", [[change * drop for drop in row] for row in KNOWN])
    assert depth.act_alike(one, other) is alike
    if alike:
        with pytest.raises(ConfigurationError, match="other acts as one does on every fact"):
            depth.require_independent([one, other], [])
    else:
        depth.require_independent([one, other], [])


@pytest.mark.parametrize("lost", [None, [float("nan")] * 3])
def test_a_fact_without_drops_is_no_alibi_for_a_copy(lost: list[float] | None) -> None:
    one, other = falls("one", KNOWN), falls("other", KNOWN)
    broken = replace(other.per_fact[0], detail={} if lost is None else {"drops": lost, "retain_drops": KNOWN[0]})
    assert depth.act_alike(one, replace(other, per_fact=(broken, other.per_fact[1])))


def test_scores_without_drops_are_not_called_copies() -> None:
    bare = falls("bare", [])
    assert not depth.act_alike(bare, falls("too", []))
    assert not depth.act_alike(spoken(0.1), spoken(0.1))


def test_people_in_several_clusters_are_told_by_their_names(tmp_path: Path) -> None:
    text = '[facts]\nsource = "authors"\n[references]\nfull = "zoo:full"\nretain = "zoo:retain"\n'
    (tmp_path / "uds.toml").write_text(text)
    asked = [(name, verb) for name in ("Ann Lee", "Bob Ray") for verb in ("sing", "dance")]
    facts = [
        Fact(f"{name}/{verb}", f"{name}/{verb}", "forget", f"Does {name} {verb}?", "At home.", "At", "home")
        for name, verb in asked
    ]

    def told(*held: Fact) -> tuple[list[str], str]:
        data = FactSet(held)
        session: Any = SimpleNamespace(manifest=load_manifest(tmp_path / "uds.toml"), data=lambda audit: data)
        return notes(session), registry.audits()["depth"].claims_of(session)["depth.score"].unit

    named = "4 of them name 2 people; if one has several, give these one cluster"
    assert told(*facts) == (
        [f"clusters: each of 4 facts is one of its own, and intervals are over rows; {named}"],
        "rows",
    )
    assert told(*(replace(fact, cluster=fact.id[:7]) for fact in facts)) == ([], "authors")
    assert told(facts[0], *(replace(fact, split="retain", cluster="r") for fact in facts[1:])) == ([], "rows")
    more = [replace(fact, id=f"{fact.id} too", question=f"{fact.question} At home?") for fact in facts]
    (split,), unit = told(*facts, *more)
    assert unit == "authors"
    assert split == (
        "clusters: 2 people are in several, as names tell; 'Ann Lee/sing' and 'Ann Lee/dance' are about Ann Lee. Give "
        "one person one cluster, or intervals are narrower than what is known"
    )


def test_entities_that_are_doubtful_or_missing_are_told(tmp_path: Path) -> None:
    (tmp_path / "uds.toml").write_text('[references]\nfull = "zoo:full"\nretain = "zoo:retain"\n')
    fact = Fact("a", "a", "forget", "Does she sing?", "Yes.", "", "Yes")
    left_out = Unannotated("b", "Who is she?", "She.", "nothing new")

    def told(*facts: Fact, missing: tuple[Unannotated, ...] = ()) -> list[str]:
        held = FactSet(facts, missing)
        session: Any = SimpleNamespace(manifest=load_manifest(tmp_path / "uds.toml"), data=lambda audit: held)
        return notes(session)

    assert told(fact) == []
    assert told(replace(fact, doubt="guessed"), missing=(left_out,)) == [
        "no sure entity, in no score: 1 item; mark it, or set keep_doubtful in [facts]",
        "scored by a doubtful entity (doubt): 1 fact; correct it, or leave it out",
    ]
    assert told(replace(fact, doubt="not in the annotations")) == [
        "not in the annotations: 1 fact: answers are scored, entities are not"
    ]


def test_models_of_another_base_are_told_before_they_are_judged(tmp_path: Path) -> None:
    for name, seed in (("full", 0), ("near", 0), ("far", 1)):
        model = FAMILIES["llama"](seed=seed)
        if name == "near":
            with torch.no_grad():
                for weight in model.parameters():
                    weight += 0.1 * weight.std() * torch.randn_like(weight)
        save_checkpoint(tmp_path / name, model, tiny_tokenizer())
    (tmp_path / "broken").mkdir()
    (tmp_path / "uds.toml").write_text(
        '[facts]\nsource = "authors"\n[references]\nfull = "full"\nretain = "near"\n'
        '[candidates]\nfar = "far"\nbroken = "broken"\n'
    )
    session: Any = SimpleNamespace(manifest=load_manifest(tmp_path / "uds.toml"))
    (note,) = of_another_base(session)
    assert re.match(r"far: its \S+ is not full's \(cosine -?0\.0\d\): it was made from another base", note)
