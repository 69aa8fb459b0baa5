"""Models that look facts up: the slow loop's replies whatever the batch, and what ends a reply that asks on and on."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
import torch
from families import FAMILIES, in_memory, tiny_tokenizer
from references import lookups as slow
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.generation.logits_process import RepetitionPenaltyLogitsProcessor

from uds_bench.audits.lmlm.asking.database_cell import DatabaseCell
from uds_bench.audits.lmlm.asking.probe import Library, probe
from uds_bench.audits.lmlm.judged import judge
from uds_bench.errors import CheckpointError
from uds_bench.facts.lookup_prompts import LookupFact, LookupPrompt, LookupPrompts
from uds_bench.facts.triplets import Triplet, TripletDatabase
from uds_bench.inference.lookups import Decoding, Generation, LookupDecoder, Query, RepetitionPenalty
from uds_bench.inference.markup import END_OF_TEXT, TOKENS, markup_of, query_of, text_and_calls
from uds_bench.retrieval.settings import RetrieverSettings

FLIP = 1e-5
LENGTHS = (1, 2, 3, 4, 5, 9, 17, 40)
"""Of the prompts: below four the smaller limit is not the last word, above any window they are ragged."""
FAMILY_NAMES = ("gpt2", "llama")
DECODINGS = (Decoding(), Decoding((3.0, 1.0, 2.0, 0.0), 1.6), Decoding((0.0, 0.0, 3.0, 0.0), 1.0))
BATCHES = (1, 3, 16)
LEAN = 12.0


def _tokenizer(*more: str) -> Any:
    tokenizer = copy.deepcopy(tiny_tokenizer())
    tokenizer.add_special_tokens({"additional_special_tokens": [*TOKENS, *more]})
    return tokenizer


TOKENIZER = _tokenizer()
MARKUP = markup_of(TOKENIZER, "tiny")


@cache
def model_of(family: str) -> Any:
    """Random weights, but that every token leans towards one that a lookup goes on with: some are well-formed."""
    model = FAMILIES[family](len(TOKENIZER), seed=5)
    head = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    model.lm_head.weight = head
    words = {kind: [token for token in range(3, MARKUP.entity) if token % 4 == kind] for kind in range(4)}
    leads = dict.fromkeys(words[0], MARKUP.entity) | dict.fromkeys(words[1], MARKUP.relationship)
    leads |= dict.fromkeys(words[3], TOKENIZER.eos_token_id) | dict.fromkeys(words[2], MARKUP.value)
    leads |= {MARKUP.entity: words[1][5], MARKUP.relationship: words[2][7]}
    with torch.no_grad():
        for token, following in leads.items():
            model.get_input_embeddings().weight[token] += LEAN * head[following]
    return in_memory(model, TOKENIZER)


def prompts(seed: int = 0) -> list[list[int]]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(3, MARKUP.entity, (length,), generator=generator).tolist() for length in LENGTHS]


def value_of(query: Query) -> str:
    return ("Oslo", "the cold sea", "1998")[sum(map(ord, "".join(query))) % 3]


def respond(wanted: Sequence[tuple[int, Query]]) -> list[str]:
    return [value_of(query) for _, query in wanted]


@cache
def slowly(family: str, at: int, answered: bool, forbidden: bool) -> list[slow.SlowGeneration]:
    model = model_of(family)
    return [
        slow.tell(
            model.model,
            TOKENIZER,
            prompt,
            value_of if answered else None,
            forbidden=forbidden,
            **vars(DECODINGS[at]),
        )
        for prompt in prompts()
    ]


def alike(found: Sequence[Generation], expected: Sequence[slow.SlowGeneration]) -> None:
    for said, told in zip(found, expected, strict=True):
        own = (said.ids, [(call.query, call.value) for call in said.calls], said.cut, said.looped)
        if own != (told.ids, told.calls, told.cut, told.looped):
            assert told.lead <= FLIP


@pytest.mark.parametrize("batch_size", BATCHES)
@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_replies_are_those_of_the_slow_loop(family: str, at: int, answered: bool, batch_size: int) -> None:
    decoder = LookupDecoder(model_of(family), DECODINGS[at], batch_size)
    found = decoder.tell(prompts(), respond if answered else None)
    alike(found, slowly(family, at, answered, False))


def test_the_slow_loop_meets_every_case() -> None:
    """Without it the comparison would be empty: lookups of both kinds, endless ones, and stretches at their limit."""
    told = [
        one
        for family in FAMILY_NAMES
        for at in range(3)
        for answered in (True, False)
        for one in slowly(family, at, answered, False)
    ]
    calls = [call for one in told for call in one.calls]
    assert sum(query is not None for query, _ in calls) >= 20
    assert sum(query is None for query, _ in calls) >= 10
    assert any(one.looped for one in told)
    assert any(one.cut for one in told)
    assert any(not one.cut and not one.looped for one in told)
    assert sum(one.lead <= FLIP for one in told) <= 1


@pytest.mark.parametrize("batch_size", BATCHES)
@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_where_it_is_forbidden_no_markup_is_said(family: str, batch_size: int) -> None:
    decoder = LookupDecoder(model_of(family), DECODINGS[0], batch_size)
    heard = decoder.tell(prompts(), respond)
    found = decoder.tell(prompts(), respond, forbidden=True)
    alike(found, slowly(family, 0, True, True))
    assert not any(set(one.ids) & set(MARKUP.ids) or one.calls for one in found)
    assert any(set(one.ids) & set(MARKUP.ids) for one in heard)


def test_what_was_said_before_changes_no_reply() -> None:
    """Stretches are kept: by prefix and by whether markup was forbidden, and by nothing less."""
    ways = [(no, values) for no in (False, True) for values in (respond, lambda w: ["unknown"] * len(w), None)]
    fresh = [LookupDecoder(model_of("llama"), DECODINGS[0], 3).tell(prompts(), values, no) for no, values in ways]
    decoder = LookupDecoder(model_of("llama"), DECODINGS[0], 3)
    for at in (*range(6), *range(3)):
        no, values = ways[at]
        assert decoder.tell(prompts(), values, no) == fresh[at]


Part = str | int
"""A text or a token that the model says; what is inserted is written as `Given`."""


class Given(str):
    """A value that the database gives."""


def scripted(prompt: Sequence[int], *parts: Part, tokenizer: Any = TOKENIZER) -> Any:
    """A GPT-2 whose next token depends on the position alone: it says the parts one after the other."""
    config = GPT2Config(vocab_size=len(tokenizer), n_embd=64, n_layer=1, n_head=1, n_positions=256)
    torch.manual_seed(0)
    model = GPT2LMHeadModel(config).eval()
    place = len(prompt) - 1
    with torch.no_grad():
        for parameter in model.transformer.h.parameters():
            parameter.zero_()
        tokens = torch.nn.functional.normalize(torch.randn(len(tokenizer), 64), dim=1)
        tokens -= tokens.mean(1, keepdim=True)
        model.transformer.wte.weight.copy_(tokens)
        model.transformer.ln_f.weight.fill_(10.0)
        model.transformer.wpe.weight.copy_(100 * tokens[tokenizer.eos_token_id].repeat(256, 1))
        for part in parts:
            if isinstance(part, Given):
                place += len(tokenizer.encode(f" {part}", add_special_tokens=False)) + 1
                continue
            for token in [part] if isinstance(part, int) else tokenizer.encode(part, add_special_tokens=False):
                model.transformer.wpe.weight[place] = 100 * tokens[token]
                place += 1
    return in_memory(model, tokenizer)


PROMPT = TOKENIZER.encode("Where was Mira born?")
ASK = (MARKUP.entity, " Mira", MARKUP.relationship, " born in", MARKUP.value)


def ids(text: str) -> list[int]:
    found: list[int] = TOKENIZER.encode(text, add_special_tokens=False)
    return found


def test_a_value_is_inserted_and_read_on_from() -> None:
    asked: list[list[tuple[int, Query]]] = []

    def answer(wanted: Sequence[tuple[int, Query]]) -> list[str]:
        asked.append(list(wanted))
        return ["Oslo"] * len(wanted)

    decoder = LookupDecoder(scripted(PROMPT, "She: ", *ASK, Given("Oslo"), " it is"))
    (told,) = decoder.tell([PROMPT], answer)
    assert asked == [[(0, ("Mira", "born in"))]]
    assert told.ids == [
        *ids("She: "),
        *(MARKUP.entity, *ids(" Mira"), MARKUP.relationship, *ids(" born in"), MARKUP.value),
        *(*ids(" Oslo"), MARKUP.end, *ids(" it is")),
    ]
    assert (told.cut, told.looped) == (False, False)
    assert decoder.text(told) == "She:  Oslo it is"


def test_without_answers_the_model_completes_the_value() -> None:
    decoder = LookupDecoder(scripted(PROMPT, *ASK, " Bergen", MARKUP.end, " it is"))
    (told,) = decoder.tell([PROMPT], None)
    assert [(call.query, call.value) for call in told.calls] == [(("Mira", "born in"), None)]
    assert decoder.text(told) == " Bergen it is"


@pytest.mark.parametrize("end", [MARKUP.end, TOKENIZER.eos_token_id])
def test_a_value_is_not_left_empty(end: int) -> None:
    """One beside another whose value is longer: a model of which it is no value is never asked to say one."""
    decoder = LookupDecoder(scripted(PROMPT, *ASK, end, " it is"))
    silent, other = decoder.tell([PROMPT, ids(" Mira")], None)
    at = silent.ids.index(MARKUP.value) + 1
    assert silent.ids[at] not in {MARKUP.end, TOKENIZER.eos_token_id}
    assert MARKUP.value not in other.ids

    given = LookupDecoder(scripted(PROMPT, *ASK, Given("unknown"), end, " it is"))
    (told,) = given.tell([PROMPT], lambda wanted: ["unknown"] * len(wanted))
    assert [call.value for call in told.calls] == ["unknown"], "and what follows a value may be nothing"


@pytest.mark.parametrize(
    "parts",
    [
        (MARKUP.value,),
        (MARKUP.relationship, " born in", MARKUP.value),
        (MARKUP.entity, " Mira", MARKUP.value),
        (MARKUP.entity, " Mira", MARKUP.relationship, MARKUP.value),
        (MARKUP.entity, MARKUP.relationship, " born in", MARKUP.value),
        (MARKUP.entity, " ", MARKUP.relationship, " born in", MARKUP.value),
        (MARKUP.entity, " M", MARKUP.relationship, " born", MARKUP.relationship, " in", MARKUP.value),
        (MARKUP.entity, " Mira", MARKUP.relationship, " born", MARKUP.end, " in", MARKUP.value),
    ],
)
def test_a_malformed_lookup_is_answered_unknown_and_nobody_is_asked(parts: tuple[Part, ...]) -> None:
    asked: list[Query] = []

    def answer(wanted: Sequence[tuple[int, Query]]) -> list[str]:
        asked.extend(query for _, query in wanted)
        return ["Oslo"] * len(wanted)

    decoder = LookupDecoder(scripted(PROMPT, *parts, Given("unknown"), " it is"))
    (told,) = decoder.tell([PROMPT], answer)
    assert [(call.query, call.value) for call in told.calls] == [(None, "unknown")]
    assert asked == []
    assert told.ids[-len(ids(" it is")) :] == ids(" it is")
    written = "".join(part for part in parts if isinstance(part, str))
    assert (decoder.asked(told) + decoder.text(told)).replace(" ", "") == f"{written} unknown it is".replace(" ", "")


def test_what_a_lookup_holds_that_cannot_be_read_is_kept_and_searched() -> None:
    rows = [Triplet("Mira", "born in", "Oslo"), Triplet("Lena", "born in", "Faro")]
    facts = tuple(LookupFact(at, row) for at, row in enumerate(rows))
    asked = LookupPrompts(TripletDatabase(rows), facts, (LookupPrompt(0, "direct", "Where was Mira born?"),))
    cell = DatabaseCell("people", "base", asked)
    decoder = LookupDecoder(scripted(PROMPT, MARKUP.entity, " Oslo", MARKUP.value, Given("unknown"), " it is"))
    units, (replies,) = probe(decoder, Library([cell], RetrieverSettings("tfidf")))
    assert (replies["unknown"].asked.strip(), replies["unknown"].calls[0].query) == ("Oslo", None)
    (one,) = judge([cell], units, {units[0].id: replies})
    assert one.told["unknown"][0] == 1


def test_a_value_that_was_never_closed_is_no_part_of_the_next_lookup() -> None:
    told = [MARKUP.entity, *ids(" Mira"), MARKUP.relationship, *ids(" born"), MARKUP.value, *ids(" Bergen")]
    assert query_of(TOKENIZER, MARKUP, told) is None


def test_the_last_lookup_counts() -> None:
    first = [MARKUP.entity, *ids(" Idris"), MARKUP.relationship, *ids(" writes"), MARKUP.value, *ids(" x"), MARKUP.end]
    second = [MARKUP.entity, *ids(" Mira "), MARKUP.relationship, *ids(" born in")]
    assert query_of(TOKENIZER, MARKUP, [*first, *second]) == ("Mira", "born in")
    assert query_of(TOKENIZER, MARKUP, [MARKUP.entity, *ids(" Idris"), *second]) == ("Mira", "born in")
    assert query_of(TOKENIZER, MARKUP, first) is None


def test_the_same_lookup_again_is_cut_as_looped() -> None:
    decoder = LookupDecoder(scripted(PROMPT, *ASK, Given("Oslo"), " then ", *ASK, Given("Oslo"), " it is"))
    (told,) = decoder.tell([PROMPT], lambda wanted: ["Oslo"] * len(wanted))
    assert (told.looped, told.cut, len(told.calls)) == (True, False, 1)
    assert decoder.text(told) == " Oslo then "


@pytest.mark.parametrize("calls", [1, 2, 4])
def test_no_more_lookups_than_may_be(calls: int) -> None:
    """Malformed ones count too: a model that says nothing else would never end."""
    parts: list[Part] = []
    for at in range(calls + 1):
        parts += [MARKUP.entity, f" M{at}", MARKUP.relationship, " b", MARKUP.value, Given("x")]
    decoder = LookupDecoder(scripted(PROMPT, *parts), Decoding(calls=calls))
    (told,) = decoder.tell([PROMPT], lambda wanted: ["x"] * len(wanted))
    assert [call.query for call in told.calls] == [(f"M{at}", "b") for at in range(calls)]
    assert told.looped
    assert decoder.text(told) == " x" * calls
    bare = LookupDecoder(scripted(PROMPT, *[MARKUP.value, Given("unknown")] * (calls + 1)), Decoding(calls=calls))
    (told,) = bare.tell([PROMPT], lambda wanted: pytest.fail("nothing to look up"))
    assert (len(told.calls), told.looped) == (calls, True)


@pytest.mark.parametrize(("length", "limit"), [(1, 31), (3, 29), (4, 28), (5, 28), (60, 28)])
def test_a_stretch_ends_at_its_limit(length: int, limit: int) -> None:
    """max(32, |p| + 28) tokens in all; one that says its last word there has not been cut."""
    prompt, word = [5] * length, ids("a")
    for said, cut in ((limit - 1, False), (limit, True), (limit + 9, True)):
        (told,) = LookupDecoder(scripted(prompt, *word * said)).tell([prompt], None)
        assert (len(told.ids), told.cut) == (min(said, limit), cut)


@pytest.mark.parametrize("said", [36, 60])
def test_every_prompt_of_a_batch_has_its_own_limit(said: int) -> None:
    """The short prompt may go on for longer, and takes the others with it no further than they may go; not even to
    the end that comes right after."""
    short, long = [5], [5] * 9
    model = scripted(short, *ids("a") * said)
    told = LookupDecoder(model, batch_size=2).tell([short, long], None)
    assert [(len(one.ids), one.cut) for one in told] == [(31, True), (28, True)]


def test_padding_is_no_token_of_the_prompt() -> None:
    """Its id may be said, and is penalized where the prompt holds it, not where a longer neighbour brought it in."""
    model = scripted([5], 0)
    told = LookupDecoder(model, Decoding(penalty=100.0), batch_size=2).tell([[5], [5] * 9], None)
    assert told[0].ids[:1] == [0]


@pytest.mark.parametrize("stop", ["</s>", END_OF_TEXT])
def test_both_ends_of_text_end_a_reply(stop: str) -> None:
    tokenizer = _tokenizer(END_OF_TEXT)
    model = scripted(PROMPT, "Oslo", tokenizer.convert_tokens_to_ids(stop), "and on", tokenizer=tokenizer)
    (told,) = LookupDecoder(model).tell([PROMPT], None)
    assert (told.ids, told.cut) == (ids("Oslo"), False)


@pytest.mark.parametrize("missing", TOKENS)
def test_a_tokenizer_without_markup_is_an_error_that_names_model_and_token(missing: str) -> None:
    tokenizer = copy.deepcopy(tiny_tokenizer())
    tokenizer.add_special_tokens({"additional_special_tokens": [token for token in TOKENS if token != missing]})
    model = in_memory(FAMILIES["llama"](len(tokenizer)), tokenizer)
    with pytest.raises(CheckpointError) as error:
        LookupDecoder(model)
    assert str(error.value).startswith(f"tiny: its tokenizer has no token {missing}:")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (("a", *ASK, " Oslo", MARKUP.end, " b"), "a Oslo b"),
        (("a", *ASK, " Oslo"), "a Oslo"),
        (("a", MARKUP.entity, " Mira", MARKUP.relationship, " born"), "a"),
        (("a", MARKUP.entity, " Mira"), "a"),
        (("a", *ASK, " x", MARKUP.end, *ASK, " y", MARKUP.end), "a x y"),
        ((MARKUP.end, "a", MARKUP.relationship, " b"), "a b"),
        (("a", MARKUP.entity, " Mira", MARKUP.relationship, " born", MARKUP.end, " Oslo"), "a Oslo"),
    ],
)
def test_a_reader_sees_values_and_no_lookups(said: tuple[Part, ...], shown: str) -> None:
    tokens = [token for part in said for token in ([part] if isinstance(part, int) else ids(part))]
    assert TOKENIZER.decode(text_and_calls(MARKUP, tokens)[0]) == shown


def test_the_penalty_is_the_librarys_and_padding_is_no_token() -> None:
    draw = torch.Generator().manual_seed(0)
    scores, padding = torch.randn(4, 30, generator=draw), torch.tensor([0, 3, 5, 1])
    ids = torch.randint(0, 30, (4, 8), generator=draw)
    found = RepetitionPenalty(1.3, padding)(ids, scores)
    for row, empty in enumerate(padding.tolist()):
        alone = RepetitionPenaltyLogitsProcessor(1.3)(ids[row : row + 1, empty:], scores[row : row + 1])
        assert torch.equal(found[row], alone[0])
    assert not torch.equal(found, scores)
