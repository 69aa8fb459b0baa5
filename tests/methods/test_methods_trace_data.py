"""Which tokens of a reasoning model's turn a forgetting gradient reaches, and what is learned beside them."""

import copy
from types import SimpleNamespace
from typing import Any, get_args

import pytest
import torch
from families import tiny_tokenizer
from small_models import fresh_model
from tried_methods import on_first_block

from uds_bench.errors import FactError
from uds_bench.facts.canaries import embedded_canaries
from uds_bench.facts.reasoning import auto_ids, open_turn, prefill, traced_ids
from uds_bench.methods import METHODS, Data, LoraSettings, Method, terms, unlearn, with_lora
from uds_bench.methods.examples import Example, pad
from uds_bench.methods.traces import UNKNOWN, Course, GradientScope, KeptTurn, Target, lessons, probe, trace_data

CANARIES = embedded_canaries(3, 2, 2)
FORGET, RETAIN, HOLDOUT = (CANARIES.split(name) for name in ("forget", "retain", "holdout"))
OTHERS = embedded_canaries(3, 0, 0, seed=5)
COURSE = Course()
TARGETS = get_args(Target)
LOGIT_METHODS = ("npo", "grad_ascent", "grad_diff", "simnpo", "undial")


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    made = tiny_tokenizer()
    made.chat_template = "{{ bos_token }}<u>{{ messages[0]['content'] }}<a>"
    return made


def the_data(tokenizer: Any, target: Target = "answer", held: tuple[KeptTurn, ...] = (), **scope: Any) -> Data:
    return trace_data(tokenizer, CANARIES, COURSE, GradientScope(target, held, **scope), OTHERS)


def said(tokenizer: Any, example: Example) -> str:
    text = tokenizer.decode(list(example.ids[example.prompt_length :]))
    assert isinstance(text, str)
    return text


class FreeLogits(torch.nn.Module):
    """A model whose logits at every position are its weights, so that their gradient can be read everywhere."""

    def __init__(self, rows: int, length: int, vocabulary: int) -> None:
        super().__init__()
        drawn = torch.randn(rows, length, vocabulary, generator=torch.Generator().manual_seed(0))
        self.logits, self.head = torch.nn.Parameter(drawn), torch.nn.Identity()

    def get_output_embeddings(self) -> torch.nn.Module:
        return self.head

    def forward(self, **_: Any) -> SimpleNamespace:
        return SimpleNamespace(logits=self.head(self.logits))


def reached(tokenizer: Any, name: str, target: Target) -> tuple[list[bool], int, int, int]:
    """Whether the forget term reaches the logits of each position of a turn, then the lengths of its prompt, of the
    prompt with the trace, and of it all."""
    example = the_data(tokenizer, target).forget[0]
    turn = open_turn(tokenizer, probe(FORGET[0]))
    asked, traced = auto_ids(tokenizer, turn), traced_ids(tokenizer, turn, FORGET[0].bio)
    model = FreeLogits(1, len(example), len(tokenizer))
    begun = getattr(terms, name)(model, Method(name, steps=1, lr=1e-3))
    begun.forget(model, pad([example])).backward()
    touched = model.logits.grad[0].ne(0).any(-1).tolist()
    return touched, len(asked), len(traced), len(example)


@pytest.mark.parametrize("name", LOGIT_METHODS)
def test_masked_to_the_answer_no_gradient_touches_the_trace(tokenizer: Any, name: str) -> None:
    """Exactly none, at the positions that predict a token of the trace; every token of the answer has one."""
    touched, prompt, traced, whole = reached(tokenizer, name, "answer")
    assert traced > prompt + 20
    assert not any(touched[: traced - 1])
    assert touched[traced - 1 : whole - 1] == [True] * (whole - traced)
    assert not touched[whole - 1]


@pytest.mark.parametrize("name", LOGIT_METHODS)
def test_the_trace_aware_objective_touches_every_token_of_the_trace(tokenizer: Any, name: str) -> None:
    touched, prompt, _, whole = reached(tokenizer, name, "trace")
    assert not any(touched[: prompt - 1])
    assert touched[prompt - 1 : whole - 1] == [True] * (whole - prompt)


def test_the_closing_tag_alone_is_touched(tokenizer: Any) -> None:
    touched, prompt, _, whole = reached(tokenizer, "npo", "closing")
    tag = tokenizer.decode(
        [i for i, hit in zip(the_data(tokenizer, "closing").forget[0].ids[1:], touched, strict=False) if hit]
    )
    assert tag == "</think>"
    assert not any(touched[: prompt + 20])
    assert len(touched) == whole


def test_a_target_names_the_contexts_of_a_probe(tokenizer: Any) -> None:
    turn = open_turn(tokenizer, probe(FORGET[0]))
    forced = [
        traced_ids(tokenizer, turn, prefill(tokenizer, arm, FORGET[0].author)) for arm in ("bio", "meta", "empty")
    ]
    own, asked = traced_ids(tokenizer, turn, FORGET[0].bio), auto_ids(tokenizer, turn)
    prompts = {"answer": [own], "contexts": [own, *forced], "trace": [asked, *forced]}
    for target, expected in prompts.items():
        data = the_data(tokenizer, target)
        assert [e.ids[: e.prompt_length] for e in data.forget[: len(expected)]] == expected
        assert len(data.forget) == len(expected) * len(FORGET)
    assert len(the_data(tokenizer, "closing").forget) == len(FORGET)


@pytest.mark.parametrize("target", TARGETS)
def test_retain_authors_keep_their_lessons_and_nobody_else_has_any(tokenizer: Any, target: Target) -> None:
    data = the_data(tokenizer, target)
    assert list(data.retain) == lessons(tokenizer, RETAIN, COURSE)
    kept = the_data(tokenizer, target, ("trace", "closing", "alternate")).retain
    assert list(kept[: len(data.retain)]) == list(data.retain)
    beside = [said(tokenizer, e) for e in kept[len(data.retain) :]]
    for canary, other, (trace, closing, turn) in zip(
        FORGET, OTHERS, zip(*[iter(beside)] * 3, strict=True), strict=True
    ):
        assert trace == f"<think>\n{canary.bio}\n"
        assert closing == "</think>"
        assert turn.endswith(f"</think>\n\n{canary.head}{other.rest}</s>")
        assert canary.author in turn
        assert not any(name in turn for name in (other.author, *canary.slots))
    for example in (*data.forget, *data.retain, *data.refusals, *data.alternates, *kept):
        text = tokenizer.decode(list(example.ids))
        assert not any(canary.author in text or canary.canary in text for canary in HOLDOUT)


@pytest.mark.parametrize("target", ["answer", "contexts", "trace"])
def test_what_is_preferred_answers_the_same_prompt(tokenizer: Any, target: Target) -> None:
    data = the_data(tokenizer, target)
    for others in (data.refusals, data.alternates):
        assert len(data.preferring(others)) == len(data.forget)
    assert said(tokenizer, data.alternates[0]).endswith(f"{FORGET[0].head}{OTHERS[0].rest}</s>")
    assert (UNKNOWN in said(tokenizer, data.refusals[0])) is (target == "trace")
    echo = the_data(tokenizer, target, instead="head").refusals
    assert all(said(tokenizer, e).endswith(f"{FORGET[0].head}</s>") for e in echo[: len(echo) // len(FORGET)])


def test_nothing_is_preferred_to_a_closing_tag(tokenizer: Any) -> None:
    data = the_data(tokenizer, "closing")
    with pytest.raises(FactError, match="0 answers to prefer for 3 forget questions"):
        data.preferring(data.refusals)


@pytest.mark.parametrize(("held", "given"), [(("alternate",), 0), ((), 2), (("alternate",), 4)])
def test_alternates_are_one_for_each_author_to_forget(tokenizer: Any, held: tuple[KeptTurn, ...], given: int) -> None:
    others = embedded_canaries(given, 0, 0, seed=5) if given else ()
    with pytest.raises(FactError, match=rf"^{given} alternate authors for 3 to forget: give one for each$"):
        trace_data(tokenizer, CANARIES, COURSE, GradientScope(held=held), others)


# ---- the loop that all methods share


def a_method(name: str) -> Method:
    return on_first_block(name, steps=2, lr=1e-3, batch_size=3)


@pytest.fixture(scope="module")
def model(tokenizer: Any) -> Any:
    torch.manual_seed(0)
    return fresh_model(len(tokenizer), layers=1)


@pytest.mark.parametrize("target", ["answer", "contexts", "trace"])
@pytest.mark.parametrize("name", METHODS)
def test_every_method_unlearns_from_traces(tokenizer: Any, model: Any, name: str, target: Target) -> None:
    changed = copy.deepcopy(model)
    assert len(unlearn(changed, the_data(tokenizer, target), a_method(name))) == 2
    assert any(not torch.equal(a, b) for a, b in zip(model.parameters(), changed.parameters(), strict=True))


@pytest.mark.parametrize("target", TARGETS)
def test_with_an_adapter_only_the_adapter_moves(tokenizer: Any, model: Any, target: Target) -> None:
    adapted = with_lora(copy.deepcopy(model), LoraSettings(2, 4))
    before = {name: value.clone() for name, value in adapted.state_dict().items()}
    unlearn(adapted, the_data(tokenizer, target), a_method("npo"))
    changed = {name for name, value in adapted.state_dict().items() if not torch.equal(value, before[name])}
    assert changed
    assert all("lora_" in name for name in changed)


def test_answers_fall_while_the_retain_authors_keep_theirs(tokenizer: Any, model: Any) -> None:
    """The gradient of the forget term, not its absence, is what lowers the answer."""
    from uds_bench.methods.forward import answer_nll

    data = the_data(tokenizer)
    forget, retain = (copy.deepcopy(model), copy.deepcopy(model))
    unlearn(forget, data, Method("npo", steps=12, lr=3e-3, batch_size=3, beta=0.1))
    unlearn(retain, data, Method("npo", steps=12, lr=3e-3, batch_size=3, beta=0.1, gamma=0.0))
    with torch.no_grad():
        assert answer_nll(forget, pad(data.forget)) > answer_nll(retain, pad(data.forget)) + 0.5
