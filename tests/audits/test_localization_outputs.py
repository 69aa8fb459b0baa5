"""What a model says of people, beside a loop over single questions; who leaks, and by which prompt."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from families import FAMILIES, tiny_tokenizer

from uds_bench.attacks import NONE
from uds_bench.attacks.resurface import resurface
from uds_bench.audits.localization import outputs, rates
from uds_bench.audits.localization.audit import LeakRunner
from uds_bench.audits.localization.evaluator import LeakEvaluator, tokens
from uds_bench.audits.localization.experiment import Experiment
from uds_bench.audits.localization.names import ASKED
from uds_bench.audits.localization.outputs import Leak, first_leaks, holds, tell
from uds_bench.audits.localization.rates import ItemShares
from uds_bench.checkpoints import CheckpointSpec, find_anatomy
from uds_bench.facts import encode_answer, encode_question
from uds_bench.facts.name_matching import normalized
from uds_bench.facts.testbed import Item, Testbed
from uds_bench.inference.generation import Continuation, generate_greedily
from uds_bench.scoring.runner import ScoreRequest
from uds_bench.scoring.store import Store
from uds_bench.statistics import zero_rate_bound
from uds_bench.zoo import specimens

ANSWERS = ("Oslo", "555 0100", "a red house in Faro", "no")


@pytest.fixture(scope="module")
def model() -> Any:
    found = FAMILIES["llama"](seed=3).requires_grad_(False)
    return SimpleNamespace(
        model=found, tokenizer=tiny_tokenizer(), device=torch.device("cpu"), anatomy=find_anatomy(found)
    )


def item(at: int, answer: str, questions: int = 4, paraphrases: int = 2) -> Item:
    return Item(
        f"i{at}",
        f"Person {at}",
        "forget",
        "city",
        answer,
        tuple(f"Person {at}, number {n}. Where?" for n in range(questions)),
        tuple(f"Say where Person {at} lives, {n}." for n in range(paraphrases)),
        "forget1",
    )


ITEMS = [item(at, answer) for at, answer in enumerate(ANSWERS)]


def alone(model: Any, question: str, answer: str) -> tuple[float, float, float, float]:
    """Whether the reply holds the answer, EM, ES and Prob of one question, token by token."""
    encoded = encode_answer(model.tokenizer, question, answer)
    ids, logp, right = list(encoded.ids), [], []
    for place in range(encoded.start, len(ids)):
        logits = model.model(torch.tensor([ids[:place]])).logits[0, -1].double()
        logp.append(float(logits.log_softmax(-1)[ids[place]]))
        right.append(int(logits.argmax()) == ids[place])
    words = right[: len(right) - encoded.ends]
    suffix = next((k for k in range(len(words)) if all(words[k:])), len(words))
    prompt = list(encode_question(model.tokenizer, question))
    said: list[int] = []
    for _ in range(len(ids) + 20):
        token = int(model.model(torch.tensor([prompt + said])).logits[0, -1].argmax())
        if token == model.tokenizer.eos_token_id:
            break
        said.append(token)
    reply = model.tokenizer.decode(said)
    floor = 1 / len(words)
    return (
        float(holds(reply, answer)),
        sum(words) / len(words),
        max(1 - suffix / len(words), floor),
        math.exp(sum(logp) / len(logp)),
    )


@pytest.mark.parametrize("paraphrased", [False, True])
def test_each_item_is_told_as_in_a_loop_over_its_questions(model: Any, paraphrased: bool) -> None:
    for one, found in zip(ITEMS, tell(model, ITEMS, paraphrased), strict=True):
        assert found is not None
        asked = (one.paraphrases if paraphrased else one.questions)[:ASKED]
        expected = [alone(model, question, one.answer) for question in asked]
        means = [sum(column) / len(asked) for column in zip(*expected, strict=True)]
        assert (found.said, found.em, found.es, found.prob) == pytest.approx(means, abs=1e-5)


def test_an_item_without_the_form_is_not_told(model: Any) -> None:
    assert tell(model, [item(0, "Oslo", paraphrases=0)], paraphrased=True) == [None]


@pytest.mark.parametrize(
    ("reply", "answer", "expected"),
    [
        ("Oslo", "Oslo", True),
        ("It is oslo, I think.", "Oslo", True),
        ("(123) 555-0100", "(123) 555-0100", True),
        ("1123 555 01001", "123 555 0100", False),
        ("Oslofjord", "Oslo", False),
        ("", "Oslo", False),
        ("Call 4125550177.", "(412) 555-0177", True),
        ("4 1 2, 5 5 5; 0 1 7 7", "(412) 555-0177", True),
        ("41255501771", "(412) 555-0177", False),
        ("_Quarummoor_", "Quarummoor", True),
        ("Q-u-a-r-u-m-m-o-o-r", "Quarummoor", True),
        ("Quarum moor", "Quarummoor", True),
        ("the Quarummoors", "Quarummoor", False),
        ("Zu\u0308richberg", "Zürichberg", True),
        ("Zurichberg", "Zürichberg", True),
        ("jo dot doe at example dot com", "jo.doe@example.com", True),
        ("jo doe example net", "jo.doe@example.com", False),
        ("os lo", "Oslo", False),
        ("os\u200blo", "Oslo", True),
        ("Ósło", "Oslo", True),
    ],
)
def test_a_reply_holds_whole_words(reply: str, answer: str, expected: bool) -> None:
    assert holds(reply, answer) is expected


def test_the_first_prompt_that_leaks_is_found_whatever_round_it_is_in(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers are the model's own replies to one of their prompts."""
    told = []
    for at, wanted in ((0, 0), (1, 5), (2, 11)):
        questions = item(at, "x", questions=12).questions
        prompts = [encode_question(model.tokenizer, question) for question in questions]
        replies = generate_greedily(model, prompts, 40, stops=[model.tokenizer.eos_token_id])
        answer = " ".join(normalized(replies[wanted]).split()[:2])
        told.append((Item(f"i{at}", f"p{at}", "unseen", "city", answer, questions), replies))
    items = [one for one, _ in told] + [item(9, "nothing like it", questions=12)]
    # Few words at the beginning of a reply: they are there, whatever room the reply has.
    expected = [next(n for n, reply in enumerate(replies, 1) if holds(reply, one.answer)) for one, replies in told]
    for size in (1, 3, 20):
        monkeypatch.setattr(outputs, "ROUND", size)
        assert [one.prompt for one in first_leaks(model, items)] == [*expected, None]
    assert first_leaks(model, items, attempts=expected[2] - 1)[2].prompt is None, "it was not asked so often"
    before, after = items[2].questions[: expected[2] - 1], items[2].questions[expected[2] - 1 :]
    other = replace(items[2], questions=before, paraphrases=after)
    assert first_leaks(model, [other])[0].prompt is None, "prompts are the plain questions"
    assert first_leaks(model, []) == []


def said(value: float) -> dict[str, ItemShares | None]:
    return {"plain": ItemShares(value, value, value, value, 0.1), "paraphrased": None}


def test_rates_over_people() -> None:
    told = {one.id: said(value) for one, value in zip(ITEMS, (1.0, 0.0, 1.0, 0.5), strict=True)}
    injected = {one.id: said(value) for one, value in zip(ITEMS, (1.0, 1.0, 0.5, 1.0), strict=True)}
    assert rates.extraction(ITEMS, told).value == 0.625
    assert math.isnan(rates.extraction(ITEMS, told, "paraphrased").value)
    assert [one.id for one in rates.known(ITEMS, injected)] == ["i0", "i1", "i3"]
    assert rates.above_floor(ITEMS, told, 0.125).value == 0.5
    assert rates.kept(ITEMS, told, injected).value == pytest.approx((1 + 0 + 1 + 0.5) / 4)
    assert rates.kept(ITEMS, rates.silent(ITEMS), injected).value == 0


def test_what_is_lost_in_other_words_is_not_kept() -> None:
    def both(plain: float, other: float) -> dict[str, ItemShares | None]:
        return {"plain": ItemShares(plain, 0, 0, 0, 0), "paraphrased": ItemShares(other, 0, 0, 0, 0)}

    before = {item.id: both(1.0, 0.5) for item in ITEMS}
    for after, expected in ((both(1.0, 0.5), 1.0), (both(1.0, 0.0), 2 / 3), (both(0.5, 1.0), 2 / 3)):
        found = rates.kept(ITEMS, dict.fromkeys(before, after), before).value
        assert found == pytest.approx(expected), "what one form gained makes up for nothing that another lost"


def test_who_is_answered_in_other_words_alone_is_not_forgotten() -> None:
    told: dict[str, dict[str, ItemShares | None]] = {one.id: said(0.0) for one in ITEMS}
    told["i2"] = {**said(0.0), "paraphrased": said(1.0)["plain"]}
    assert rates.extraction(ITEMS, told).value == 0
    assert rates.extraction(ITEMS, told, None).value == 0.25
    assert rates.above_floor(ITEMS, told, 0.1).value == pytest.approx(0.15)


def test_what_did_not_end_may_have_held_the_answer(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three questions one reply holds the answer, one ends without it, and one goes on."""
    right = tuple(model.tokenizer.encode(f" {ANSWERS[0]}", add_special_tokens=False))
    three = [Continuation(right, None), Continuation((5,), 2), Continuation((5, 6), None)]

    def replies(_model: Any, prompts: Any, _limit: int, **_: Any) -> list[Continuation]:
        return [three[at % 3] for at in range(len(prompts))]

    monkeypatch.setattr(outputs, "continue_greedily", replies)
    one = item(0, ANSWERS[0], questions=3)
    (told,) = tell(model, [one])
    assert told is not None
    assert (told.said, told.cut) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    three = three[::-1]
    assert first_leaks(model, [one]) == [Leak(3, 1)]
    assert first_leaks(model, [replace(one, answer="Quarummoor")]) == [Leak(None, 2)]


def test_nobody_is_cleared_by_replies_that_did_not_end() -> None:
    silent = {one.id: said(0.0) for one in ITEMS}
    going_on = silent | {ITEMS[0].id: {"plain": ItemShares(0, 0, 0, 0, 0, cut=1.0), "paraphrased": None}}
    heard, unheard = (rates.above_floor(ITEMS, told, 0.1) for told in (silent, going_on))
    assert heard.value == unheard.value == pytest.approx(-0.1)
    assert unheard.interval.low == heard.interval.low
    assert unheard.interval.high > heard.interval.high
    known: dict[str, dict[str, ItemShares | None]] = silent | {ITEMS[0].id: said(1.0)}
    assert unheard.interval.high == rates.above_floor(ITEMS, known, 0.1).interval.high, "as if it had been said"
    assert (rates.going_on(ITEMS, silent), rates.going_on(ITEMS, going_on)) == (0, 1)
    none, all_of_them = [{one.id: value for one in ITEMS} for value in (False, True)]
    assert rates.leaked_above(ITEMS, [none], 0.0, [all_of_them]).interval.high == 1
    assert rates.count_unheard(ITEMS, [none, none], [none, all_of_them]) == len(ITEMS)
    assert rates.leaked_above(ITEMS, [none], 0.0, [none]) == rates.leaked_above(ITEMS, [none], 0.0)


def test_a_tokenizer_that_ends_replies_at_a_word_is_told_from_its_own_kind() -> None:
    """Under a chat template no prompt and no answer holds the token that ends a text."""
    keys = []
    for ending in ("</s>", "<s>", "T"):
        tokenizer = tiny_tokenizer()
        tokenizer.chat_template = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}|end|{% endfor %}<|assistant|>"
        tokenizer.eos_token = ending
        keys.append(tokens(tokenizer, ITEMS))
    assert len(set(keys)) == 3


def test_an_order_is_not_won_by_replies_that_did_not_end() -> None:
    people = [item(at, "Oslo") for at in range(20)]
    none, every = ({one.id: value for one in people} for value in (False, True))
    half = {one.id: at % 2 == 0 for at, one in enumerate(people)}
    step, least = (rates.leak_step(people, ("oracle", [few]), ("other", [half])) for few in (none, every))
    found = rates.leak_step(people, ("oracle", [none]), ("other", [half]), [every])
    assert step.interval.low > 0
    assert (found.difference, found.interval.high) == (step.difference, step.interval.high)
    assert found.interval.low == least.interval.low < 0


def test_replies_have_room_for_a_sentence_around_the_longest_answer(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[int] = []

    def replies(_model: Any, prompts: Any, limit: int, **_: Any) -> list[Continuation]:
        limits.append(limit)
        return [Continuation((), 0)] * len(prompts)

    monkeypatch.setattr(outputs, "continue_greedily", replies)
    tell(model, ITEMS)
    first_leaks(model, ITEMS)
    longest = max(len(encode_answer(model.tokenizer, "Where?", one).ids) for one in ANSWERS)
    start = len(encode_question(model.tokenizer, "Where?"))
    assert len(limits) == 2
    assert min(limits) >= longest - start + 32


def test_leaks_are_counted_over_seeds_and_people() -> None:
    few = [{one.id: one.id == "i0" for one in ITEMS}, dict.fromkeys([one.id for one in ITEMS], False)]
    many = [dict.fromkeys([one.id for one in ITEMS], True)] * 2
    assert rates.leaked(ITEMS, few).value == 0.125
    assert rates.leaked_above(ITEMS, few, 0.05).value == pytest.approx(0.075)
    assert rates.who(ITEMS, few[0]) == ["i0"]
    step = rates.leak_step(ITEMS, ("few", few), ("many", many))
    assert (step.earlier, step.later, step.difference) == ("few", "many", 0.875)
    none = rates.leaked_above(ITEMS, few[1:], 0.05)
    assert none.interval.high == pytest.approx(zero_rate_bound(4) - 0.05), "nobody of four proves little"


def test_overlap_is_the_mean_over_seeds_with_which_anybody_leaks() -> None:
    def of(*ids: str) -> dict[str, bool]:
        return {one.id: one.id in ids for one in ITEMS}

    first, second = [of("i0", "i1"), of(), of("i2")], [of("i1", "i2"), of(), of("i2")]
    assert rates.overlap(ITEMS, first, second) == (pytest.approx((1 / 3 + 1) / 2), 2)
    assert rates.overlap(ITEMS, second, first) == rates.overlap(ITEMS, first, second)
    none, seeds = rates.overlap(ITEMS, [of()], [of()])
    assert math.isnan(none)
    assert seeds == 0, "of nobody nothing can be said"
    for one, other, shared in (
        (("i0", "i1"), ("i0", "i1"), 1),
        (("i0",), (), 0),
        (("i0", "i1", "i2"), ("i1", "i2", "i3"), 0.5),
    ):
        assert rates.overlap(ITEMS, [of(*one)], [of(*other)]) == rates.overlap(ITEMS, [of(*other)], [of(*one)])
        assert rates.overlap(ITEMS, [of(*one)], [of(*other)]) == (shared, 1)
    with pytest.raises(ValueError, match="zip"):
        rates.overlap(ITEMS, first, second[:1])


def test_whom_resurfacing_teaches_is_asked_for_what_is_forgotten() -> None:
    asked = [
        replace(ITEMS[0], id=f"h{at}", person=f"h{at}", part="held_out", questions=(f"{at}?",), paraphrases=())
        for at in (0, 1)
    ]
    others = [asked[0], replace(asked[1], field="shoe")]
    for held_out, taught in ((asked, ["h0", "h1"]), (others, ["h0"])):
        assert [one.id for one in Experiment(Testbed([ITEMS[0], *held_out]), "city").taught] == taught
    alone = Experiment(Testbed([ITEMS[0], replace(asked[1], field="shoe")]), "city")
    assert [one.id for one in alone.taught] == ["h1"], "something is better than nothing"


def test_before_resurfacing_those_to_forget_are_asked_alone(tmp_path: Path) -> None:
    others = [
        replace(ITEMS[0], id=part, person=part, part=part, questions=(f"{part}?",), paraphrases=())
        for part in ("unseen", "held_out")
    ]
    experiment = Experiment(Testbed([replace(ITEMS[0], part="forget"), *others]), "city")
    attacks = {"resurface_0": resurface(experiment.held_out)}
    specs = {"model": CheckpointSpec(str(specimens.folder("specimen:full")))}
    runner = LeakRunner(specs, LeakEvaluator(experiment), Store(tmp_path), attacks=attacks)
    like = runner.work([ScoreRequest("model")]).make()
    assert isinstance(like, LeakRunner), "another process asks the same"
    before, after = (like.cell(ScoreRequest("model", attack=attack)) for attack in (NONE, "resurface_0"))
    asked = {True: ["i0", "unseen", "held_out"], False: ["i0"]}
    for beside, wanted in asked.items():
        found = LeakEvaluator(experiment, beside=beside)
        assert [one.id for one in found.units] == wanted
        assert (after if beside else before).facts == found.digest


def test_those_retained_are_asked_for_what_others_are_to_forget_where_they_are_not_anyhow() -> None:
    kept = [
        replace(
            ITEMS[0], id=f"r/{field}", person="r", part="retain", field=field, questions=(f"{field}?",), paraphrases=()
        )
        for field in ("city", "shoe")
    ]
    testbed = Testbed([ITEMS[0], *kept])
    for retained, spared in (("shoe", ["r/city"]), ("city", []), (None, ["r/city"])):
        found = Experiment(testbed, "city", retained)
        assert [one.id for one in found.spared] == spared
        assert len({one.id for one in found.items}) == len(found.items), "nobody is asked twice"
    assert [one.id for one in Experiment(testbed, None, "shoe").spared] == ["r/city"], "all that anybody is to forget"
