"""What is asked about a person, and ranks of it: by hand, from a model, and from a file of what a model said."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from families import FAMILIES, in_memory, tiny_tokenizer
from references.association import slow_rank, slow_score
from trained_tokenizers import KINDS, TOKENIZERS

from uds_bench.audits.association import scoring
from uds_bench.audits.association.likelihoods import of_checkpoint, read_likelihoods, require_known
from uds_bench.audits.association.probe_items import ask_about
from uds_bench.audits.association.scoring import from_json, scored, to_json
from uds_bench.errors import FactError
from uds_bench.facts.properties import Property
from uds_bench.facts.scripts import script_of
from uds_bench.facts.subjects import Person, Statement
from uds_bench.facts.templates import GENERIC, SUBJECT, VALUE, Template
from uds_bench.inference.sentences import sentence_nll

JOB = Property(
    "P106",
    "job",
    "",
    (),
    "wikibase-item",
    (Template(f"{SUBJECT} works as {VALUE}."), Template(f"{SUBJECT}'s job is {VALUE}.")),
    ("nurse", "baker", "poet", "pilot"),
)
TOWN = replace(
    JOB, id="P19", label="town", templates=(Template(f"{SUBJECT} is from {VALUE}."),), counterfactuals=("Oslo", "Rome")
)
PROPERTIES = {one.id: one for one in (JOB, TOWN)}
JANE = Person("q1", "Jane Doe", "known", (Statement("P106", ("poet", "judge")), Statement("P19", ("Faro",))))
JOHN = Person("q2", "John Roe", "known", (Statement("P106", ("nurse",)),))


def test_every_template_value_and_name_is_asked() -> None:
    first, second, third = ask_about([JANE, JOHN], PROPERTIES, None)
    assert [one.id for one in (first, second, third)] == ["q1/P106", "q1/P19", "q2/P106"]
    assert [one.cluster for one in (first, second, third)] == ["q1", "q1", "q2"]
    assert first.names == ("Jane Doe", "Enaj Doe", "Jane Eod", "Enaj Eod", "Neja Doe")
    assert first.candidates.values == ("poet", "judge", "nurse", "baker", "pilot")
    assert third.candidates.values == ("nurse", "baker", "poet", "pilot")
    sentences = list(first.sentences())
    assert len(sentences) == math.prod(first.shape) == 2 * 5 * 5
    assert sentences[0] == "Jane Doe works as poet."
    assert sentences[5] == "Enaj Doe works as poet."
    assert sentences[-1] == "Neja Doe's job is pilot."


def test_nobody_is_asked_about_where_alpha_needs_it_alone() -> None:
    assert not any(GENERIC in sentence for one in ask_about([JANE], PROPERTIES, None) for sentence in one.sentences())
    half = ask_about([JANE], PROPERTIES, None, alpha=0.5)[0]
    assert half.names == (*ask_about([JANE], PROPERTIES, None)[0].names, GENERIC)
    assert f"{GENERIC}'s job is pilot." in set(half.sentences())
    assert ask_about([JANE], PROPERTIES, None, alpha=0.0)[0].names == ("Jane Doe", GENERIC)


def drawn(sentences: Sequence[str]) -> np.ndarray:
    """A number a sentence, the same whenever it is asked for."""
    return np.array([sum(ord(sign) * (at % 7 + 1) for at, sign in enumerate(one)) % 97 / 16 for one in sentences])


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_ranks_are_the_loop_over_sentences(alpha: float, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ask_about([JANE, JOHN], PROPERTIES, None, alpha)
    for together in (1, 2, 60):
        monkeypatch.setattr(scoring, "TOGETHER", together)
        for one, found in zip(asked, scored(asked, drawn, alpha), strict=True):
            for template, rank in zip(one.templates, found, strict=True):
                of = {name: [drawn([template.fill(name, v)])[0] for v in one.candidates.values] for name in one.names}
                similar = [of[name] for name in one.names[1:] if name != GENERIC] or [
                    of["Jane Doe" if one.subject is JANE else "John Roe"]
                ]
                generic = of.get(GENERIC, [0.0] * len(one.candidates.values))
                scores = slow_score(of[one.subject.name], similar, generic, alpha)
                place, lead, strength = slow_rank(scores, len(one.candidates.truths))
                assert (rank.rank, rank.candidates) == (place, len(scores))
                assert rank.lead == pytest.approx(lead, abs=1e-9)
                assert rank.strength == pytest.approx(strength, abs=1e-9, nan_ok=True)
                own = of[one.subject.name]
                best = [value for value, nll in zip(one.candidates.values, own, strict=True) if nll == min(own)]
                assert rank.said == (best[0] if len(best) == 1 else None)
                top = [value for value, at in zip(one.candidates.values, scores, strict=True) if at == max(scores)]
                assert rank.leader == (top[0] if len(top) == 1 else None)


def test_a_record_is_read_back() -> None:
    (found, *_) = scored(ask_about([JANE], PROPERTIES, None), drawn)
    none = [replace(found[0], strength=math.nan)]
    for gone in ("leader", "said"):
        with pytest.raises(KeyError, match=gone):
            from_json([{key: value for key, value in to_json(none)[0].items() if key != gone}])
    assert from_json(json.loads(json.dumps(to_json(found), allow_nan=False))) == found
    assert to_json(none)[0]["strength"] is None
    assert math.isnan(from_json(to_json(none))[0].strength)


@pytest.fixture(scope="module")
def model() -> Any:
    return in_memory(FAMILIES["llama"](384, seed=2), tiny_tokenizer())


def test_a_file_of_log_probabilities_gives_the_ranks_of_the_model(model: Any, tmp_path: Path) -> None:
    """Whoever sums them: here a pass a sentence in double precision."""
    asked = ask_about([JANE, JOHN], PROPERTIES, None)
    rows = []
    for sentence in dict.fromkeys(sentence for one in asked for sentence in one.sentences()):
        ids = model.tokenizer(sentence)["input_ids"]
        with torch.no_grad():
            logp = model.model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
        rows.append({"sentence": sentence, "logprob": sum(float(logp[at - 1, ids[at]]) for at in range(1, len(ids)))})
    path = tmp_path / "logprobs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    own, told = list(scored(asked, of_checkpoint(model))), list(scored(asked, read_likelihoods(path)))
    for one, other in zip(own, told, strict=True):
        for a, b in zip(one, other, strict=True):
            assert a.lead == pytest.approx(b.lead, abs=1e-4)
            assert a.rank == b.rank
            assert a.strength == pytest.approx(b.strength, abs=1e-3)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows[1:]))
    with pytest.raises(FactError, match=r"no logprob of 'Jane Doe works as poet\.'"):
        list(scored(asked, read_likelihoods(path)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bos", ["none", "unused", "added"])
def test_the_first_token_counts_behind_a_bos_alone(kind: str, bos: str) -> None:
    """Definitions 003.4, 3: without one it is left out of every sentence alike; and sums telescope over tokens."""
    tokenizer = TOKENIZERS[kind, bos]
    found = in_memory(FAMILIES["llama"](len(tokenizer), seed=3), tokenizer)
    sentences = ["Ossu lives in Zuriridge.", "Ossu lives near the mill.", "Ilvimar wrote it in 1987."]
    for sentence, nll in zip(sentences, of_checkpoint(found)(sentences), strict=True):
        ids = tokenizer(sentence, add_special_tokens=False)["input_ids"]
        given = [tokenizer.bos_token_id] if bos == "added" else []
        with torch.no_grad():
            logp = found.model(torch.tensor([given + ids])).logits[0].double().log_softmax(-1)
        counted = ids if given else ids[1:]
        steps = [-float(logp[at, token]) for at, token in enumerate(counted)]
        assert nll == pytest.approx(sum(steps), abs=1e-5 * len(steps))
        half = given + ids[: len(ids) // 2]
        begun = sentence_nll(found, [half])[0]
        assert nll - begun == pytest.approx(sum(steps[len(half) - 1 :]), abs=1e-5 * len(steps))


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"sentence": "x"}, "key 'logprob' is None"),
        ({"sentence": "x", "logprob": 0.5}, "key 'logprob' is 0.5"),
        ({"sentence": "x", "logprob": True}, "key 'logprob' is True"),
        ({"sentence": "x", "logprob": float("nan")}, "key 'logprob' is nan"),
        ({"sentence": "a", "logprob": -2}, "'a' has another logprob above"),
        ({"sentence": "x", "nll": 2}, "key 'nll' is unknown"),
    ],
)
def test_a_row_that_is_none_names_its_line(tmp_path: Path, row: dict[str, Any], told: str) -> None:
    path = tmp_path / "logprobs.jsonl"
    path.write_text(json.dumps({"sentence": "a", "logprob": -1}) + "\n" + json.dumps(row) + "\n")
    with pytest.raises(FactError, match=f"line 2: {told}"):
        read_likelihoods(path)


def test_what_cannot_be_asked() -> None:
    with pytest.raises(FactError, match="subject 'q1': no other name looks like 'ሀ'"):
        ask_about([replace(JANE, name="ሀ")], PROPERTIES, None)
    assert ask_about([replace(JANE, name="ሀ")], PROPERTIES, None, alpha=0.0)
    with pytest.raises(FactError, match="subject 'q1': property P19 has no template"):
        ask_about([JANE], {"P106": JOB}, None)
    with pytest.raises(FactError, match="subject 'q1', P19: every counterfactual means what is true"):
        ask_about([replace(JANE, statements=(Statement("P19", ("rome", "OSLO")),))], PROPERTIES, None)


def test_a_name_of_unknown_letters_is_one_line(model: Any) -> None:
    require_known(model, ["Jane Doe", "Zoë"])
    tokenizer = tiny_tokenizer()
    tokenizer.unk_token = tokenizer.convert_ids_to_tokens(tokenizer("Z", add_special_tokens=False)["input_ids"][0])
    strange = in_memory(model.model, tokenizer)
    with pytest.raises(FactError, match="'Zoë' has letters"):
        require_known(strange, ["Jane Doe", "Zoë"])


@pytest.mark.parametrize("name", ["李明", "O", "Ян Ли"])
def test_a_short_name_has_others_of_its_script_beside_it(name: str) -> None:
    (one, *_) = ask_about([replace(JANE, name=name)], PROPERTIES, None)
    assert len(set(one.names)) == 5
    assert {script_of(each) for each in one.names} == {script_of(name)}
