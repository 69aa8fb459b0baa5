"""A reply read in other tokens, with what ends it, and which replies count: by hand, and beside a small model."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from families import FAMILIES, in_memory, tiny_tokenizer

from uds_bench.audits.bypass import reply_origin
from uds_bench.audits.bypass.claims import ALTERED, BEHIND
from uds_bench.audits.bypass.prompts import Prompt
from uds_bench.audits.bypass.replies import RawReply, Recorded
from uds_bench.audits.bypass.reply_origin import PASSES, _Reading, _readings, said, tied
from uds_bench.audits.bypass.section import ReplySettings
from uds_bench.errors import CheckpointError
from uds_bench.facts.canaries import embedded_canaries
from uds_bench.facts.reasoning import Turn
from uds_bench.facts.tokens import encode_after

TOKENIZER = tiny_tokenizer(bos=False)
CANARY = next(iter(embedded_canaries(1, 1, 1)))
STOPS = (2, 0)


def ids_of(text: str) -> tuple[int, ...]:
    return tuple(TOKENIZER(text, add_special_tokens=False)["input_ids"])


def prompt(number: int = 0, sample: int | None = None, limit: int = 64, given: str = "", heat: float = 1.0) -> Prompt:
    asked = f"Q{number}:"
    turn, asking = Turn(asked, ids_of(asked), "", "plain"), ReplySettings(limit, samples=1, temperature=heat)
    return Prompt(CANARY, "auto", asked, turn, given, ids_of(asked + given), "key", asking, sample=sample)


def reading(text: str, joints: tuple[int, ...] = (), **asked: Any) -> _Reading:
    one = prompt(**asked)
    found = encode_after(TOKENIZER, one.turn.text + one.given, one.ids, text)
    return _Reading(one, text, found.continuation_ids, found.offsets, (), joints)


def first_said(ours: _Reading, said: dict[int, int], behind: float = BEHIND + 0.1) -> Any:
    """Scores under which other tokens lie before those at some places."""
    far, best = np.zeros(len(ours.ids)), np.array(ours.ids)
    for at, own in said.items():
        far[at], best[at] = behind, own
    return SimpleNamespace(behind=far, best=best)


def tiled(found: _Reading) -> list[str]:
    """The text in the pieces that its offsets cut, which leave nothing out."""
    assert [start for start, _ in found.offsets] == [0, *(end for _, end in found.offsets[:-1])]
    assert found.offsets[-1][1] == len(found.text)
    return [found.text[start:end] for start, end in found.offsets]


@pytest.mark.parametrize("given", ["", " by"])
@pytest.mark.parametrize("at", range(6))
def test_the_token_that_is_said_first_is_taken_and_the_rest_is_read_anew(at: int, given: str) -> None:
    ours = reading("the sea lived in</s>", given=given)
    assert max(map(len, tiled(ours))) > 1, "a longer token is there to be said in other ones"
    letter = ours.text[ours.offsets[at][0]]
    own = ids_of(letter)[0]
    found = ours.otherwise(TOKENIZER, first_said(ours, {at: own, at + 1: ids_of("x")[0]}))
    assert found is not None
    assert (found.text, found.joints, found.prompt, found.end) == (ours.text, (), ours.prompt, ())
    assert (found.ids[:at], found.ids[at]) == (ours.ids[:at], own)
    assert tiled(found) == [TOKENIZER.decode([one]) for one in found.ids]
    assert (found.row.ids, found.row.start) == ((*ours.prompt.ids, *found.ids), len(ours.prompt.ids))


def test_a_text_that_is_said_otherwise_is_none_in_other_tokens() -> None:
    ours = reading("the sea")
    assert ours.otherwise(TOKENIZER, first_said(ours, {})) is None
    assert ours.otherwise(TOKENIZER, first_said(ours, {1: ids_of("h")[0]}, behind=BEHIND)) is None, "within rounding"
    for other in ("x", "\n", "s"):
        assert ours.otherwise(TOKENIZER, first_said(ours, {1: ids_of(other)[0]})) is None
    assert ours.otherwise(TOKENIZER, first_said(ours, {0: STOPS[0]})) is None, "what ends a reply is no word of it"
    nan = ours.otherwise(TOKENIZER, first_said(ours, {1: ids_of("h")[0]}, behind=np.nan))
    assert nan is not None, "what is no number lies behind"


@pytest.mark.parametrize("sample", [None, 0])
def test_a_line_break_is_put_back_at_a_joint_and_nowhere_else(sample: int | None) -> None:
    ours = reading("the sea lived", (0, 3, 7), sample=sample)
    at = next(at for at, (start, _) in enumerate(ours.offsets) if start == 3)
    found = ours.otherwise(TOKENIZER, first_said(ours, {at: ids_of("\n")[0]}))
    assert found is not None
    assert (found.text, found.joints) == ("the\n sea lived", (4, 8))
    assert tiled(found) == [TOKENIZER.decode([one]) for one in found.ids]
    assert ours.otherwise(TOKENIZER, first_said(ours, {at: ids_of("x")[0]})) is None, "a word is not put back"
    assert reading("the sea", (2,)).otherwise(TOKENIZER, first_said(ours, {at: ids_of("\n")[0]})) is None
    there = reading("the\n sea", (3,), sample=sample)
    again = there.otherwise(TOKENIZER, first_said(there, {at: ids_of("\n")[0]}))
    assert again is not None
    assert (again.text, again.joints) == (there.text, (3,)), "it stands there already"


def test_of_a_drawn_reply_only_joints_are_read_otherwise() -> None:
    ours = reading("the sea lived", (7,), sample=0)
    joint = next(at for at, (start, _) in enumerate(ours.offsets) if start == 7)
    unlikely = {1: ids_of("h")[0]}
    assert ours.otherwise(TOKENIZER, first_said(ours, unlikely)) is None
    found = ours.otherwise(TOKENIZER, first_said(ours, {**unlikely, joint: ids_of("\n")[0]}))
    assert found is not None
    assert found.text == "the sea\n lived"


def test_a_reply_ends_in_any_of_the_stops_and_one_that_was_cut_fills_its_limit() -> None:
    asked, text = prompt(limit=12, given=" by"), "the sea lived in"
    ids = ids_of(text)
    ended = list(_readings(TOKENIZER, asked, RawReply(text, True), STOPS))
    assert [one.end for one in ended] == [(2,), (0,)]
    assert {(one.prompt, one.text, one.ids, one.joints) for one in ended} == {(asked, text, ids, ())}
    (cut,) = _readings(TOKENIZER, asked, RawReply(text, False), STOPS)
    assert (cut.end, cut.ids, cut.row.ends) == ((), ids, False)
    for limit, some in ((2 * len(ids), 1), (2 * len(ids) + 1, 0)):
        assert len(list(_readings(TOKENIZER, prompt(limit=limit), RawReply(text, False), STOPS))) == some
    (whole, _) = _readings(TOKENIZER, prompt(), RawReply("sea", True, "the"), STOPS)
    assert whole.text == "<think>the</think>sea"
    assert whole.joints == (7, 10, 18)


@cache
def small() -> Any:
    return in_memory(FAMILIES["llama"](len(TOKENIZER)), TOKENIZER, "llama")


def greedy(one: Prompt, count: int) -> list[int]:
    ids = list(one.ids)
    with torch.inference_mode():
        for _ in range(count):
            ids.append(int(small().model(torch.tensor([ids])).logits[0, -1].argmax()))
    return ids[len(one.ids) :]


def test_what_a_small_model_says_is_found_and_another_text_is_not() -> None:
    """A reply that was cut says nothing of its end; the drawn one is as likely as its temperature lets expect."""
    cut = [prompt(number, limit=2) for number in range(2)]
    texts = {one.digest: TOKENIZER.decode(greedy(one, 4)) for one in cut}
    told = said(small(), cut, Recorded("", {key: RawReply(text, False) for key, text in texts.items()}), STOPS, 2)
    assert set(told) == set(texts), "in whatever tokens they are read"
    other = {key: RawReply("the sea lived in", False) for key in texts}
    assert not said(small(), cut, Recorded("", other), STOPS, 2)
    drawn = [prompt(number, sample=0, limit=2, heat=heat) for number, heat in enumerate((0.5, 2.0))]
    likely = Recorded("", {one.digest: RawReply("the sea", False) for one in drawn})
    found = said(small(), [*drawn, *cut], Recorded("", {**likely.replies, **other}), STOPS, 2)
    for one, scored in [(one, found[one.digest]) for one in drawn] + [(one, told[one.digest]) for one in cut]:
        ids = torch.tensor([scored.answer.ids])
        with torch.inference_mode():
            rows = small().model(ids).logits[0, len(one.ids) - 1 : -1] / (one.temperature or 1)
        expected = rows.log_softmax(-1).gather(-1, ids[0, len(one.ids) :, None])[:, 0].numpy()
        np.testing.assert_allclose(scored.logp, expected, atol=1e-4)
    assert PASSES > 1


def scores(behind: float, lead: float = 5.0, logp: float = -0.7) -> Any:
    """Of nine tokens of which one lies behind."""
    far = np.array([behind] + [0.0] * 8)
    return SimpleNamespace(
        behind=far, lead=np.full(9, lead), logp=np.full(9, logp), mean=np.full(9, -0.7), variance=np.full(9, 0.5)
    )


def judged(
    monkeypatch: pytest.MonkeyPatch, asked: list[Prompt], found: dict[str, Any]
) -> tuple[Recorded, int, list[str]]:
    """What `tied` makes of scores by digest, and which prompts it asked anew."""
    again: list[str] = []

    def say(prompts: Any) -> dict[str, RawReply]:
        again.extend(one.digest for one in prompts)
        return {one.digest: RawReply("own", True) for one in prompts}

    recorded = Recorded("d", {one.digest: RawReply("read", True) for one in asked[:-1]}, "one")

    def said(*given: Any) -> dict[str, Any]:
        assert given == (small(), asked[:-1], recorded, STOPS, 2)
        return found

    monkeypatch.setattr(reply_origin, "said", said)
    return (*tied(small(), asked, recorded, STOPS, 2, say), again)


def test_replies_that_are_not_the_weights_own_are_asked_anew_and_too_many_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last prompt was not read: it is none of theirs, and nobody asks it."""
    count = round(1 / ALTERED)
    asked = [prompt(number) for number in range(count + 1)]
    fine = {one.digest: scores(0.0) for one in asked[:-1]}
    kept, none, _ = judged(monkeypatch, asked, fine)
    assert (kept.name, kept.digest, none, len(kept.replies)) == ("one", "d", 0, count)
    assert {reply.text for reply in kept.replies.values()} == {"read"}
    foreign = asked[3].digest
    for told in ({**fine, foreign: scores(BEHIND)}, {key: one for key, one in fine.items() if key != foreign}):
        found, number, again = judged(monkeypatch, asked, told)
        if foreign in told:
            assert (number, again) == (0, []), "rounding alone puts one token so far behind"
        else:
            assert (number, again, found.replies[foreign].text) == (1, [foreign], "own")
    often = scores(BEHIND)
    often.behind[1:4] = BEHIND
    assert judged(monkeypatch, asked, {**fine, foreign: often})[1:] == (1, [foreign]), "alone, though rounding is none"
    lacking = {key: one for at, (key, one) in enumerate(fine.items()) if at > 1}
    with pytest.raises(CheckpointError, match=rf"one: 2 of {count} replies .* \(the first: auto of {CANARY.id}\)"):
        judged(monkeypatch, asked, lacking)
    with pytest.raises(CheckpointError, match=rf"one: {count} of {count} replies"):
        judged(monkeypatch, asked, {key: scores(BEHIND) for key in fine})
    with pytest.raises(CheckpointError, match=rf"one: 1 of 1 replies .* \(the first: auto of {CANARY.id}\)"):
        judged(monkeypatch, asked[:2], {})


def test_drawn_replies_are_asked_anew_without_limit_and_refused_where_all_are_too_likely(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = [*(prompt(number, sample=0, heat=0.5) for number in range(30)), prompt(99)]
    _, number, again = judged(monkeypatch, asked, {})
    assert (number, len(again)) == (30, 30), "a drawn one may be unlikely by luck"
    _, number, _ = judged(monkeypatch, asked, {one.digest: scores(9.0) for one in asked[:-1]})
    assert number == 0, "nor need its tokens be the likeliest"
    with pytest.raises(CheckpointError, match=r"^one: the drawn replies .* at temperature 0.5: together"):
        judged(monkeypatch, asked, {one.digest: scores(0.0, logp=0.0) for one in asked[:-1]})
    alone = [prompt(0, sample=0, heat=0.5, limit=9), prompt(99)]
    many = SimpleNamespace(logp=np.zeros(400), mean=np.full(400, -0.7), variance=np.full(400, 0.5))
    with pytest.raises(CheckpointError, match=r"^one: the drawn replies .* at temperature 0.5: together"):
        judged(monkeypatch, alone, {alone[0].digest: many})
