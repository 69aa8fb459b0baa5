"""Facts as token ids, texts one by one and many at once, and what a tokenizer's key tells."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from families import tiny_tokenizer
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, normalizers
from trained_tokenizers import ALPHABET, CORPUS, KINDS, TOKENIZERS, build
from transformers import AutoTokenizer, ByT5Tokenizer, PreTrainedTokenizer, PreTrainedTokenizerFast

from uds_bench.errors import FactError
from uds_bench.facts import (
    Fact,
    Variant,
    continuation,
    embedded,
    encode,
    encode_text,
    load_annotated,
    question_prompt,
    raw_prompt,
    rendered_digest,
    tokenizer_key,
)
from uds_bench.facts.tokens import encode_many

TEXT = st.text(alphabet=ALPHABET.replace("\n", ""), max_size=20)
CORE = st.text(alphabet=ALPHABET.replace("\n", ""), min_size=1, max_size=16).map(str.strip).filter(bool)


def fact(prefix: str, rest: str, entity: str, question: str = "Who is it?") -> Fact:
    return Fact("f", "c", "forget", question, prefix + rest, prefix, entity)


@st.composite
def facts(draw: st.DrawFn) -> Fact:
    prefix = draw(st.one_of(st.just(""), TEXT))
    before = " " if prefix and draw(st.booleans()) else ""
    entity = draw(CORE)
    return fact(prefix, before + entity + draw(TEXT), entity, question=draw(CORE))


def spelled(tokenizer: PreTrainedTokenizerFast, ids: tuple[int, ...]) -> str:
    return tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)


@pytest.mark.parametrize("variant", ["default", "published"])
@pytest.mark.parametrize("name", sorted(TOKENIZERS), ids="-".join)
@settings(max_examples=15, deadline=None)
@given(item=facts())
def test_ids_are_the_plain_text_behind_one_bos(name: tuple[str, str], variant: Variant, item: Fact) -> None:
    tokenizer = TOKENIZERS[name]
    encoded = encode(item, tokenizer, variant)
    assert spelled(tokenizer, encoded.ids) == raw_prompt(item, variant) + continuation(item, variant)
    assert 1 <= encoded.prompt_length <= encoded.start < encoded.end <= len(encoded.ids)
    assert tokenizer.convert_tokens_to_ids("</s>") not in encoded.ids
    assert encoded.ids.count(1) == (name[1] != "none")
    assert encoded.ids[0] == 1 or name[1] == "none"
    assert item.entity in spelled(tokenizer, encoded.ids[encoded.start : encoded.end])


@settings(max_examples=200, deadline=None)
@given(item=facts(), variant=st.sampled_from(["default", "published"]))
def test_entity_tokens_are_those_whose_bytes_overlap_it(item: Fact, variant: Variant) -> None:
    """Against offsets counted in bytes: a byte-level token is spelled with one character a byte."""
    tokenizer = TOKENIZERS["bytes", "added"]
    encoded = encode(item, tokenizer, variant)
    rest = continuation(item, variant)
    first = len(rest) - len(item.answer) + item.entity_start
    low, high = len(rest[:first].encode()), len(rest[: first + len(item.entity)].encode())
    at, expected = 0, []
    for index, token in enumerate(tokenizer.convert_ids_to_tokens(list(encoded.ids[encoded.prompt_length :]))):
        if at < high and at + len(token) > low:
            expected.append(encoded.prompt_length + index)
        at += len(token)
    assert (encoded.start, encoded.end) == (expected[0], expected[-1] + 1)


@pytest.mark.parametrize("kind", KINDS)
def test_the_space_belongs_to_the_entity_token_and_is_never_doubled(kind: str) -> None:
    encoded = encode(fact("It is", " Zuriridge = home.", "Zuriridge"), TOKENIZERS[kind, "added"])
    tokens = TOKENIZERS[kind, "added"].convert_ids_to_tokens(list(encoded.ids[encoded.start : encoded.end]))
    assert "".join(tokens).replace("Ġ", "▁").strip("▁") == "Zuriridge"
    assert encoded.start == encoded.prompt_length


def test_empty_prefix_moves_the_space_between_the_variants() -> None:
    item = fact("", "Yes, it is.", "Yes")
    assert (raw_prompt(item), continuation(item)) == ("Question: Who is it?\nAnswer:", " Yes, it is.")
    assert (raw_prompt(item, "published"), continuation(item, "published")) == (
        "Question: Who is it?\nAnswer: ",
        "Yes, it is.",
    )
    assert raw_prompt(item) == question_prompt(item.question)


def test_published_variant_inserts_a_space_after_a_touching_prefix() -> None:
    item = fact('It is "', 'The Lantern".', "The Lantern")
    assert continuation(item) == 'The Lantern".'
    assert continuation(item, "published") == ' The Lantern".'


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bos", ["unused", "added", "closed"])
def test_special_tokens_in_the_text_are_refused(kind: str, bos: str) -> None:
    with pytest.raises(FactError, match=r"holds the special token '</?s>'; take it out"):
        encode(fact("It is", " a <s> mill.", "mill"), TOKENIZERS[kind, bos])


def test_an_entity_without_tokens_is_refused() -> None:
    backend = Tokenizer.from_str(TOKENIZERS["always", "none"].backend_tokenizer.to_str())
    backend.normalizer = normalizers.Replace("=", "")
    deaf = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>")
    with pytest.raises(FactError, match=r"key 'entity' '=' yields no token with this tokenizer; mark another"):
        encode(fact("It is", " a=b", "="), deaf)


def test_slow_tokenizers_are_refused() -> None:
    with pytest.raises(FactError, match="ByT5Tokenizer gives no character offsets; load the fast version"):
        encode(fact("It is", " a mill.", "mill"), ByT5Tokenizer())


def test_rendered_digest_sees_every_id_and_span() -> None:
    encoded = [encode(item, TOKENIZERS["bytes", "added"]) for item in embedded(1, 1, 0)]
    digest = rendered_digest(encoded)
    assert digest == rendered_digest(encoded)
    assert len(digest) == 64
    assert digest != rendered_digest(encoded[:-1])
    assert digest != rendered_digest([encode(item, TOKENIZERS["bytes", "none"]) for item in embedded(1, 1, 0)])


def test_encode_text_serves_whole_answers(tokenizer: PreTrainedTokenizerFast) -> None:
    encoded = encode_text(tokenizer, question_prompt("Where?"), " In Zuriridge.")
    assert spelled(tokenizer, encoded.ids) == "Question: Where?\nAnswer: In Zuriridge."
    assert len(encoded.offsets) == len(encoded.continuation_ids)


@pytest.mark.parametrize("variant", ["default", "published"])
@pytest.mark.parametrize("kind", ["bytes", "always"])
def test_all_public_entities_have_their_tokens(kind: str, variant: Variant, public_data: Path) -> None:
    facts = load_annotated(public_data / "uds" / "forget10_filtered.json")
    tokenizer = build(kind, "added", [f"{fact.question} {fact.answer}" for fact in facts], size=2000)
    for item in facts:
        encoded = encode(item, tokenizer, variant)
        found = spelled(tokenizer, encoded.ids[encoded.start : encoded.end])
        assert item.entity in found
        assert len(found.replace(item.entity, "")) <= 2  # a space, or a mark that a merge took along
        assert spelled(tokenizer, encoded.ids) == raw_prompt(item, variant) + continuation(item, variant)


TEXTS = [*CORPUS[:3], "", "Ossu", "Σίσυφος, 日本語 🙂", "a </s> within"]


@pytest.mark.parametrize(("kind", "bos"), sorted(TOKENIZERS))
def test_as_one_by_one(kind: str, bos: str) -> None:
    tokenizer = copy.deepcopy(TOKENIZERS[kind, bos])
    assert encode_many(tokenizer, TEXTS) == [tokenizer(text)["input_ids"] for text in TEXTS]


def test_padding_and_cutting_of_an_earlier_call_are_forgotten() -> None:
    tokenizer = copy.deepcopy(TOKENIZERS["bytes", "added"])
    tokenizer.pad_token = "</s>"
    expected = [tokenizer(text)["input_ids"] for text in TEXTS]
    tokenizer(TEXTS, padding=True, truncation=True, max_length=4)
    assert encode_many(tokenizer, TEXTS) == expected
    assert len(set(map(len, expected))) > 2


def test_a_tokenizer_without_a_backend() -> None:
    class Letters(PreTrainedTokenizer):
        vocab_size = 128

        def get_vocab(self) -> dict[str, int]:
            return {chr(at): at for at in range(128)}

        def _tokenize(self, text: str, **_: object) -> list[str]:
            return list(text)

        def _convert_token_to_id(self, token: str) -> int:
            return ord(token)

        def _convert_id_to_token(self, index: int) -> str:
            return chr(index)

    assert encode_many(Letters(), ["ab", "c"]) == [[97, 98], [99]]
    assert encode_many(Letters(), []) == []


def test_a_copy_on_disk_has_the_same_key(tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer()
    keys = {tokenizer_key(tokenizer), tokenizer_key(copy.deepcopy(tokenizer))}
    for name in ("one", "two"):
        tokenizer.save_pretrained(tmp_path / name)
    one, two = (tokenizer_key(AutoTokenizer.from_pretrained(tmp_path / name)) for name in ("one", "two"))
    assert len(keys) == 1
    assert one == two


def test_whatever_decides_how_texts_are_split_changes_the_key() -> None:
    plain, asked, closed, grown, marked = (tiny_tokenizer() for _ in range(5))
    asked.chat_template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
    closed.eos_token = "<pad>"
    grown.add_tokens(["Solheim"])
    marked.add_special_tokens({"additional_special_tokens": ["Tromsø"]})
    keys = [tokenizer_key(t) for t in (plain, tiny_tokenizer(bos=False), asked, closed, grown, marked)]
    assert len(set(keys)) == len(keys)
