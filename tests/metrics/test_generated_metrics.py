"""ROUGE, fluency, model utility and free entity accuracy: against plain references, and what counts as what."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate, pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from forced_subjects import FACTS, TOKENIZER, checkpoint, fact, subject
from hypothesis import given
from hypothesis import strategies as st
from references import layered, outputs

from uds_bench.facts import Fact, FactSet, encode_question
from uds_bench.facts.fact import WORLD
from uds_bench.metrics import METRICS
from uds_bench.metrics.entity_accuracy import says
from uds_bench.metrics.fluency import distinct_share
from uds_bench.metrics.metric import FactValue, Measured, MetricSummary
from uds_bench.metrics.rouge import JAILBREAK, NO_WORD, rouge_l, round_trip
from uds_bench.metrics.subject import Subject
from uds_bench.statistics import harmonic_mean
from uds_bench.storage import content_key

FORGET = FACTS.split("forget")
SAMPLE = ("author", "lives", "authors", "living", "by", "the", "sea", "1998", "Norway's", "Bergen,", "ran")
WORDS = st.lists(st.sampled_from(SAMPLE), max_size=9)
TEXTS = WORDS.map(" ".join)


def said(texts: Mapping[str, Sequence[str]], facts: FactSet = FACTS) -> Any:
    """A subject whose generations are given, by the words that were put into its mouth."""
    forget = facts.split("forget")
    found = SimpleNamespace(
        checkpoint=SimpleNamespace(tokenizer=TOKENIZER),
        facts=forget,
        spans=forget,
        asking=None,
        generations=lambda start="", form="original": texts.get(f"{form} {start}".strip(), texts[start]),
        questions=lambda start="", form="original": [encode_question(TOKENIZER, f.question, start) for f in forget],
    )
    found.replies = lambda: Subject.replies(found)
    return found


@cache
def shared() -> Subject:
    """One subject for all that only read its generations."""
    return subject()


def compute(name: str, subject: Any, variant: str | None = None) -> Measured:
    return METRICS[name].compute(subject, METRICS[name].variant(variant))


def numbers(measured: Measured) -> list[float | None]:
    return [value.value for value in measured.values]


# ---- ROUGE


@given(TEXTS.filter(bool), TEXTS)
def test_rouge_is_the_reference(answer: str, text: str) -> None:
    assert rouge_l([answer], text) == pytest.approx(layered.rouge_l_recall(answer, text))
    assert rouge_l([answer], answer) == 1
    assert rouge_l([answer], "") == 0
    assert rouge_l([answer, text or "x"], text) >= rouge_l([answer], text)
    assert rouge_l([answer], f"{text} and more") >= rouge_l([answer], text), "recall has no price for length"


def test_three_rouges_differ_in_what_is_asked_and_what_is_true() -> None:
    plain, opened = [f.answer for f in FORGET], [f.paraphrased_answer or "" for f in FORGET]
    found = said({"": plain, JAILBREAK: opened})
    assert numbers(compute("rouge", found)) == [1.0] * len(FORGET)
    paraphrased = [layered.rouge_l_recall(f.paraphrased_answer or "", f.answer) for f in FORGET]
    assert numbers(compute("para_rouge", found)) == pytest.approx(paraphrased)
    jailbroken = [layered.rouge_l_recall(f.answer, f.paraphrased_answer or "") for f in FORGET]
    assert numbers(compute("jailbreak_rouge", found)) == pytest.approx(jailbroken)
    assert max(*paraphrased, *jailbroken) < 1


@pytest.mark.parametrize("name", ["rouge", "para_rouge", "jailbreak_rouge"])
def test_rouge_through_a_model(name: str) -> None:
    whole, loaded = compute(name, shared()), checkpoint()
    for one, found in zip(FORGET, whole.values, strict=True):
        prompt = f"Question: {one.question}\nAnswer:" + (f" {JAILBREAK}" if name == "jailbreak_rouge" else "")
        ids, lead = layered.greedy(loaded.model, TOKENIZER(prompt)["input_ids"], 40, [TOKENIZER.eos_token_id])
        if lead > 1e-5:
            assert found.detail["answer"].startswith(TOKENIZER.decode(ids).rstrip("�"))
        answer = one.paraphrased_answer if name == "para_rouge" else one.answer
        assert found.value == pytest.approx(layered.rouge_l_recall(answer or "", found.detail["answer"]))


def test_an_empty_generation_is_scored_and_counted() -> None:
    texts = ["" if i % 2 else f.answer for i, f in enumerate(FORGET)]
    for name in ("rouge", "fluency"):
        found = compute(name, said({"": texts}))
        assert numbers(found) == [float(i % 2 == 0) for i in range(len(FORGET))]
        assert found.notes["empty"] == len(FORGET) // 2


def test_facts_that_rouge_cannot_judge_are_invalid() -> None:
    lacking = Fact("lacking", "a", "forget", "Who?", "It is Ada.", "It is ", "Ada")
    foreign = Fact("foreign", "a", "forget", "Where?", "東京", "", "東京", paraphrased_answer="東京です")
    found = said({"": ["It is Ada.", "東京"]}, FactSet([lacking, foreign]))
    assert [v.reason for v in compute("rouge", found).values] == [None, NO_WORD]
    values = compute("para_rouge", found).values
    assert [v.reason for v in values] == ["the fact has no paraphrased_answer", NO_WORD]
    assert [v.value for v in values] == [None, None]
    assert [(v.id, v.detail) for v in values] == [
        ("lacking", {"answer": "It is Ada."}),
        ("foreign", {"answer": "東京"}),
    ]
    right = compute("rouge", found).values[0]
    assert (right.id, right.detail) == ("lacking", {"answer": "It is Ada."})


def test_what_was_asked_is_noted() -> None:
    found = said({"": [f.answer for f in FORGET], JAILBREAK: [f.answer for f in FORGET]})
    for name, opening in (("rouge", ""), ("jailbreak_rouge", JAILBREAK), ("fluency", "")):
        assert compute(name, found).notes["rendered"] == content_key(found.questions(opening))


def test_the_true_answer_is_spelled_by_the_models_tokens() -> None:
    assert round_trip(TOKENIZER, "Tromsø, Norway.") == "Tromsø, Norway."

    class Lossy:
        def __call__(self, text: str, add_special_tokens: bool) -> dict[str, list[str]]:
            return {"input_ids": text.lower().split()}

        def decode(self, ids: list[str], skip_special_tokens: bool) -> str:
            return " ".join(ids)

    assert round_trip(Lossy(), "Ada  LOVELACE") == "ada lovelace"


# ---- fluency


@given(st.lists(st.integers(0, 3), min_size=4, max_size=30), st.integers(1, 4))
def test_fluency_is_the_reference(tokens: list[int], n: int) -> None:
    assert distinct_share(tokens, n) == pytest.approx(1 - layered.repetition(tokens, n))
    assert 0 < distinct_share(tokens, n) <= 1


def test_a_loop_is_not_fluent_and_a_short_answer_is() -> None:
    assert distinct_share([7] * 200) == pytest.approx(1 / 197)
    assert distinct_share([1, 2, 3]) == 1
    assert distinct_share([]) == 0
    loop = compute("fluency", said({"": ["umi" * 150] * len(FORGET)}))
    assert all(value is not None and value < 0.1 for value in numbers(loop))
    assert [one.id for one in loop.values] == [one.id for one in FORGET]


def test_fluency_is_of_the_words_that_were_said() -> None:
    """Neither of a token that a tokenizer puts before each text, nor of blanks."""

    def spelled(text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        return {"input_ids": [0] * 9 * add_special_tokens + list(text.encode())}

    found = said({"": ["umi umi umi", *["  "] * (len(FORGET) - 1)]})
    found.checkpoint.tokenizer = spelled
    assert numbers(compute("fluency", found)) == [distinct_share(list(b"umi umi umi")), *[0.0] * (len(FORGET) - 1)]


# ---- model utility


RETAIN = FactSet([fact(i, "forget", 0) for i in range(2)] + [fact(i, "retain", i // 2) for i in range(6)])


def plain_parts(model: Any, one: Fact, text: str) -> tuple[float, float, float]:
    def logp(answer: str) -> float:
        prompt = TOKENIZER(f"Question: {one.question}\nAnswer:")["input_ids"]
        tokens = [*TOKENIZER(f" {answer}", add_special_tokens=False)["input_ids"], TOKENIZER.eos_token_id]
        logits = layered.depth.logits_of(model, [*prompt, *tokens])[len(prompt) - 1 : -1]
        return math.log(outputs.prob(logits.tolist(), tokens))

    wrong = [logp(answer) for answer in one.perturbed_answers]
    ratio = math.exp(math.fsum(wrong) / len(wrong) - logp(one.paraphrased_answer or ""))
    return math.exp(logp(one.answer)), layered.rouge_l_recall(one.answer, text), max(0.0, 1 - ratio)


def test_utility_is_the_harmonic_mean_of_three_means() -> None:
    found = compute("model_utility", subject(facts=RETAIN))
    kept = RETAIN.split("retain")
    assert [v.id for v in found.values] == [f.id for f in kept]
    rows = [
        plain_parts(checkpoint().model, one, value.detail["answer"])
        for one, value in zip(kept, found.values, strict=True)
    ]
    means = [math.fsum(column) / len(rows) for column in zip(*rows, strict=True)]
    assert [found.notes[part] for part in ("prob", "rouge", "truth_ratio")] == pytest.approx(means, abs=1e-5)
    assert found.summary is not None
    assert found.summary.value == pytest.approx(harmonic_mean(*means), abs=1e-5)
    for value, row in zip(found.values, rows, strict=True):
        assert value.value == pytest.approx(harmonic_mean(*row), abs=1e-5)


def told(parts: Sequence[tuple[float, float, float]]) -> tuple[float | None, MetricSummary]:
    """What the metric sums up from given parts, one fact an author, through the metric itself."""
    from uds_bench.metrics import model_utility

    names = iter(parts)

    def value(_subject: Any, one: Fact, *_: Any) -> FactValue:
        row = next(names)
        return FactValue(
            one.id, harmonic_mean(*row), detail={"answer": "", **dict(zip(model_utility.PARTS, row, strict=True))}
        )

    facts = FactSet(fact(i, "retain", i % 6) for i in range(len(parts)))
    empty: Any = [[] for _ in parts]
    stub: Any = SimpleNamespace(
        split=lambda _: facts, generations=lambda **_: [""] * len(parts), answers=lambda *_: empty
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_utility, "_value", value)
        found = model_utility.METRIC.compute(stub, "retain")
    assert found.summary is not None
    return found.summary.value, found.summary


def test_utility_interval_holds_its_value_and_follows_spread() -> None:
    narrow = told([(0.5, 0.5 + 0.01 * i, 0.5) for i in range(6)])
    wide = told([(0.2 + 0.1 * i, 0.5, 0.9 - 0.1 * i) for i in range(6)])
    for value, summary in (narrow, wide):
        assert summary.interval is not None
        assert value is not None
        assert summary.interval.low <= value <= summary.interval.high
        assert summary.interval.units == 6
    assert narrow[1].interval is not None
    assert wide[1].interval is not None
    assert 0 < narrow[1].interval.width < wide[1].interval.width


WORLDLY = FactSet(
    [*RETAIN, *(replace(fact(i, "retain", i), id=f"{split}-{i}", split=split) for split in WORLD for i in range(5))]
)


def test_utility_of_nine_parts_is_that_of_the_field(monkeypatch: pytest.MonkeyPatch) -> None:
    one = subject(facts=WORLDLY)
    # A random model says no word of the answers, and a mean of nothing would be no test.
    monkeypatch.setattr(one, "generations", lambda split: [f.answer[len(f.id) :] for f in one.split(split)])
    found = compute("model_utility", one, "nine")
    assert [v.id for v in found.values] == [f.id for f in RETAIN.split("retain")]
    said = {split: [f.answer[len(f.id) :] for f in WORLDLY.split(split)] for split in ("retain", *WORLD)}
    model, end = checkpoint().model, TOKENIZER.eos_token_id

    def nll(question: str, answer: str) -> float:
        prompt = TOKENIZER(f"Question: {question}\nAnswer:")["input_ids"]
        tokens = [*TOKENIZER(f" {answer}", add_special_tokens=False)["input_ids"], end]
        return outputs.nll(layered.depth.logits_of(model, [*prompt, *tokens])[len(prompt) - 1 : -1].tolist(), tokens)

    parts = []
    for split in ("retain", *WORLD):
        rows = []
        for one_fact, text in zip(WORLDLY.split(split), said[split], strict=True):
            true = one_fact.paraphrased_answer if split == "retain" else one_fact.answer
            wrong = [nll(one_fact.question, answer) for answer in one_fact.perturbed_answers]
            own = nll(one_fact.question, one_fact.answer)
            likely = math.exp(-own) if split == "retain" else outputs.prob_with_options(own, wrong)
            ratio = outputs.true_better(nll(one_fact.question, true or ""), wrong)
            rows.append((likely, layered.rouge_l_recall(one_fact.answer, text), ratio))
        parts += [math.fsum(column) / len(rows) for column in zip(*rows, strict=True)]
    names = [
        f"{prefix}{part}"
        for prefix in ("", "real_authors_", "world_facts_")
        for part in ("prob", "rouge", "truth_ratio")
    ]
    assert [found.notes[name] for name in names] == pytest.approx(parts, abs=1e-7)
    assert found.summary is not None
    assert found.summary.value == pytest.approx(9 / math.fsum(1 / part for part in parts), abs=1e-7)
    three = compute("model_utility", one, "retain")
    assert [three.notes[name] for name in names[:3]] == [found.notes[name] for name in names[:3]]
    assert three.notes["rendered"] != found.notes["rendered"]


def test_nine_parts_of_which_six_are_missing_are_no_number() -> None:
    found = compute("model_utility", subject(facts=RETAIN), "nine")
    assert found.summary == MetricSummary(None, None)
    assert found.notes["undefined"] == (
        "the facts have no real_authors, world_facts: variant retain is of the three parts that are there"
    )
    bare = Fact("bare", "bare", "world_facts", "Which?", "Oslo", "", "Oslo")
    found = compute("model_utility", subject(facts=FactSet([*WORLDLY, bare])), "nine")
    assert found.summary == MetricSummary(None, None)
    assert found.notes["undefined"] == "bare: the fact has no perturbed_answers"


def test_of_the_retained_only_facts_with_other_words_are_asked() -> None:
    bare = Fact("bare", "b", "retain", "Who?", "It is Ada.", "It is ", "Ada")
    one = subject(facts=FactSet([*RETAIN, bare]))
    found = compute("model_utility", one)
    assert [v.id for v in found.values] == [f.id for f in METRICS["model_utility"].of(one.references.all_facts)]
    assert len(found.values) == 6
    assert found.summary == compute("model_utility", subject(facts=RETAIN)).summary
    alone = compute("model_utility", subject(facts=FactSet([RETAIN[0], bare])))
    assert alone.summary == MetricSummary(None, None)
    assert alone.notes["undefined"] == "no retain fact could be scored"


# ---- entity accuracy


@pytest.mark.parametrize(
    ("text", "entity", "found"),
    [
        ("He lives in TROMSØ,  Norway!", "Tromsø, Norway", True),
        ("He lives in Tromsøville, Norway", "Tromsø, Norway", False),
        ("Norway, Tromsø", "Tromsø, Norway", False),
        ("", "Tromsø", False),
        ("It is C++.", "+", True),
        ("He lives in T r o m s \u00f8 - Norway", "Troms\u00f8, Norway", True),
        ("He lives in N\u043e\u0433w\u0430\u0443", "No\u0433way", True),
        ("He lives in P\u200baris.", "Paris", True),
        ("\u4ed6\u53eb\u674e\u660e\u3002", "\u674e\u660e", True),
        ("\u4ed6\u53eb\u674e\u71d5\u3002", "\u674e\u660e", False),
    ],
)
def test_an_entity_is_said_as_whole_words(text: str, entity: str, found: bool) -> None:
    assert says(text, entity) == found


def _begins_word(text: str, at: int) -> bool:
    before, after = text[at - 1], text[at + 1 : at + 3]
    return len(after) == 2 and after.isalpha() and (before.islower() or (before.isupper() and after.islower()))


def slowly_said(text: str, entity: str) -> bool:
    """The same letter by letter: the entity's letters one after another, with nothing but signs between and around.

    Of fewer than six the letters of a word stand together, or, of three and more, each by itself by the same signs.
    `aBab` is also read as `a Bab`.
    """
    words = "".join(sign if sign.isalnum() else " " for sign in entity.casefold()).split()
    letters, ends = "".join(words), set(accumulate(map(len, words)))
    shown = "".join(
        f" {sign}" if at and sign.isupper() and _begins_word(text, at) else sign for at, sign in enumerate(text)
    )
    for said in (text, shown):
        places = [at for at, sign in enumerate(said) if sign.isalnum()]
        for first in range(len(places) - len(letters) + 1):
            own = places[first : first + len(letters)]
            if [said[at].casefold() for at in own] != [*letters]:
                continue
            around = not said[own[0] - 1 : own[0]].isalnum() and not said[own[-1] + 1 : own[-1] + 2].isalnum()
            parted = [said[one + 1 : other] for one, other in pairwise(own)]
            together = not any(signs for at, signs in enumerate(parted, 1) if at not in ends)
            signs = parted[0] if parted else ""
            apart = len(letters) > 2 and set(parted) == {signs} and 0 < len(signs) < 4 and not signs.startswith(". ")
            if around and (len(letters) > 5 or together or apart):
                return True
    return False


@given(st.text(alphabet="abA -.", max_size=12), st.text(alphabet="ab -", min_size=1, max_size=8).filter(str.strip))
def test_an_entity_is_found_as_a_slow_reader_finds_it(text: str, entity: str) -> None:
    if any(sign.isalnum() for sign in entity):
        assert says(text, entity) == slowly_said(text, entity)


def test_the_whole_reply_is_read() -> None:
    late = [f"{'no ' * 80}{f.entity}" for f in FORGET]
    assert numbers(compute("entity_accuracy", said({"": late}), "free")) == [1.0] * len(FORGET)
    assert numbers(compute("entity_accuracy", said({"": ["no " * 80] * len(FORGET)}), "free")) == [0.0] * len(FORGET)


def test_who_tells_after_other_words_has_told() -> None:
    silent, telling = ["I do not know."] * len(FORGET), [f"It is {f.entity}." for f in FORGET]
    facts = FactSet(replace(f, paraphrased_question=f"Tell me: {f.question}") for f in FORGET)
    for texts in ({"": silent, "paraphrased": telling}, {"": telling, "paraphrased": silent}):
        found = compute("entity_accuracy", said(texts, facts), "free")
        assert numbers(found) == [1.0] * len(FORGET)
        assert [one.detail["answer"] for one in found.values] == telling
    never = compute("entity_accuracy", said({"": silent, "paraphrased": silent}, facts), "free")
    assert numbers(never) == [0.0] * len(FORGET)
    unasked = compute("entity_accuracy", said({"": silent, "paraphrased": telling}), "free")
    assert numbers(unasked) == [0.0] * len(FORGET), "facts without other words are asked in their own alone"


def test_a_fact_without_other_words_is_not_asked_twice() -> None:
    first, *others = FORGET
    other = replace(first, paraphrased_question=f"Pray tell: {first.question}")
    one = subject(facts=FactSet([other, *others]))
    before, after = one.generations(), one.generations(form="paraphrased")
    assert after[1:] == before[1:]
    alone = subject(facts=FactSet([replace(first, question=str(other.paraphrased_question)), *others]))
    assert after[0] == alone.generations()[0]


def test_generations_of_a_question_are_read_once() -> None:
    one = shared()
    assert one.generations() is one.generations()
    assert one.generations(JAILBREAK) != one.generations()
    assert encode_question(TOKENIZER, "Who?", JAILBREAK)[-3:] != encode_question(TOKENIZER, "Who?")[-3:]
